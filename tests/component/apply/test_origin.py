"""How an object became ours: it says so, and says nothing any more when it is released."""

from typing import Any

import pytest
from tests.component.apply.conftest import Bench

from certwright.apply import Engine, Memory, ObjectRef, Owner
from certwright.kube.kinds import ConfigMap
from certwright.testkit.builders import config_map

MARK, ORIGIN, DIGEST, LABEL = (
    f"example.com/{name}" for name in ("owner", "origin", "digest", "by")
)
OURS = Owner(MARK, "ours", (DIGEST,), digest=DIGEST, origin=ORIGIN, labels=(LABEL,))


@pytest.fixture
def keeper(bench: Bench) -> Bench:
    """Return an engine that replaces objects."""
    bench.engine = Engine(bench.direct, Memory(), clock=bench.cluster.clock, replaces=True)
    return bench


async def metadata(bench: Bench) -> Any:
    return (await bench.cluster.get(ConfigMap, "a"))["metadata"]


async def test_what_we_create_says_so_from_the_beginning(keeper: Bench) -> None:
    with keeper.counted() as calls:
        await keeper.apply(config_map("a", {"k": "1"}), owner=OURS)
    assert (await metadata(keeper))["annotations"][ORIGIN] == "created"
    assert calls[0].writes == 1


async def test_what_was_there_says_that_it_was_adopted(keeper: Bench) -> None:
    await keeper.cluster.create(keeper.placed(config_map("a", {"k": "theirs"})))
    await keeper.apply(config_map("a", {"k": "ours"}), owner=OURS)
    assert (await metadata(keeper))["annotations"][ORIGIN] == "adopted"


@pytest.mark.parametrize("origin", ["created", "adopted"])
async def test_the_origin_stays_when_the_object_changes(keeper: Bench, origin: str) -> None:
    if origin == "adopted":
        await keeper.cluster.create(keeper.placed(config_map("a", {"k": "0"})))
    await keeper.apply(config_map("a", {"k": "1"}), owner=OURS)
    await keeper.apply(config_map("a", {"k": "2"}), owner=OURS)
    keeper.engine = Engine(keeper.direct, Memory(), clock=keeper.cluster.clock, replaces=True)
    with keeper.counted() as calls:
        await keeper.apply(config_map("a", {"k": "2"}), owner=OURS)
    assert (await metadata(keeper))["annotations"][ORIGIN] == origin
    assert calls[0].writes == 0


async def test_an_object_that_says_nothing_any_more_counts_as_adopted(keeper: Bench) -> None:
    await keeper.apply(config_map("a", {"k": "1"}), owner=OURS)
    await keeper.cluster.patch(ConfigMap, "a", {"metadata": {"annotations": {ORIGIN: None}}})
    await keeper.apply(config_map("a", {"k": "1"}), owner=OURS)
    assert (await metadata(keeper))["annotations"][ORIGIN] == "adopted"


async def test_a_released_object_carries_no_mark(keeper: Bench) -> None:
    wanted = config_map("a", {"k": "1"})
    wanted["metadata"]["labels"] = {LABEL: "us", "theirs": "1"}
    await keeper.apply(wanted, owner=OURS)
    await keeper.engine.release([ObjectRef.of(keeper.placed(wanted))], owner=OURS)
    found = await metadata(keeper)
    assert "annotations" not in found
    assert found["labels"] == {"theirs": "1"}
