"""Several installations with one target: none sees the objects of another by its watches."""

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.kube.kinds import ConfigMap
from certwright.runtime import Operator
from certwright.testkit.builders import config_map

TAKE_OVER = {"resources.certwright.dev/take-over": "true"}


def second(keeping: Keeping) -> Operator:
    """Return an operator with a class and a label of its own."""
    label = f"{keeping.namespace}-two"
    return keeping.operator(resource_class="two", managed_by_label_value=label)


@pytest.mark.scenario("MR-91")
@pytest.mark.parametrize("data", [{"by": "second"}, {"by": "first"}])
async def test_an_object_of_another_installation_is_refused(
    keeping: Keeping, healthy: dict[str, str], data: dict[str, str]
) -> None:
    await keeping.declare("first", config_map("shared", {"by": "first"}))
    await keeping.settle()
    before = await keeping.find(ConfigMap, "shared")
    await keeping.declare(
        "second", config_map("shared", data), config_map("own"), **{"class": "two"}
    )
    await keeping.cluster.settle(second(keeping))
    after = await keeping.find(ConfigMap, "shared")
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert await keeping.exists(ConfigMap, "own") == {"own"}
    assert (await keeping.conditions("second"))["Applied"] == "False/ApplyFailed"
    assert f"it belongs to {keeping.namespace}/first" in await keeping.message("second")
    assert await keeping.conditions("first") == healthy
    await keeping.cluster.delete(keeping.kind, "second")
    await keeping.cluster.settle()
    assert await keeping.exists(ConfigMap, "shared", "own") == {"shared"}


@pytest.mark.scenario("MR-91")
async def test_what_is_taken_over_loses_what_the_other_installation_wanted(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("first", config_map("shared", {"by": "first", "old": "yes"}))
    await keeping.settle()
    await keeping.declare(
        "second", config_map("shared", {"by": "second"}), annotations=TAKE_OVER, **{"class": "two"}
    )
    await keeping.cluster.settle(second(keeping))
    assert (await keeping.find(ConfigMap, "shared"))["data"] == {"by": "second"}
    assert await keeping.conditions("second") == healthy


async def test_an_installation_may_change_its_label(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("a", {"kept": "yes", "old": "yes"}), config_map("b"))
    await keeping.settle()
    await keeping.cluster.stop()
    renamed = keeping.operator(managed_by_label_value=f"{keeping.namespace}-new")
    await keeping.rewrite("web", config_map("a", {"kept": "yes"}))
    await keeping.settle(renamed)
    assert (await keeping.find(ConfigMap, "a"))["data"] == {"kept": "yes"}
    assert await keeping.exists(ConfigMap, "a", "b") == {"a"}
    assert await keeping.conditions("web") == healthy
