"""Whose an object is: what we take, what we refuse, what we inherit."""

import asyncio
from typing import Any

import pytest
from tests.component.apply.conftest import Bench

from certwright.apply import Action, Adopt, ObjectRef, Owner, Rules
from certwright.apply.engine.declared import OwnerState
from certwright.kube import JsonObject, Key, Resource
from certwright.kube.kinds import ConfigMap
from certwright.testkit.builders import config_map

MARK = "example.com/owner"
OURS = Owner(MARK, "ours")
PREDECESSOR = "predecessor"


async def data(bench: Bench) -> JsonObject:
    value: JsonObject = (await bench.cluster.get(ConfigMap, "a"))["data"]
    return value


async def test_every_object_says_whose_it_is(bench: Bench) -> None:
    await bench.apply(config_map("a"), owner=OURS)
    metadata = (await bench.cluster.get(ConfigMap, "a"))["metadata"]
    assert metadata["annotations"] == {MARK: "ours"}


@pytest.mark.scenario("MR-91")
async def test_what_belongs_to_somebody_else_is_refused_naming_them(bench: Bench) -> None:
    await bench.apply(config_map("a", {"k": "theirs"}), owner=Owner(MARK, "theirs"))
    with bench.counted() as calls:
        changes = await bench.apply(config_map("a", {"k": "ours"}), owner=OURS)
    entry = changes.entries[0]
    assert entry.action is Action.FAILED
    assert entry.reason.startswith(
        f'error during apply of object "v1/ConfigMap/{bench.cluster.namespace}/a": '
    )
    assert "it belongs to theirs" in entry.reason
    assert calls[0].writes == 0
    assert await data(bench) == {"k": "theirs"}


async def released(_value: str, _ref: ObjectRef) -> OwnerState:
    return OwnerState.RELEASED


@pytest.mark.scenario("MR-91")
@pytest.mark.parametrize(
    ("owner", "rules"),
    [
        (OURS, Rules(take_over=True)),
        (Owner(MARK, "ours", state=released), Rules()),
    ],
    ids=["asked for", "orphan"],
)
async def test_a_transfer_changes_the_owner_and_keeps_the_object(
    bench: Bench, owner: Owner, rules: Rules
) -> None:
    await bench.apply(config_map("a", {"k": "1", "old": "1"}), owner=Owner(MARK, "theirs"))
    before = await bench.cluster.get(ConfigMap, "a")
    await bench.apply(config_map("a", {"k": "2"}), owner=owner, rules=rules)
    after = await bench.cluster.get(ConfigMap, "a")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["metadata"]["annotations"][MARK] == "ours"
    assert after["data"] == {"k": "2"}


@pytest.mark.parametrize(
    ("rules", "action"),
    [
        (Rules(), Action.CONFIGURED),
        (Rules(adopt=Adopt.NEVER), Action.FAILED),
        (Rules(adopt=Adopt.IF_LABELLED, adopt_labels={"adopt": "me"}), Action.CONFIGURED),
        (Rules(adopt=Adopt.IF_LABELLED, adopt_labels={"adopt": "others"}), Action.FAILED),
        (Rules(fall_back=True), Action.UNCHANGED),
    ],
    ids=["always", "never", "labelled", "not labelled", "fall back"],
)
async def test_what_belongs_to_nobody_is_adopted_as_the_rules_say(
    bench: Bench, rules: Rules, action: Action
) -> None:
    await bench.cluster.create(config_map("a", {"k": "before"}, labels={"adopt": "me"}))
    changes = await bench.apply(config_map("a", {"k": "after"}), owner=OURS, rules=rules)
    assert changes.entries[0].action is action
    assert (await data(bench))["k"] == ("after" if action is Action.CONFIGURED else "before")


async def test_what_is_ours_stays_ours_without_its_mark(bench: Bench) -> None:
    never = Rules(adopt=Adopt.NEVER)
    await bench.apply(config_map("a", {"k": "1"}), owner=OURS, rules=never)
    await bench.cluster.patch(ConfigMap, "a", {"metadata": {"annotations": {MARK: None}}})
    changes = await bench.apply(config_map("a", {"k": "1"}), owner=OURS, rules=never)
    assert changes.entries[0].action is Action.CONFIGURED


async def test_the_fall_back_of_nobody_is_created_and_kept(bench: Bench) -> None:
    rules = Rules(fall_back=True)
    await bench.apply(config_map("a", {"k": "1"}), owner=OURS, rules=rules)
    changes = await bench.apply(config_map("a", {"k": "2"}), owner=OURS, rules=rules)
    assert changes.entries[0].action is Action.CONFIGURED


