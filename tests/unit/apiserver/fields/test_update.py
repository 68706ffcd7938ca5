from typing import Any

import pytest

from certwright.apiserver.fields import manager as fieldmanager
from certwright.apiserver.kinds.kind import ServedKind
from certwright.kube import JsonObject

EARLIER = "2026-01-01T00:00:00Z"
NOW = "2026-01-01T00:00:05Z"


def a_thing(spec: Any, entries: Any = None, **fields: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "t"}
    if entries is not None:
        metadata["managedFields"] = entries
    return {
        "apiVersion": "example.dev/v1",
        "kind": "Thing",
        "metadata": metadata,
        "spec": spec,
        **fields,
    }


def entry(manager: str, fields: Any, time: str = NOW, **more: str) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": more.pop("operation", "Update"),
        "apiVersion": "example.dev/v1",
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **more,
    }


def entries(obj: dict[str, Any]) -> Any:
    return obj["metadata"].get("managedFields")


def test_creating_makes_the_creator_owner_of_everything(thing: ServedKind) -> None:
    new = a_thing({"labels": {"a": "1"}, "items": [{"name": "a"}]})

    created = fieldmanager.update(None, new, kind=thing, manager="one", time=NOW)

    assert entries(created) == [
        entry(
            "one",
            {
                "f:spec": {
                    ".": {},
                    "f:items": {".": {}, 'k:{"name":"a"}': {".": {}, "f:name": {}}},
                    "f:labels": {".": {}, "f:a": {}},
                }
            },
        )
    ]


def test_metadata_of_built_ins_was_there_before(config_map: ServedKind) -> None:
    new = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "labels": {"a": "1"}},
        "data": {"k": "v"},
    }

    created = fieldmanager.update(None, new, kind=config_map, manager="", time=NOW)

    assert entries(created) == [
        {
            **entry(
                "unknown",
                {
                    "f:data": {".": {}, "f:k": {}},
                    "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
                },
            ),
            "apiVersion": "v1",
        }
    ]


def test_changed_fields_change_owner_and_removed_ones_lose_theirs(thing: ServedKind) -> None:
    mine: JsonObject = {
        "f:spec": {"f:replicas": {}, "f:tags": {'v:"a"': {}, 'v:"b"': {}}, "f:title": {}}
    }
    applied = entry("one", mine, EARLIER, operation="Apply")
    old = a_thing({"replicas": 1, "tags": ["a", "b"], "title": "x"}, [applied])
    new = a_thing({"replicas": 2, "tags": ["b", "c"], "title": "x"})

    updated = fieldmanager.update(old, new, kind=thing, manager="two", time=NOW)

    assert entries(updated) == [
        entry(
            "one", {"f:spec": {"f:tags": {'v:"b"': {}}, "f:title": {}}}, EARLIER, operation="Apply"
        ),
        entry("two", {"f:spec": {"f:replicas": {}, "f:tags": {'v:"c"': {}}}}),
    ]


def test_a_manager_adds_to_its_own_entry(thing: ServedKind) -> None:
    old = a_thing({"replicas": 1}, [entry("one", {"f:spec": {".": {}, "f:replicas": {}}}, EARLIER)])

    updated = fieldmanager.update(
        old, a_thing({"replicas": 2, "title": "a"}), kind=thing, manager="one", time=NOW
    )

    assert entries(updated) == [
        entry("one", {"f:spec": {".": {}, "f:replicas": {}, "f:title": {}}})
    ]


def test_changing_nothing_keeps_entries_and_times(thing: ServedKind) -> None:
    before = [entry("one", {"f:spec": {"f:replicas": {}}}, EARLIER)]

    updated = fieldmanager.update(
        a_thing({"replicas": 1}, before),
        a_thing({"replicas": 1}),
        kind=thing,
        manager="two",
        time=NOW,
    )

    assert entries(updated) == before


def test_applying_and_updating_are_two_owners_of_one_name(thing: ServedKind) -> None:
    applied = entry(
        "one", {"f:spec": {"f:replicas": {}, "f:title": {}}}, EARLIER, operation="Apply"
    )

    updated = fieldmanager.update(
        a_thing({"replicas": 1, "title": "a"}, [applied]),
        a_thing({"replicas": 2, "title": "a"}),
        kind=thing,
        manager="one",
        time=NOW,
    )

    assert entries(updated) == [
        entry("one", {"f:spec": {"f:title": {}}}, EARLIER, operation="Apply"),
        entry("one", {"f:spec": {"f:replicas": {}}}),
    ]


def test_status_has_an_entry_of_its_own(thing: ServedKind) -> None:
    old = a_thing({}, [entry("one", {"f:spec": {}}, EARLIER)])
    new = a_thing({"title": "ignored"}, status={"phase": "x"})

    updated = fieldmanager.update(
        old, new, kind=thing, manager="one", time=NOW, subresource="status"
    )

    assert entries(updated)[1] == entry(
        "one", {"f:status": {".": {}, "f:phase": {}}}, subresource="status"
    )


@pytest.mark.parametrize("asked", [[], [{}]])
def test_an_empty_list_forgets_all_owners(thing: ServedKind, asked: Any) -> None:
    old = a_thing({"replicas": 1}, [entry("one", {"f:spec": {"f:replicas": {}}}, EARLIER)])

    updated = fieldmanager.update(
        old, a_thing({"replicas": 2}, asked), kind=thing, manager="two", time=NOW
    )

    assert entries(updated) is None


