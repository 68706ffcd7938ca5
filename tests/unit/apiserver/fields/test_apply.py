"""Server-side apply: tables of (live object, applied configuration) → object and owners.

What is expected here was read off a real server.
"""

from collections.abc import Callable
from typing import Any

import pytest

from certwright.apiserver.fields import manager as fieldmanager
from certwright.apiserver.kinds.kind import ServedKind
from certwright.kube import JsonObject
from certwright.kube.errors import ApiError, BadRequest, Cause, Conflict

EARLIER = "2026-01-01T00:00:00Z"
NOW = "2026-01-01T00:00:05Z"
Apply = Callable[..., dict[str, Any]]


@pytest.fixture
def apply(thing: ServedKind) -> Apply:
    """Apply a spec on behalf of a manager."""

    def act(live: Any, spec: Any, manager: str = "one", **options: Any) -> dict[str, Any]:
        given: JsonObject = {"force": False, "time": NOW} | options
        return fieldmanager.apply(live, a_thing(spec), kind=thing, manager=manager, **given)

    return act


def a_thing(spec: Any, **fields: Any) -> dict[str, Any]:
    metadata = {"name": "t", **fields.pop("metadata", {})}
    return {
        "apiVersion": "example.dev/v1",
        "kind": "Thing",
        "metadata": metadata,
        "spec": spec,
        **fields,
    }


def entry(manager: str, fields: Any, operation: str = "Apply", time: str = NOW) -> dict[str, Any]:
    full = {
        "manager": manager,
        "operation": operation,
        "apiVersion": "example.dev/v1",
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": fields},
    }
    return full if time else {name: part for name, part in full.items() if name != "time"}


def test_creating_records_one_applier(apply: Apply) -> None:
    created = apply(None, {"replicas": 1, "labels": {"b": "1", "a": "2"}})

    owner = entry("one", {"f:labels": {"f:a": {}, "f:b": {}}, "f:replicas": {}})
    assert created == a_thing(
        {"replicas": 1, "labels": {"b": "1", "a": "2"}}, metadata={"managedFields": [owner]}
    )


def test_nobody_owns_name_namespace_and_type(thing: ServedKind) -> None:
    config = a_thing({"title": "a"}, metadata={"namespace": "default", "labels": {"a": "1"}})

    created = fieldmanager.apply(None, config, kind=thing, manager="one", force=False, time=NOW)

    assert created["metadata"]["managedFields"][0]["fieldsV1"] == {
        "f:metadata": {"f:labels": {"f:a": {}}},
        "f:spec": {"f:title": {}},
    }


def test_applying_the_same_again_changes_nothing(apply: Apply) -> None:
    live = apply(None, {"replicas": 1, "items": [{"name": "a"}]}, time=EARLIER)

    assert apply(live, {"replicas": 1, "items": [{"name": "a"}]}) is live


def test_a_second_owner_of_the_same_values_shares_them_and_has_no_time(apply: Apply) -> None:
    live = apply(None, {"replicas": 1}, time=EARLIER)

    shared = apply(live, {"replicas": 1}, "two")

    assert shared["metadata"]["managedFields"] == [
        entry("two", {"f:replicas": {}}, time=""),
        entry("one", {"f:replicas": {}}, time=EARLIER),
    ]


REMOVALS: dict[str, tuple[Any, Any, Any]] = {
    "a field": ({"replicas": 1, "title": "a"}, {"title": "a"}, {"title": "a"}),
    "the last field of a struct": ({"nested": {"y": {"z": "a"}}, "title": "a"}, {"title": "a"}, {"title": "a"}),
    "an entry of a map": ({"labels": {"a": "1", "b": "2"}}, {"labels": {"b": "2"}}, {"labels": {"b": "2"}}),
    "an item by key": (
        {"items": [{"name": "a"}, {"name": "b", "image": "x"}]},
        {"items": [{"name": "a"}]},
        {"items": [{"name": "a"}]},
    ),
    "a field of an item": (
        {"items": [{"name": "a", "image": "x"}]},
        {"items": [{"name": "a"}]},
        {"items": [{"name": "a"}]},
    ),
    "an item of a set": ({"tags": ["a", "b"]}, {"tags": ["b"]}, {"tags": ["b"]}),
    "an atomic list": ({"args": ["a"], "title": "a"}, {"title": "a"}, {"title": "a"}),
    "unknown content": ({"free": {"a": {"b": 1}, "c": 1}}, {"free": {"c": 1}}, {"free": {"c": 1}}),
}  # fmt: skip


