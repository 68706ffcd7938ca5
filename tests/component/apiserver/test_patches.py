"""PATCH in its dialects, and whose fields are whose afterwards."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.component.apiserver.conftest import Api, SetClock

JSON = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


@pytest.fixture
def one(api: Api, maps: str, config_map: Callable[..., Any]) -> str:
    api.create(maps, config_map("a", {"x": "1", "y": "2"}))
    return f"{maps}/a"


def test_a_merge_patch_sets_and_removes(api: Api, one: str) -> None:
    assert api.merge(one, {"data": {"x": "9", "y": None, "z": "3"}}).body["data"] == {
        "x": "9",
        "z": "3",
    }


def test_a_json_patch_is_carried_out_as_a_whole_or_not_at_all(api: Api, one: str) -> None:
    patch: Any = [
        {"op": "replace", "path": "/data/x", "value": "9"},
        {"op": "remove", "path": "/data/nope"},
    ]

    refusal = api("PATCH", one, patch, content_type=JSON)

    assert refusal.status == 422
    assert refusal.message == "the server rejected our request due to an error in our request"
    assert api.get(one).body["data"] == {"x": "1", "y": "2"}


def test_a_json_patch_can_test_first(api: Api, one: str) -> None:
    patch: Any = [
        {"op": "test", "path": "/data/x", "value": "1"},
        {"op": "remove", "path": "/data/x"},
    ]

    assert api("PATCH", one, patch, content_type=JSON).body["data"] == {"y": "2"}
    assert api("PATCH", one, patch, content_type=JSON).status == 422


def test_a_strategic_patch_merges_lists_by_key(api: Api) -> None:
    path = "/api/v1/namespaces/default/pods"
    containers = [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]
    api.create(path, {"metadata": {"name": "p"}, "spec": {"containers": containers}})

    patched = api(
        "PATCH",
        f"{path}/p",
        {"spec": {"containers": [{"name": "b", "image": "2"}]}},
        content_type=STRATEGIC,
    )

    images = {each["name"]: each["image"] for each in patched.body["spec"]["containers"]}
    assert images == {"a": "1", "b": "2"}


def test_a_patch_that_names_a_version_rests_on_it(api: Api, one: str) -> None:
    stale = api.get(one).body["metadata"]["resourceVersion"]
    api.merge(one, {"data": {"x": "2"}})

    assert (
        api.merge(one, {"metadata": {"resourceVersion": stale}, "data": {"x": "3"}}).status == 409
    )


def test_a_patch_does_not_create(api: Api, maps: str) -> None:
    assert api.merge(f"{maps}/nope", {"data": {}}).status == 404


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "application/unknown+json"])
def test_unknown_dialects_are_refused(api: Api, one: str, kind: str) -> None:
    assert api("PATCH", one, {}, content_type=kind).status == 415


def test_the_result_of_a_patch_is_validated(api: Api, one: str) -> None:
    assert api.merge(one, {"data": {"x": 1}}).status == 422
    assert api.merge(one, {"metadata": {"labels": {"a b": "c"}}}).status == 422
    assert api.merge(one, {"metadata": {"name": "b"}}).status == 400


def test_apply_creates_and_owns(api: Api, maps: str, config_map: Callable[..., Any]) -> None:
    applied = api.apply(f"{maps}/a", config_map("a", {"x": "1"}), fieldManager="me")

    assert applied.status == 201
    (entry,) = applied.body["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("me", "Apply")
    assert entry["fieldsV1"] == {"f:data": {"f:x": {}}}


def test_apply_removes_what_is_no_longer_applied(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    api.apply(f"{maps}/a", config_map("a", {"x": "1", "y": "1"}), fieldManager="me")

    again = api.apply(f"{maps}/a", config_map("a", {"x": "1"}), fieldManager="me")

    assert again.status == 200
    assert again.body["data"] == {"x": "1"}


def test_apply_of_the_same_is_no_write(
    api: Api, maps: str, config_map: Callable[..., Any], clock: SetClock
) -> None:
    first = api.apply(f"{maps}/a", config_map("a", {"x": "1"}), fieldManager="me").body
    clock.advance(60)

    assert api.apply(f"{maps}/a", config_map("a", {"x": "1"}), fieldManager="me").body == first


def test_fields_of_others_are_a_conflict_unless_forced(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    api.apply(f"{maps}/a", config_map("a", {"x": "1"}), fieldManager="me")

    refusal = api.apply(f"{maps}/a", config_map("a", {"x": "2"}), fieldManager="you")
    assert refusal.status == 409
    assert refusal.message == 'Apply failed with 1 conflict: conflict with "me": .data.x'
    forced = api.apply(f"{maps}/a", config_map("a", {"x": "2"}), fieldManager="you", force="true")

    assert forced.body["data"] == {"x": "2"}


def test_apply_needs_a_manager(api: Api, maps: str, config_map: Callable[..., Any]) -> None:
    refusal = api.apply(f"{maps}/a", config_map("a"))

    assert refusal.status == 422
    assert "fieldManager: Required value: is required for apply patch" in refusal.message


def test_only_apply_can_be_forced(api: Api, one: str) -> None:
    assert api.merge(one, {"data": {"x": "2"}}, force="true").status == 422


def test_apply_takes_yaml(api: Api, maps: str) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  when: 2020-01-01\n"

    refusal = api.apply(f"{maps}/a", body.replace(b"2020-01-01", b"[1"), fieldManager="me")
    assert refusal.status == 400
    applied = api.apply(f"{maps}/a", body, fieldManager="me")
    assert applied.body["data"] == {"when": "2020-01-01"}, "a date is a string to the API"


def test_dry_run_of_a_patch(api: Api, one: str) -> None:
    assert api.merge(one, {"data": {"x": "9"}}, dryRun="All").body["data"]["x"] == "9"
    assert api.get(one).body["data"]["x"] == "1"