def test_objects_without_owners_stay_so_until_the_first_apply(thing: ServedKind) -> None:
    updated = fieldmanager.update(
        a_thing({"replicas": 1}), a_thing({"replicas": 2}), kind=thing, manager="two", time=NOW
    )

    assert entries(updated) is None


def test_clients_may_rewrite_the_owners(thing: ServedKind) -> None:
    old = a_thing({"tags": ["a"]}, [entry("one", {"f:spec": {"f:tags": {}}}, EARLIER)])
    theirs = entry("three", {"f:spec": {"f:tags": {'v: "a"': {}}}}, EARLIER)

    updated = fieldmanager.update(
        old, a_thing({"tags": ["a"]}, [theirs]), kind=thing, manager="two", time=NOW
    )

    assert entries(updated) == [entry("three", {"f:spec": {"f:tags": {'v:"a"': {}}}}, EARLIER)]


@pytest.mark.parametrize(
    "nonsense",
    [
        "text",
        [1],
        [{"manager": "x"}],
        [{"operation": "Update"}],
        [{"operation": "Update", "apiVersion": "v1"}],
        [
            {
                "operation": "Update",
                "apiVersion": "v1",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"x": {}},
            }
        ],
    ],
)
def test_nonsense_in_place_of_owners_is_ignored(thing: ServedKind, nonsense: Any) -> None:
    before = [entry("one", {"f:spec": {"f:replicas": {}}}, EARLIER)]

    updated = fieldmanager.update(
        a_thing({"replicas": 1}, before),
        a_thing({"replicas": 1}, nonsense),
        kind=thing,
        manager="two",
        time=NOW,
    )

    assert entries(updated) == before


def test_subresources_cannot_rewrite_the_owners(thing: ServedKind) -> None:
    before = [entry("one", {"f:spec": {"f:replicas": {}}}, EARLIER)]

    updated = fieldmanager.update(
        a_thing({"replicas": 1}, before),
        a_thing({"replicas": 1}, []),
        kind=thing,
        manager="two",
        time=NOW,
        subresource="status",
    )

    assert entries(updated) == before


def test_entries_are_ordered_by_operation_time_and_manager(thing: ServedKind) -> None:
    before = [
        entry("b", {"f:spec": {"f:title": {}}}, NOW),
        entry("a", {"f:spec": {"f:paused": {}}}, NOW),
        entry("z", {"f:spec": {"f:labels": {}}}, "2026-01-01T02:00:00+02:00"),
        entry("c", {"f:spec": {"f:args": {}}}, NOW, operation="Apply"),
    ]
    spec = {"title": "t", "paused": True, "labels": {}, "args": []}

    updated = fieldmanager.update(
        a_thing(spec), a_thing(spec, before), kind=thing, manager="x", time=NOW
    )

    assert [owner["manager"] for owner in entries(updated)] == ["c", "z", "a", "b"]


def test_the_oldest_of_many_updaters_become_one(thing: ServedKind) -> None:
    obj = fieldmanager.update(
        None, a_thing({"labels": {"0": ""}}), kind=thing, manager="m00", time="2026-01-01T00:00:00Z"
    )
    for n in range(1, 12):
        new = a_thing({"labels": {**obj["spec"]["labels"], str(n): ""}})
        obj = fieldmanager.update(
            obj, new, kind=thing, manager=f"m{n:02}", time=f"2026-01-01T00:00:{n:02}Z"
        )

    assert [owner["manager"] for owner in entries(obj)] == [
        "ancient-changes", *(f"m{n:02}" for n in range(3, 12)),
    ]  # fmt: skip
    ancient = entries(obj)[0]
    assert ancient["time"] == "2026-01-01T00:00:02Z"
    assert ancient["fieldsV1"] == {
        "f:spec": {".": {}, "f:labels": {".": {}, "f:0": {}, "f:1": {}, "f:2": {}}}
    }


def test_times_alone_are_no_change(thing: ServedKind) -> None:
    old = a_thing({"a": 1}, [entry("one", {"f:spec": {}}, EARLIER)])
    same = a_thing({"a": 1}, [entry("one", {"f:spec": {}}, NOW)])
    other_value = a_thing({"a": True}, [entry("one", {"f:spec": {}}, NOW)])
    other_owner = a_thing({"a": 1}, [entry("two", {"f:spec": {}}, NOW)])

    assert fieldmanager.keep_times(old, same) is old
    assert fieldmanager.keep_times(old, other_value) is other_value
    assert fieldmanager.keep_times(old, other_owner) is other_owner


@pytest.mark.parametrize("tags", [5, "text", {"a": 1}, [None], [["a"]]])
def test_objects_that_do_not_fit_lose_their_owners(thing: ServedKind, tags: Any) -> None:
    """Validation refuses them, so nobody sees that; what counts is that it gets to."""
    old = a_thing({"tags": ["a"]}, [entry("one", {"f:spec": {"f:tags": {}}}, EARLIER)])

    updated = fieldmanager.update(old, a_thing({"tags": tags}), kind=thing, manager="two", time=NOW)

    assert updated == a_thing({"tags": tags})