@pytest.mark.parametrize("what", REMOVALS)
def test_what_is_no_longer_applied_goes(apply: Apply, what: str) -> None:
    before, applied, after = REMOVALS[what]
    live = apply(None, before, time=EARLIER)

    changed = apply(live, applied)

    assert changed["spec"] == after
    assert [owner["time"] for owner in changed["metadata"]["managedFields"]] == [NOW]


@pytest.mark.parametrize("what", REMOVALS)
def test_what_another_manager_also_applies_stays(apply: Apply, what: str) -> None:
    before, applied, _ = REMOVALS[what]
    live = apply(None, before, time=EARLIER)
    live = apply(live, before, "two", time=EARLIER)

    assert apply(live, applied)["spec"] == before


def test_what_nobody_owns_goes_with_what_contains_it_and_else_stays(apply: Apply) -> None:
    live = apply(None, {"items": [{"name": "a"}, {"name": "b"}], "nested": {"x": 1}})
    for item in live["spec"]["items"]:
        item["image"] = "default"
    live["spec"]["nested"]["y"] = {"z": "default"}
    live["spec"]["title"] = "default"

    changed = apply(live, {"items": [{"name": "a"}]})

    assert changed["spec"] == {"items": [{"name": "a", "image": "default"}], "title": "default"}


def test_an_item_another_manager_has_a_field_in_is_left_with_that_field_alone(
    apply: Apply,
) -> None:
    live = apply(None, {"items": [{"name": "a", "args": ["x"]}, {"name": "b"}]})
    live = apply(live, {"items": [{"name": "a", "image": "x"}]}, "two")

    changed = apply(live, {"items": [{"name": "b"}]})

    assert changed["spec"] == {"items": [{"name": "a", "image": "x"}, {"name": "b"}]}


def test_a_conflict_names_the_field_and_its_owner(apply: Apply) -> None:
    live = apply(None, {"replicas": 1}, time=EARLIER)

    with pytest.raises(Conflict) as refusal:
        apply(live, {"replicas": 2}, "two")

    assert refusal.value.message == (
        'Apply failed with 1 conflict: conflict with "one": .spec.replicas'
    )
    assert refusal.value.causes == (
        Cause("FieldManagerConflict", 'conflict with "one"', ".spec.replicas"),
    )


def test_several_conflicts_are_listed_by_manager(apply: Apply, thing: ServedKind) -> None:
    live = apply(None, {"replicas": 1, "items": [{"name": "a", "image": "x"}]}, "two")
    patched = a_thing(
        {**live["spec"], "labels": {"a": "1"}},
        metadata={"managedFields": live["metadata"]["managedFields"]},
    )
    live = fieldmanager.update(live, patched, kind=thing, manager="kubectl-edit", time=NOW)

    with pytest.raises(Conflict) as refusal:
        apply(
            live,
            {"replicas": 2, "items": [{"name": "a", "image": "y"}], "labels": {"a": "2"}},
        )

    assert refusal.value.message == (
        "Apply failed with 3 conflicts: "
        'conflicts with "kubectl-edit" using example.dev/v1:\n'
        "- .spec.labels.a\n"
        'conflicts with "two":\n'
        "- .spec.replicas\n"
        '- .spec.items[name="a"].image'
    )
    assert {cause.message for cause in refusal.value.causes} == {
        'conflict with "two"',
        'conflict with "kubectl-edit" using example.dev/v1',
    }


def test_a_conflict_names_the_subresource(thing: ServedKind, apply: Apply) -> None:
    live = apply(None, {"replicas": 1})
    new = {**live, "status": {"phase": "a"}}
    live = fieldmanager.update(live, new, kind=thing, manager="x", time=NOW, subresource="status")
    config = {**a_thing({}), "status": {"phase": "b"}}

    with pytest.raises(Conflict) as refusal:
        fieldmanager.apply(
            live, config, kind=thing, manager="one", force=False, time=NOW, subresource="status"
        )

    assert refusal.value.message == (
        'Apply failed with 1 conflict: conflict with "x" with subresource "status" using '
        "example.dev/v1: .status.phase"
    )


def test_force_takes_the_fields_and_empty_owners_disappear(apply: Apply) -> None:
    live = apply(None, {"replicas": 1}, time=EARLIER)

    taken = apply(live, {"replicas": 2}, "two", force=True)

    assert taken["spec"] == {"replicas": 2}
    assert taken["metadata"]["managedFields"] == [entry("two", {"f:replicas": {}})]


def test_not_mentioning_a_field_gives_it_up_to_its_other_owner(apply: Apply) -> None:
    live = apply(None, {"replicas": 1, "title": "a"}, time=EARLIER)
    live = apply(live, {"replicas": 1}, "two", time=EARLIER)

    given = apply(live, {"title": "a"})

    assert given["spec"] == {"replicas": 1, "title": "a"}
    assert given["metadata"]["managedFields"] == [
        entry("two", {"f:replicas": {}}, time=""),
        entry("one", {"f:title": {}}, time=EARLIER),
    ]


