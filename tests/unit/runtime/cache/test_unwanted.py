"""Refused objects are kept for a while, within a bound."""

from certwright.kube.objects import Key
from certwright.runtime.cache.entries import Entry, Meta, RefusedEntries


def entry(name: str, size: int, version: str = "1") -> Entry:
    return Entry(Key("shop", name), Meta(version), b"x" * size)


def test_the_oldest_make_room() -> None:
    room = RefusedEntries(limit=100)
    for name in ("a", "b", "c"):
        room.put(entry(name, 40))
    assert room.take(Key("shop", "a")) is None
    assert room.take(Key("shop", "b")) is not None


def test_a_newer_version_replaces_the_older_one() -> None:
    room = RefusedEntries(limit=100)
    room.put(entry("a", 60))
    room.put(entry("a", 60, version="2"))
    room.put(entry("b", 40))
    taken = room.take(Key("shop", "a"))
    assert taken is not None
    assert taken.meta.resource_version == "2"


def test_what_is_larger_than_the_room_has_it_for_itself_until_the_next_comes() -> None:
    room = RefusedEntries(limit=100)
    room.put(entry("a", 10))
    room.put(entry("huge", 101))
    assert Key("shop", "a") not in room
    assert Key("shop", "huge") in room
    room.put(entry("b", 10))
    assert Key("shop", "huge") not in room
    assert Key("shop", "b") in room


def test_where_there_is_no_room_nothing_stays() -> None:
    room = RefusedEntries(limit=0)
    room.put(entry("a", 0))
    assert Key("shop", "a") not in room


def test_what_was_taken_makes_room() -> None:
    room = RefusedEntries(limit=100)
    room.put(entry("a", 90))
    room.take(Key("shop", "a"))
    room.put(entry("b", 90))
    room.put(entry("c", 10))
    assert room.take(Key("shop", "b")) is not None
