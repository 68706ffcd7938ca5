"""What may go, what is written down, what is kept."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.apply import ObjectRef, PruneGuard, PruneOptions
from certwright.apply.objectset.inventory import Inventory, Shard
from certwright.apply.objectset.prune import plan_pruning


def ref(name: str, version: str = "v1") -> ObjectRef:
    return ObjectRef(f"apps/{version}", "Deployment", "ns", name)


REFS = st.lists(st.sampled_from([ref(f"n{i}") for i in range(30)]), unique=True)


@pytest.mark.parametrize(
    ("recorded", "unwanted", "mass"),
    [(9, 9, False), (10, 5, False), (10, 6, True), (11, 6, True), (100, 50, False), (10, 0, False)],
)
@pytest.mark.scenario("MR-70")
def test_the_guard(recorded: int, unwanted: int, *, mass: bool) -> None:
    assert PruneGuard().is_mass_deletion(before=recorded, removed=unwanted) is mass


@given(recorded=REFS, wanted=REFS, confirmed=st.booleans(), doubts=st.sampled_from(["", "b.yaml"]))
def test_nothing_wanted_is_ever_pruned(
    recorded: list[ObjectRef], wanted: list[ObjectRef], *, confirmed: bool, doubts: str
) -> None:
    plan = plan_pruning(recorded, wanted, PruneOptions(confirmed=confirmed, doubts=doubts))
    assert set(plan.unwanted) == set(recorded) - set(wanted)
    mass = PruneGuard().is_mass_deletion(before=len(recorded), removed=len(plan.unwanted))
    held = bool(plan.unwanted) and (bool(doubts) or (mass and not confirmed))
    assert bool(plan.held) is held
    assert plan.allowed is (bool(plan.unwanted) and not held)


def test_another_version_of_a_group_is_the_same_object() -> None:
    assert plan_pruning([ref("a", "v1beta1")], [ref("a", "v1")]).unwanted == ()


@given(st.lists(REFS, max_size=4), st.integers(1, 200))
def test_an_inventory_lists_everything_once_and_moves_nothing(
    rounds: list[list[ObjectRef]], shard_bytes: Any
) -> None:
    inventory = Inventory("x")
    for refs in rounds:
        before = {one: shard.name for shard in inventory.shards for one in shard.refs}
        inventory = inventory.with_refs(refs, shard_bytes=shard_bytes)
        after = {one: shard.name for shard in inventory.shards for one in shard.refs}
        assert before.items() <= after.items()
        assert set(after) == set(before) | set(refs)
        assert len(inventory.refs) == len(after)
        assert len({shard.name for shard in inventory.shards}) == len(inventory.shards)
        assert all(
            len(shard.text) <= shard_bytes or len(shard.refs) == 1 for shard in inventory.shards
        )
        inventory = inventory.without(refs[::2])
        assert not set(refs[::2]) & set(inventory.refs)


def test_pages_that_do_not_change_stay_the_same_values() -> None:
    shard = Shard("p", (ref("a"),))
    inventory = Inventory("x", (shard,))
    assert inventory.with_refs([ref("a")]).shards[0] is shard
    assert inventory.without([ref("b")]).shards[0] is shard


@given(
    st.builds(
        ObjectRef,
        st.sampled_from(["v1", "apps/v1", "example.com/v1"]),
        st.sampled_from(["Pod", "Role"]),
        st.sampled_from(["", "ns"]),
        st.sampled_from(["a", "system:x", "a.b"]),
    )
)
def test_an_id_says_all(one: ObjectRef) -> None:
    assert ObjectRef.parse(one.id) == one


@pytest.mark.parametrize("text", ["", "a", "v1/Pod/x", "v1/Pod/ns/", "/Pod/ns/x", "a/b/c/Pod/ns/x"])
def test_what_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="apiVersion/kind/namespace/name"):
        ObjectRef.parse(text)


def test_what_is_protected_is_neither_pruned_nor_counted() -> None:
    refs = [ref(f"n{i}") for i in range(12)]
    kept = set(refs[:6])
    options = PruneOptions(prune=True, protected=lambda one: "why" if one in kept else "")
    plan = plan_pruning(refs, [], options)
    assert plan.protected == tuple(refs[:6])
    assert plan.unwanted == tuple(refs[6:])
    assert plan.allowed  # six of twelve are no mass deletion
    assert plan_pruning(refs[:6], [], options).deletable == ()