def test_status_is_ignored_on_the_main_resource(thing: ServedKind) -> None:
    config = a_thing({"title": "a"}, status={"phase": "x"})

    applied = fieldmanager.apply(None, config, kind=thing, manager="one", force=False, time=NOW)

    assert applied["metadata"]["managedFields"] == [entry("one", {"f:title": {}})]


def test_spec_and_metadata_are_ignored_on_status(thing: ServedKind, apply: Apply) -> None:
    live = apply(None, {"title": "a"}, time=EARLIER)
    config = a_thing({"title": "b"}, metadata={"labels": {"a": "1"}}, status={"phase": "x"})

    applied = fieldmanager.apply(
        live, config, kind=thing, manager="s", force=False, time=NOW, subresource="status"
    )

    assert applied["metadata"]["managedFields"] == [
        entry("one", {"f:title": {}}, time=EARLIER),
        {
            **entry("s", {}),
            "fieldsV1": {"f:status": {"f:phase": {}}},
            "subresource": "status",
        },
    ]


def test_an_object_without_owners_gets_one_before_the_first_apply(apply: Apply) -> None:
    live = a_thing({"replicas": 1, "title": "a"}, metadata={"uid": "u"})

    with pytest.raises(Conflict, match='with "before-first-apply" using example'):
        apply(live, {"replicas": 2})
    applied = apply(live, {"replicas": 2}, force=True)

    assert applied["metadata"]["managedFields"] == [
        entry("one", {"f:replicas": {}}),
        entry("before-first-apply", {".": {}, "f:title": {}}, "Update"),
    ]


REFUSALS: dict[str, tuple[dict[str, Any], int, str]] = {
    "managedFields": (
        {"metadata": {"name": "t", "managedFields": []}},
        400,
        "metadata.managedFields must be nil",
    ),
    "another version": (
        {"apiVersion": "example.dev/v2"},
        400,
        "invalid object type: example.dev/v2, Kind=Thing",
    ),
    "a core kind": ({"apiVersion": "v1", "kind": "X"}, 400, "invalid object type: /v1, Kind=X"),
    "an unknown field": (
        {"nope": 1},
        500,
        "failed to create typed patch object (/t; example.dev/v1, Kind=Thing): .nope: field not declared in schema",
    ),
    "duplicates": (
        {"spec": {"tags": ["a", "a"]}, "metadata": {"name": "t", "namespace": "n"}},
        500,
        'failed to create typed patch object (n/t; example.dev/v1, Kind=Thing): .spec.tags: duplicate entries for key [="a"]',
    ),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_refusals(thing: ServedKind, what: str) -> None:
    change, code, message = REFUSALS[what]

    with pytest.raises(ApiError) as refusal:
        fieldmanager.apply(
            None, {**a_thing({}), **change}, kind=thing, manager="one", force=True, time=NOW
        )

    assert (refusal.value.status_code, refusal.value.message) == (code, message)
    assert isinstance(refusal.value, BadRequest) == (refusal.value.status_reason == "BadRequest")


def test_a_stored_object_that_no_longer_fits_cannot_be_applied_to(apply: Apply) -> None:
    live = apply(None, {"items": [{"name": "a"}]})
    live["spec"]["items"] = [{"image": "x"}]

    with pytest.raises(ApiError) as refusal:
        apply(live, {"items": [{"name": "a"}]})

    assert refusal.value.status_code == 500
    assert refusal.value.message.startswith(
        "failed to create typed live object (/t; example.dev/v1, Kind=Thing): "
    )


def test_an_applier_that_moves_to_another_version_keeps_its_entry(apply: Apply) -> None:
    live = apply(None, {"replicas": 1, "title": "a"}, time=EARLIER)
    live["metadata"]["managedFields"][0]["apiVersion"] = "example.dev/v1alpha1"

    applied = apply(live, {"replicas": 1})

    assert applied["spec"] == {"replicas": 1}
    assert applied["metadata"]["managedFields"] == [entry("one", {"f:replicas": {}})]


@pytest.mark.parametrize(
    ("user_agent", "manager"),
    [
        ("kubectl/v1.36.3 (linux/amd64) kubernetes/abc", "kubectl"),
        ("python-requests", "python-requests"),
        ("my agent/1", "my agent"),
        ("tab\there\x00/1", "tabhere"),
        ("ä" * 100, "ä" * 64),
        ("", ""),
    ],
)
def test_the_user_agent_names_the_manager(user_agent: str, manager: str) -> None:
    assert fieldmanager.default_manager(user_agent) == manager