async def test_a_transfer_somebody_else_has_made_is_not_made_again(bench: Bench) -> None:
    """The cache still shows fields of the predecessor; the server does not."""
    placed = bench.placed(config_map("a", {"k": "1"}))
    await bench.cluster.client.create(placed, field_manager=PREDECESSOR)
    rules = Rules(take_over_from=(PREDECESSOR,))
    key = bench.cluster.key(ConfigMap, "a")
    stale = await bench.direct.read(ConfigMap, key)
    await bench.apply(config_map("a", {"k": "1"}), owner=OURS, rules=rules)
    bench.restart()
    read = bench.direct.read

    async def late(resource: Resource, key: Key, *, fresh: bool = False) -> Any:
        return await read(resource, key) if fresh else stale

    bench.direct.read = late
    with bench.counted() as calls:
        await bench.apply(config_map("a", {"k": "1"}), owner=OURS, rules=rules)
    assert calls[0].writes == 0


async def test_fields_of_a_predecessor_become_ours(bench: Bench) -> None:
    """What it set and nobody wants any more goes; what others set stays."""
    placed = bench.placed(config_map("a", {"k": "1", "old": "1"}, labels={"old": "1"}))
    await bench.cluster.client.create(placed, field_manager=PREDECESSOR)
    await bench.cluster.patch(ConfigMap, "a", {"data": {"foreign": "x"}})
    rules = Rules(take_over_from=(PREDECESSOR,))
    with bench.counted() as calls:
        await bench.apply(config_map("a", {"k": "2"}), owner=OURS, rules=rules)
    assert calls[0].writes == 2
    found = await bench.cluster.get(ConfigMap, "a")
    assert found["data"] == {"k": "2", "foreign": "x"}
    assert "labels" not in found["metadata"]
    managers = {entry["manager"] for entry in found["metadata"]["managedFields"]}
    assert PREDECESSOR not in managers
    bench.restart()
    with bench.counted() as calls:
        await bench.apply(config_map("a", {"k": "2"}), owner=OURS, rules=rules)
    assert calls[0].writes == 0


@pytest.mark.scenario("MR-91")
async def test_two_owners_at_the_same_time_do_not_both_get_it(bench: Bench) -> None:
    """Neither has seen the object when it starts; the one that is second has to notice."""
    read = bench.direct.read

    async def unseen(resource: Resource, key: Key, *, fresh: bool = False) -> Any:
        return await read(resource, key) if fresh else None

    bench.direct.read = unseen
    bench.direct.sees_all = False
    async with asyncio.TaskGroup() as group:
        both = [
            group.create_task(bench.apply(config_map("a"), owner=Owner(MARK, name)))
            for name in ("first", "second")
        ]
    assert [task.result().entries[0].action for task in both] == [Action.CREATED, Action.FAILED]
    metadata = (await bench.cluster.get(ConfigMap, "a"))["metadata"]
    assert metadata["annotations"] == {MARK: "first"}


async def test_what_is_expected_and_not_in_view_is_looked_for_before_it_is_created(
    bench: Bench,
) -> None:
    """The view of a new process may be older than the object, and than who owns it by now."""
    wanted = bench.placed(config_map("a", {"k": "ours"}))
    await bench.apply(config_map("a", {"k": "theirs"}), owner=Owner(MARK, "theirs"))
    bench.restart()
    read = bench.direct.read

    async def unseen(resource: Resource, key: Key, *, fresh: bool = False) -> Any:
        return await read(resource, key) if fresh else None

    bench.direct.read = unseen
    bench.direct.sees_all = False
    changes = await bench.apply(wanted, owner=OURS, expected={ObjectRef.of(wanted)})
    assert changes.entries[0].action is Action.FAILED
    assert await data(bench) == {"k": "theirs"}


async def test_what_was_anothers_in_an_old_view_is_looked_at_before_it_is_left(
    bench: Bench,
) -> None:
    """Another owner is gone, and the object was created again by us: it must not stay behind."""
    await bench.apply(config_map("a"), owner=Owner(MARK, "theirs"))
    read = bench.direct.read
    before = await read(ConfigMap, Key(bench.cluster.namespace, "a"))
    await bench.cluster.delete(ConfigMap, "a")
    await bench.apply(config_map("a"), owner=OURS)
    bench.restart()

    async def old(resource: Resource, key: Key, *, fresh: bool = False) -> Any:
        return await read(resource, key) if fresh else before

    bench.direct.read = old
    bench.direct.sees_all = False
    changes = await bench.delete(config_map("a"), owner=OURS)
    assert changes.entries[0].action is Action.DELETED
    await bench.cluster.gone(ConfigMap, "a")


async def test_what_went_before_our_eyes_is_created_again_without_a_look(bench: Bench) -> None:
    wanted = bench.placed(config_map("a", {"k": "ours"}))
    await bench.apply(wanted, owner=OURS)
    await bench.cluster.delete(ConfigMap, "a")
    bench.direct.read = _nothing
    bench.direct.sees_all = False
    changes = await bench.apply(wanted, owner=OURS, expected={ObjectRef.of(wanted)})
    assert changes.entries[0].action is Action.CREATED


async def _nothing(_resource: Resource, _key: Key, *, fresh: bool = False) -> None:
    assert not fresh, "nobody has to ask"
