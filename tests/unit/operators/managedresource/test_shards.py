import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.operators.managedresource.conftest import Make

from certwright.apply import ObjectRef
from certwright.kube import JsonObject, Key
from certwright.managed.shards import (
    read_shard,
    shard_manifest,
    shard_name,
    split,
)
from certwright.operators.managedresource.inventory import reference_to

KEY = Key("garden", "mr-inventory-0")


def entries(count: int) -> list[Any]:
    return [reference_to(ObjectRef("v1", "ConfigMap", "a", f"c-{n:05}")) for n in range(count)]


@given(st.integers(0, 40), st.integers(1, 400), st.integers(1, 400))
def test_nothing_is_lost_and_every_part_fits(count: int, inline: int, beside: int) -> None:
    references = entries(count)
    parts = split(references, inline_bytes=inline, shard_bytes=beside)
    assert [*parts.inline, *(e for part in parts.overflow for e in part)] == references
    assert all(parts.overflow)
    for part, limit in ((parts.inline, inline), *((part, beside) for part in parts.overflow)):
        assert len(msgspec.json.encode(part)) <= limit + 1 or len(part) == 1


def test_a_usual_inventory_needs_no_companion() -> None:
    assert split(entries(2000)).overflow == []


def test_a_huge_one_does() -> None:
    parts = split(entries(30_000))
    assert len(parts.overflow) > 1
    assert len(msgspec.json.encode(parts.inline)) < 1_000_000


def test_what_is_written_can_be_read(make: Make) -> None:
    resource = make(uid="u-1")
    name = shard_name(resource, entries(3))
    config_map = shard_manifest(resource, name, entries(3), label="gardener")
    assert config_map["metadata"] == {
        "namespace": "garden",
        "name": name,
        "labels": {"resources.certwright.dev/inventory": "gardener"},
        "ownerReferences": [
            {
                "apiVersion": "resources.gardener.cloud/v1alpha1",
                "kind": "ManagedResource",
                "name": "mr",
                "uid": "u-1",
                "controller": True,
                "blockOwnerDeletion": False,
            }
        ],
        "finalizers": ["resources.certwright.dev/inventory"],
    }
    assert read_shard(Key("garden", name), json.loads(json.dumps(config_map))) == entries(3)


@pytest.mark.parametrize(
    "config_map",
    [
        None,
        {},
        {"data": None},
        {"data": {"other": "x"}},
        {"data": {"inventory": "{"}},
        {"data": {"inventory": "7"}},
    ],
)
def test_a_companion_that_was_tampered_with_is_not_an_empty_inventory(
    config_map: JsonObject | None,
) -> None:
    with pytest.raises(ValueError, match="garden/mr-inventory-0"):
        read_shard(KEY, config_map)


def test_a_companion_that_says_something_else_is_not_believed(make: Make) -> None:
    resource = make(name="mr")
    name = shard_name(resource, entries(3))
    other = shard_manifest(resource, name, entries(2), label="gardener")
    with pytest.raises(ValueError, match="was changed"):
        read_shard(Key("garden", name), other)


def test_a_long_name_leaves_room_for_what_follows(make: Make) -> None:
    longest = f"{'x' * 224}.{'y' * 28}"
    name = shard_name(make(name=longest), entries(3))
    assert len(name) <= 253
    assert name.startswith(f"{'x' * 224}-inventory-")


def test_a_name_follows_from_the_content(make: Make) -> None:
    one, other, three = make(name="x"), make(name="y"), entries(3)
    assert shard_name(one, three).startswith("x-inventory-")
    assert shard_name(one, three) == shard_name(one, entries(3))
    assert shard_name(one, three) != shard_name(other, three)
    assert shard_name(one, three) != shard_name(one, entries(4))


def test_a_shard_that_is_going_is_followed_by_another_of_the_same_contents(make: Make) -> None:
    resource = make(uid="u-1")
    usual = shard_name(resource, entries(3))
    other = shard_name(resource, entries(3), known={usual}, going={usual})
    assert other != usual
    config_map = shard_manifest(resource, other, entries(3), label="gardener")
    assert read_shard(Key("garden", other), config_map) == entries(3)
    assert shard_name(resource, entries(3), known={other}) == other
    again = shard_name(resource, entries(3), known={usual, other}, going={usual, other})
    assert again not in {usual, other}
    assert shard_name(resource, entries(3), known={other}, going={other}) == usual
