"""Objects that were there before, and belong to nobody: adopted, or respected."""

from typing import Any

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.kube.kinds import ConfigMap
from certwright.testkit.builders import config_map

ADOPT = "resources.certwright.dev/adopt"


async def foreign(keeping: Keeping, **metadata: Any) -> None:
    await keeping.cluster.create(keeping.placed(config_map("a", {"of": "them"}, **metadata)))


@pytest.mark.parametrize("policy", ["Never", "IfLabelled"])
async def test_what_is_not_to_be_adopted_is_refused_and_survives(
    embedded_keeping: Keeping, policy: str
) -> None:
    """Embedded, for the time: it is younger than the ManagedResource."""
    keeping = embedded_keeping
    await keeping.declare("web", config_map("b"))
    await keeping.settle()
    await keeping.cluster.advance(seconds=5)
    await foreign(keeping)
    await keeping.annotate("web", ADOPT, policy)
    await keeping.rewrite("web", config_map("a", {"of": "us"}), config_map("b"))
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    assert "it exists already and is not ours" in await keeping.message("web")
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "a", "b") == {"a"}
    assert (await keeping.find(ConfigMap, "a"))["data"] == {"of": "them"}


async def test_what_is_labelled_is_handed_over(keeping: Keeping, healthy: dict[str, str]) -> None:
    name, _, value = keeping.label.partition("=")
    await foreign(keeping, labels={name: value})
    await keeping.declare("web", config_map("a", {"of": "us"}), annotations={ADOPT: "IfLabelled"})
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert (await keeping.find(ConfigMap, "a"))["data"] == {"of": "us"}


async def test_a_change_of_mind_is_a_reason_to_try_again(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await foreign(keeping)
    await keeping.declare("web", config_map("a", {"of": "us"}), annotations={ADOPT: "Never"})
    await keeping.settle()
    assert (await keeping.find(ConfigMap, "a"))["data"] == {"of": "them"}
    await keeping.annotate("web", ADOPT, None)
    await keeping.settle()
    assert await keeping.conditions("web") == healthy


async def test_what_is_ours_stays_ours(keeping: Keeping, healthy: dict[str, str]) -> None:
    await keeping.declare("web", config_map("a", {"k": "1"}), annotations={ADOPT: "Never"})
    await keeping.settle()
    await keeping.rewrite("web", config_map("a", {"k": "2"}))
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert (await keeping.restart()).writes == 0
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "a") == set()
