"""Deleting: preconditions, finalizers, grace, what the answer holds."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.component.apiserver.conftest import Api, SetClock


def test_what_is_deleted_is_answered_with_a_status(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    uid = api.create(maps, config_map("a")).body["metadata"]["uid"]

    answer = api.delete(f"{maps}/a")

    assert answer.status == 200
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "a", "kind": "configmaps", "uid": uid},
    }
    assert api.get(f"{maps}/a").status == 404


def test_some_kinds_answer_with_the_object(api: Api) -> None:
    path = "/api/v1/namespaces/default/serviceaccounts"
    api.create(path, {"metadata": {"name": "a"}})

    assert api.delete(f"{path}/a").body["kind"] == "ServiceAccount"


def test_the_wrong_uid_is_a_conflict(api: Api, maps: str, config_map: Callable[..., Any]) -> None:
    uid = api.create(maps, config_map("a")).body["metadata"]["uid"]

    refusal = api.delete(f"{maps}/a", {"preconditions": {"uid": "other"}})

    assert refusal.status == 409
    assert refusal.message == (
        'Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (other) does '
        f"not match the UID in record ({uid}). The object might have been deleted and then recreated"
    )
    assert api.get(f"{maps}/a").status == 200


def test_the_wrong_version_is_a_conflict(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    api.create(maps, config_map("a"))

    assert api.delete(f"{maps}/a", {"preconditions": {"resourceVersion": "1"}}).status == 409
    current = api.get(f"{maps}/a").body["metadata"]["resourceVersion"]
    assert api.delete(f"{maps}/a", {"preconditions": {"resourceVersion": current}}).status == 200


def test_a_dry_run_deletes_nothing(api: Api, maps: str, config_map: Callable[..., Any]) -> None:
    api.create(maps, config_map("a"))

    assert api.delete(f"{maps}/a", dryRun="All").status == 200
    assert api.get(f"{maps}/a").status == 200


def test_finalizers_hold_an_object_until_the_last_is_removed(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    api.create(maps, config_map("a", finalizers=["x.io/one", "x.io/two"]))

    begun = api.delete(f"{maps}/a")
    assert begun.body["metadata"]["deletionTimestamp"] == "2030-01-02T03:04:05Z"
    assert begun.body["metadata"]["deletionGracePeriodSeconds"] == 0
    api.merge(f"{maps}/a", {"metadata": {"finalizers": ["x.io/two"]}})
    assert api.get(f"{maps}/a").status == 200
    last = api.merge(f"{maps}/a", {"metadata": {"finalizers": None}})

    assert last.status == 200
    assert last.body["kind"] == "ConfigMap"
    assert api.get(f"{maps}/a").status == 404


def test_a_second_delete_changes_nothing(
    api: Api, maps: str, config_map: Callable[..., Any], clock: SetClock
) -> None:
    api.create(maps, config_map("a", finalizers=["x.io/one"]))
    first = api.delete(f"{maps}/a").body
    clock.advance(60)

    assert api.delete(f"{maps}/a").body == first


def test_a_deleted_object_gets_no_new_finalizers(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    api.create(maps, config_map("a", finalizers=["x.io/one"]))
    api.delete(f"{maps}/a")

    refusal = api.merge(f"{maps}/a", {"metadata": {"finalizers": ["x.io/one", "x.io/two"]}})

    assert refusal.status == 422
    assert (
        'no new finalizers can be added if the object is being deleted, found new finalizers []string{"x.io/two"}'
        in refusal.message
    )


def test_the_name_of_an_object_being_deleted_is_taken(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    api.create(maps, config_map("a", finalizers=["x.io/one"]))
    api.delete(f"{maps}/a")

    refusal = api.create(maps, config_map("a"))

    assert refusal.status == 409
    assert refusal.message == 'object is being deleted: configmaps "a" already exists'


def test_beginning_to_delete_counts_as_a_change_of_the_specification(api: Api) -> None:
    path = "/apis/batch/v1/namespaces/default/jobs"
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    job = {"metadata": {"name": "j", "finalizers": ["x.io/one"]}, "spec": {"template": template}}
    assert api.create(path, job).body["metadata"]["generation"] == 1

    assert api.delete(f"{path}/j").body["metadata"]["generation"] == 2


def test_many_are_deleted_by_selector(api: Api, maps: str, config_map: Callable[..., Any]) -> None:
    for name in ("a", "b", "c"):
        api.create(maps, config_map(name, labels={"keep": str(name == "b").lower()}))

    answer = api.delete(maps, labelSelector="keep=false")

    assert [item["metadata"]["name"] for item in answer.body["items"]] == ["a", "c"]
    assert api.names(maps) == ["b"]


@pytest.fixture
def pods(api: Api) -> str:
    path = "/api/v1/namespaces/default/pods"
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
    api.create(path, {"metadata": {"name": "p"}, "spec": spec})
    return path


def test_a_running_pod_is_given_time(api: Api, pods: str) -> None:
    metadata = api.delete(f"{pods}/p").body["metadata"]

    assert metadata["deletionTimestamp"] == "2030-01-02T03:04:35Z"
    assert metadata["deletionGracePeriodSeconds"] == 30
    assert api.delete(f"{pods}/p", {"gracePeriodSeconds": 0}).status == 200
    assert api.get(f"{pods}/p").status == 404


def test_grace_can_only_be_shortened(api: Api, pods: str) -> None:
    api.delete(f"{pods}/p", {"gracePeriodSeconds": 20})

    longer = api.delete(f"{pods}/p", {"gracePeriodSeconds": 60}).body["metadata"]
    assert longer["deletionGracePeriodSeconds"] == 20
    shorter = api.delete(f"{pods}/p", {"gracePeriodSeconds": 5}).body["metadata"]
    assert shorter["deletionGracePeriodSeconds"] == 5
    assert shorter["deletionTimestamp"] == "2030-01-02T03:04:10Z"


def test_a_pod_on_no_node_is_gone_at_once(api: Api, pods: str) -> None:
    api.create(
        pods, {"metadata": {"name": "q"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    )

    api.delete(f"{pods}/q")

    assert api.get(f"{pods}/q").status == 404


def test_unknown_policies_are_refused(api: Api, maps: str, config_map: Callable[..., Any]) -> None:
    api.create(maps, config_map("a"))

    refusal = api.delete(f"{maps}/a", {"propagationPolicy": "Sideways"})

    assert refusal.status == 422
    assert (
        'Unsupported value: "Sideways": supported values: "Foreground", "Background", "Orphan", "nil"'
        in refusal.message
    )
