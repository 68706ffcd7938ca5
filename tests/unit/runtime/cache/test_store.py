"""What readers and listeners of a store can rely on."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from certwright.kube.kinds import ConfigMap
from certwright.kube.objects import Key
from certwright.runtime.cache.decode import EntryDecoder
from certwright.runtime.cache.entries import Entry
from certwright.runtime.cache.store import Store

INTAKE = EntryDecoder(ConfigMap)


def raw(name: str, version: int | str, namespace: str = "shop", **metadata: Any) -> bytes:
    base = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{name}",
        "resourceVersion": str(version),
    }
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": base | metadata}
    return json.dumps(obj).encode()


def config(name: str, version: int | str, namespace: str = "shop", **metadata: Any) -> Entry:
    return INTAKE.entry(raw(name, version, namespace, **metadata))


class Heard:
    """A listener that notes names and versions."""

    def __init__(self) -> None:
        self.changes: list[tuple[str | None, str | None]] = []

    def __call__(self, old: Entry | None, new: Entry | None) -> None:
        self.changes.append((_text(old), _text(new)))

    def pop(self) -> list[tuple[str | None, str | None]]:
        changes, self.changes = self.changes, []
        return changes


def _text(entry: Entry | None) -> str | None:
    return f"{entry.key.name}@{entry.meta.resource_version}" if entry else None


@pytest.fixture
def store() -> Store:
    return Store(INTAKE)


@pytest.fixture
def heard(store: Store) -> Heard:
    listener = Heard()
    store.listen(listener)
    return listener


def versions(store: Store) -> dict[str, str]:
    return {entry.key.name: entry.meta.resource_version for entry in store.items()}


def test_changes_are_heard_in_order(store: Store, heard: Heard) -> None:
    store.upsert(config("a", 1))
    store.upsert(config("a", 2))
    store.delete(config("a", 3))
    assert heard.pop() == [(None, "a@1"), ("a@1", "a@2"), ("a@2", None)]
    assert len(store) == 0


def test_what_is_not_newer_changes_nothing(store: Store, heard: Heard) -> None:
    store.upsert(config("a", 10))
    heard.pop()
    assert not store.upsert(config("a", 10))
    assert not store.upsert(config("a", 9)), "numbers, not text: 9 is older than 10"
    assert not store.delete(config("a", 9)), "the deletion of an earlier object of that name"
    assert not store.delete(config("b", 99))
    assert heard.pop() == []
    assert versions(store) == {"a": "10"}


def test_versions_that_cannot_be_compared_are_taken_as_they_come(store: Store) -> None:
    store.upsert(config("a", "zz"))
    assert store.upsert(config("a", "aa"))
    assert versions(store) == {"a": "aa"}
    assert store.delete(config("a", "mm"))


def test_a_list_replaces_everything_and_only_differences_are_heard(
    store: Store, heard: Heard
) -> None:
    store.replace([config("a", 1), config("b", 2), config("c", 3)], 3)
    same = store.get(Key("shop", "a"))
    heard.pop()
    store.replace([config("a", 1), config("b", 5), config("d", 4)], 5)
    assert heard.pop() == [("b@2", "b@5"), (None, "d@4"), ("c@3", None)]
    assert store.get(Key("shop", "a")) is same, "an unchanged object is not kept twice"


def test_a_list_is_put_in_place_at_once(store: Store) -> None:
    store.replace([config("a", 1), config("b", 2)], 2)
    seen = []
    store.listen(lambda _old, _new: seen.append(versions(store)))
    seen.clear()
    store.replace([config("c", 3), config("d", 4)], 4)
    assert seen == [{"c": "3", "d": "4"}] * 4


def test_a_late_listener_hears_what_is_there(store: Store) -> None:
    store.replace([config("a", 1), config("b", 2)], 2)
    late = Heard()
    stop = store.listen(late)
    assert late.pop() == [(None, "a@1"), (None, "b@2")]
    stop()
    store.upsert(config("c", 3))
    assert late.pop() == []


# Indexes


def names(entries: list[Entry]) -> list[str]:
    return [entry.key.name for entry in entries]


@pytest.fixture(params=["asked before", "asked after"])
def find(request: pytest.FixtureRequest, store: Store) -> Callable[[str], list[str]]:
    """Look under a label, by an index that was there before the entries or came after."""

    def look(value: str) -> list[str]:
        return names(store.by_label("app", value))

    if request.param == "asked before":
        look("x")
    return look


def test_indexes_follow_every_change(store: Store, find: Callable[[str], list[str]]) -> None:
    store.upsert(config("a", 1, labels={"app": "x"}))
    store.upsert(config("b", 2, labels={"app": "x"}))
    store.upsert(config("c", 3, labels={"app": "y"}))
    store.upsert(config("d", 4))
    assert find("x") == ["a", "b"]
    store.upsert(config("a", 5, labels={"app": "y"}))
    assert find("x") == ["b"]
    assert find("y") == ["c", "a"]
    store.delete(config("b", 6))
    assert find("x") == []
    store.replace([config("e", 7, labels={"app": "x"}), config("c", 3, labels={"app": "y"})], 7)
    assert find("x") == ["e"]
    assert find("y") == ["c"]


def test_an_index_added_while_a_list_arrives_is_complete(store: Store) -> None:
    staged = store.stage()
    staged.put(config("apple", 1))
    store.add_index("letter", first_letter)
    staged.put(config("avocado", 2))
    store.swap(staged, 2)
    assert names(store.by_index("letter", "a")) == ["apple", "avocado"]


def test_by_namespace_and_owner(store: Store) -> None:
    def owner(uid: str) -> dict[str, str]:
        return {"apiVersion": "v1", "kind": "Shop", "name": "s", "uid": uid}

    store.upsert(config("a", 1, ownerReferences=[owner("u1"), owner("u2")]))
    store.upsert(config("b", 2, "other", ownerReferences=[owner("u2")]))
    assert names(store.by_namespace("shop")) == ["a"]
    assert names(store.by_namespace("nowhere")) == []
    assert names(store.by_owner("u1")) == ["a"]
    assert names(store.by_owner("u2")) == ["a", "b"]


def test_a_value_named_twice_counts_once(store: Store) -> None:
    store.add_index("twice", lambda entry: [entry.key.name, entry.key.name])
    store.upsert(config("a", 1))
    assert names(store.by_index("twice", "a")) == ["a"]
    store.delete(config("a", 2))
    assert names(store.by_index("twice", "a")) == []


def first_letter(entry: Entry) -> list[str]:
    return [entry.key.name[0]]


def test_a_user_may_index_by_anything(store: Store) -> None:
    store.upsert(config("apple", 1))
    store.add_index("letter", first_letter)
    store.upsert(config("avocado", 2))
    assert names(store.by_index("letter", "a")) == ["apple", "avocado"]
    store.add_index("letter", first_letter)
    with pytest.raises(ValueError, match="another index 'letter'"):
        store.add_index("letter", lambda _: [])
    with pytest.raises(KeyError, match="no index 'colour'; it has: letter"):
        store.by_index("colour", "red")


def test_an_object_an_index_did_not_foresee_is_left_out_of_it(store: Store) -> None:
    store.add_index("app", lambda entry: [entry.obj()["metadata"]["labels"]["app"]])
    store.upsert(config("bad", 1))
    store.upsert(config("good", 2, labels={"app": "x"}))
    assert names(store.by_index("app", "x")) == ["good"]
    assert len(store) == 2
    store.delete(config("bad", 3))
    assert names(store.items()) == ["good"]


@pytest.mark.parametrize(
    "index",
    [lambda _: [1 / 0], lambda _: [["unhashable"]], lambda _: 7],
    ids=["zero", "hash", "it"],
)
def test_an_index_function_that_fails_ends_nothing(store: Store, index: Any) -> None:
    store.add_index("broken", index)
    store.upsert(config("a", 1))
    store.upsert(config("a", 2))
    assert versions(store) == {"a": "2"}
    assert store.by_index("broken", "x") == []


def test_malformed_entries_are_visible(store: Store) -> None:
    store.upsert(config("bad", 1, labels=["x"]))
    store.upsert(config("good", 2))
    assert store.malformed == {
        Key("shop", "bad"): "metadata.labels: Expected `object`, got `array`"
    }


def test_an_object_listed_under_another_uid_is_another_object(store: Store, heard: Heard) -> None:
    store.replace([config("a", 1, uid="first", generation=1)], 1)
    heard.pop()
    store.replace([config("a", 5, uid="second", generation=1)], 5)
    assert heard.pop() == [("a@1", None), (None, "a@5")]


def test_a_uid_of_the_wrong_shape_ends_nothing(store: Store, heard: Heard) -> None:
    store.replace([config("a", 1, uid=7)], 1)
    store.replace([config("a", 2, uid=[])], 2)
    assert versions(store) == {"a": "2"}


def test_a_version_given_out_twice_by_a_restored_server_is_not_taken_for_the_first(
    store: Store, heard: Heard
) -> None:
    store.replace([config("a", 7, labels={"timeline": "first"})], 9)
    heard.pop()
    staged = store.stage()
    store.put_into(staged, config("a", 7, labels={"timeline": "second"}))
    store.notify(store.swap(staged, 8, restored=True))
    assert heard.pop() == [("a@7", "a@7")]
    assert store.items()[0].meta.labels == {"timeline": "second"}


# Own writes


def test_a_write_is_read_at_once_and_older_events_do_not_undo_it(
    store: Store, heard: Heard
) -> None:
    store.replace([config("a", 1)], 1)
    heard.pop()
    store.note_write(raw("a", 5))
    assert versions(store) == {"a": "5"}
    assert store.pending == 1
    store.upsert(config("a", 3))
    assert versions(store) == {"a": "5"}
    assert not store.upsert(config("a", 5))
    store.reached(5)
    assert store.pending == 0
    assert heard.pop() == [("a@1", "a@5")]


def test_a_write_the_watch_told_first_is_not_waited_for(store: Store) -> None:
    store.upsert(config("a", 5))
    store.note_write(raw("a", 5))
    assert store.pending == 0


def test_an_answer_that_comes_after_the_deletion_does_not_bring_the_object_back(
    store: Store,
) -> None:
    """The garbage collector may be faster than the answer to our own create."""
    store.upsert(config("a", 5))
    store.delete(config("a", 6))
    store.note_write(raw("a", 5))
    assert len(store) == 0
    store.replace([], version=9)
    store.note_write(raw("a", 8))
    assert len(store) == 0
    store.note_write(raw("a", 10))
    assert len(store) == 1


def test_a_list_older_than_our_write_does_not_undo_it(store: Store) -> None:
    store.replace([config("a", 1), config("b", 2)], 2)
    store.note_write(raw("a", 7))
    store.note_write(raw("new", 8))
    store.replace([config("a", 1), config("b", 2)], 6)
    assert versions(store) == {"a": "7", "b": "2", "new": "8"}
    store.replace([config("b", 2)], 9)
    assert versions(store) == {"b": "2"}, "a newer list knows better"
    assert store.pending == 0


def test_a_restored_server_undoes_our_writes(store: Store) -> None:
    store.replace([config("a", 100)], 100)
    store.note_write(raw("a", 120))
    staged = store.stage()
    staged.put(config("a", 50))
    store.notify(store.swap(staged, 60, restored=True))
    assert versions(store) == {"a": "50"}
    assert store.pending == 0


def test_writes_with_opaque_versions_wait_for_the_event(store: Store) -> None:
    store.upsert(config("a", "v1"))
    store.note_write(raw("a", "v2"))
    assert versions(store) == {"a": "v1"}
    assert store.pending == 0


@pytest.mark.parametrize("answer", [b"{", b"{}", b'{"kind":"Status"}'])
def test_an_answer_that_is_no_object_is_left_to_the_watch(store: Store, answer: bytes) -> None:
    store.note_write(answer)
    assert len(store) == 0
    assert store.pending == 0


def test_a_write_outside_the_selection_does_not_get_in() -> None:
    store = Store(INTAKE, admits=lambda entry: entry.key.namespace == "shop")
    store.note_write(raw("a", 1, "elsewhere"))
    store.note_write(raw("b", 2))
    assert versions(store) == {"b": "2"}


def test_a_deletion_is_seen_at_once_and_late_events_do_not_undo_it(
    store: Store, heard: Heard
) -> None:
    store.upsert(config("a", 1))
    heard.pop()
    store.note_delete(Key("shop", "a"), "uid-a")
    assert heard.pop() == [("a@1", None)]
    assert store.pending == 1
    assert not store.upsert(config("a", 2))
    store.replace([config("a", 2)], 2)
    assert len(store) == 0
    store.delete(config("a", 3))
    assert store.pending == 0
    assert heard.pop() == []


def test_a_deletion_settles_the_writes_before_it(store: Store) -> None:
    store.note_write(raw("a", 5))
    store.note_delete(Key("shop", "a"), "uid-a")
    assert store.pending == 1


def test_a_successor_of_a_deleted_object_is_another_object(store: Store) -> None:
    store.upsert(config("a", 1))
    store.note_delete(Key("shop", "a"), "another uid")
    assert len(store) == 1
    store.note_delete(Key("shop", "a"), "uid-a")
    assert store.upsert(config("a", 5, uid="second"))
    assert store.pending == 0
    assert versions(store) == {"a": "5"}


def test_a_list_without_the_deleted_object_settles_the_deletion(store: Store) -> None:
    store.upsert(config("a", 1))
    store.note_delete(Key("shop", "a"), "uid-a")
    store.replace([], 9)
    assert store.pending == 0


def test_a_deletion_whose_event_is_lost_is_not_waited_for_for_ever(store: Store) -> None:
    store.upsert(config("a", 1))
    store.note_delete(Key("shop", "a"), "uid-a")
    store.bookmark()
    assert store.pending == 1, "this bookmark may be older than the deletion"
    assert not store.upsert(config("a", 2))
    store.bookmark()
    assert store.pending == 0


def test_what_nobody_wants_is_not_taken_in() -> None:
    wanted = {Key("shop", "a")}
    store = Store(INTAKE, keep=lambda entry: entry.key in wanted)
    heard = Heard()
    store.listen(heard)
    store.replace([config("a", 1), config("b", 2)], 2)
    assert store.upsert(config("c", 3)) is False
    assert heard.pop() == [(None, "a@1")]
    assert store.keys() == [Key("shop", "a")]


def test_what_is_held_stays_current_until_it_is_discarded() -> None:
    wanted = {Key("shop", "a")}
    store = Store(INTAKE, keep=lambda entry: entry.key in wanted)
    store.replace([config("a", 1)], 1)
    wanted.clear()
    assert store.upsert(config("a", 2)) is True
    store.replace([config("a", 3)], 3)
    found = store.get(Key("shop", "a"))
    assert found is not None
    assert found.meta.resource_version == "3"
    heard = Heard()
    store.listen(heard)
    heard.pop()
    store.discard(Key("shop", "a"))
    assert len(store) == 0
    assert heard.pop() == []
    assert store.upsert(config("a", 4)) is False


def test_what_was_refused_can_be_admitted_later() -> None:
    wanted: set[Key] = set()
    store = Store(INTAKE, keep=lambda entry: entry.key in wanted)
    store.upsert(config("late", 3))
    wanted.add(Key("shop", "late"))
    admitted = store.admit(Key("shop", "late"))
    assert admitted is not None
    assert admitted is store.get(Key("shop", "late"))
    assert store.admit(Key("shop", "never seen")) is None


def test_of_what_is_refused_for_good_nothing_stays() -> None:
    store = Store(INTAKE, keep=lambda _: False)
    store.keep_no_refused()
    store.upsert(config("late", 3))
    assert not store.has_refused(Key("shop", "late"))
    store.replace([config("late", 3)], 5)
    assert not store.has_refused(Key("shop", "late")), "a list gives no more room"


def test_what_was_deleted_cannot_be_admitted() -> None:
    store = Store(INTAKE, keep=lambda _: False)
    store.upsert(config("gone", 3))
    store.delete(config("gone", 4))
    assert store.admit(Key("shop", "gone")) is None


def test_a_list_forgets_what_was_refused_and_is_gone() -> None:
    store = Store(INTAKE, keep=lambda _: False)
    store.upsert(config("gone", 3))
    store.replace([config("there", 5)], 5)
    assert store.admit(Key("shop", "gone")) is None
    assert store.admit(Key("shop", "there")) is not None


def test_what_is_admitted_while_a_list_arrives_stays() -> None:
    store = Store(INTAKE, keep=lambda _: False)
    heard = Heard()
    store.listen(heard)
    store.upsert(config("late", 3))
    staged = store.stage()
    store.put_into(staged, config("late", 3))
    store.admit(Key("shop", "late"))
    store.notify(store.swap(staged, 5))
    assert Key("shop", "late") in store
    assert (("late@3", None)) not in heard.pop()


def test_what_was_discarded_can_be_admitted_again() -> None:
    store = Store(INTAKE)
    store.upsert(config("again", 3))
    store.discard(Key("shop", "again"))
    assert Key("shop", "again") not in store
    assert store.admit(Key("shop", "again")) is not None
