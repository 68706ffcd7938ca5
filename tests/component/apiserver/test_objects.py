"""Creating, reading and replacing single objects."""

import re
from collections.abc import Callable
from typing import Any

from tests.component.apiserver.conftest import Api, SetClock

from certwright.kube import Key, Resource
from certwright.kube.kinds import ConfigMap


def test_a_created_object_gets_what_the_server_owns(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    created = api.create(maps, config_map("a", {"x": "1"}))

    assert created.status == 201
    metadata = created.body["metadata"]
    assert created.body["data"] == {"x": "1"}
    assert metadata["namespace"] == "default"
    assert metadata["creationTimestamp"] == "2030-01-02T03:04:05Z"
    assert re.fullmatch(
        r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", metadata["uid"]
    )
    assert metadata["resourceVersion"] == api.server.resource_version
    assert "generation" not in metadata
    assert metadata["managedFields"][0]["manager"] == "test"
    assert api.get(f"{maps}/a").body == created.body


def test_what_only_the_server_sets_cannot_be_brought_along(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    sent = config_map(
        "a",
        uid="mine",
        creationTimestamp="2000-01-01T00:00:00Z",
        deletionTimestamp="2000-01-01T00:00:00Z",
    )

    metadata = api.create(maps, sent).body["metadata"]

    assert metadata["uid"] != "mine"
    assert metadata["creationTimestamp"] == "2030-01-02T03:04:05Z"
    assert "deletionTimestamp" not in metadata


def test_a_taken_name_is_refused(api: Api, maps: str, config_map: Callable[..., Any]) -> None:
    api.create(maps, config_map("a"))

    refusal = api.create(maps, config_map("a"))

    assert refusal.status == 409
    assert refusal.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'configmaps "a" already exists',
        "reason": "AlreadyExists",
        "details": {"name": "a", "kind": "configmaps"},
        "code": 409,
    }


def test_names_are_generated(api: Api, maps: str) -> None:
    names = {
        api.create(maps, {"metadata": {"generateName": "job-"}}).body["metadata"]["name"]
        for _ in range(20)
    }

    assert len(names) == 20
    assert all(re.fullmatch(r"job-[bcdfghjklmnpqrstvwxz2456789]{5}", name) for name in names)


def test_what_does_not_exist_is_not_found(api: Api, maps: str) -> None:
    refusal = api.get(f"{maps}/nope")

    assert refusal.status == 404
    assert refusal.message == 'configmaps "nope" not found'
    assert refusal.body["details"] == {"name": "nope", "kind": "configmaps"}


def test_paths_that_are_not_served_have_no_status_object(api: Api) -> None:
    refusal = api.get("/apis/example.com/v1/widgets")

    assert refusal.status == 404
    assert refusal.body == "404 page not found\n"


def test_a_namespace_must_exist(api: Api, config_map: Callable[..., Any]) -> None:
    refusal = api.create("/api/v1/namespaces/nowhere/configmaps", config_map("a"))

    assert refusal.status == 404
    assert refusal.message == 'namespaces "nowhere" not found'


def test_the_namespace_in_the_body_must_be_that_of_the_path(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    refusal = api.create(maps, config_map("a", namespace="kube-system"))

    assert refusal.status == 400
    assert (
        refusal.message
        == "the namespace of the provided object does not match the namespace sent on the request"
    )


def test_replacing_rests_on_the_current_version(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    old = api.create(maps, config_map("a", {"x": "1"})).body
    new = api.replace(f"{maps}/a", {**old, "data": {"x": "2"}})
    assert new.status == 200
    assert int(new.body["metadata"]["resourceVersion"]) > int(old["metadata"]["resourceVersion"])

    refusal = api.replace(f"{maps}/a", {**old, "data": {"x": "3"}})

    assert refusal.status == 409
    assert refusal.message == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert api.get(f"{maps}/a").body["data"] == {"x": "2"}


def test_a_write_that_changes_nothing_is_no_write(
    api: Api, maps: str, config_map: Callable[..., Any], clock: SetClock
) -> None:
    old = api.create(maps, config_map("a", {"x": "1"})).body
    clock.advance(60)

    again = api.replace(f"{maps}/a", config_map("a", {"x": "1"}))

    assert again.body == old


def test_a_recreated_object_is_another_one(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    old = api.create(maps, config_map("a")).body
    api.delete(f"{maps}/a")
    api.create(maps, config_map("a"))

    refusal = api.replace(f"{maps}/a", config_map("a", {"x": "1"}, uid=old["metadata"]["uid"]))

    assert refusal.status == 409
    assert "Precondition failed: UID in precondition" in refusal.message


def test_replacing_does_not_create(api: Api, maps: str, config_map: Callable[..., Any]) -> None:
    assert api.replace(f"{maps}/a", config_map("a")).status == 404


def test_leases_are_created_by_replacing(api: Api) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/a"

    assert api.replace(path, {"metadata": {"name": "a"}, "spec": {}}).status == 201


def test_the_name_in_the_body_must_be_that_of_the_path(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    api.create(maps, config_map("a"))

    refusal = api.replace(f"{maps}/a", config_map("b"))

    assert refusal.status == 400
    assert refusal.message == "the name of the object (b) does not match the name on the URL (a)"


def test_a_dry_run_shows_and_does_not_do(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    before = api.server.resource_version

    shown = api.create(maps, config_map("a", {"x": "1"}), dryRun="All")

    assert shown.status == 201
    assert shown.body["metadata"]["uid"]
    assert "resourceVersion" not in shown.body["metadata"]
    assert api.get(f"{maps}/a").status == 404
    assert api.server.resource_version == before


def test_answers_are_never_the_stored_object(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    """What a test does to an answer must not reach the server."""
    created = api.create(maps, config_map("a", {"x": "1"}))
    created.body["data"]["x"] = "changed"

    assert api.get(f"{maps}/a").body["data"] == {"x": "1"}


def test_generation_counts_changes_of_the_specification(api: Api) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    deployment = {
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    created = api.create(path, deployment).body
    assert created["metadata"]["generation"] == 1

    scaled = api.merge(f"{path}/web", {"spec": {"replicas": 3}}).body
    assert scaled["metadata"]["generation"] == 2
    labelled = api.merge(f"{path}/web", {"metadata": {"labels": {"x": "y"}}}).body
    assert labelled["metadata"]["generation"] == 2
    reported = api.merge(f"{path}/web/status", {"status": {"observedGeneration": 2}}).body
    assert reported["metadata"]["generation"] == 2


def test_a_stored_object_is_found_by_its_key(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    created = api.create(maps, config_map("a", {"x": "1"})).body

    assert api.server.stored(ConfigMap, Key("default", "a")) == created
    assert api.server.stored(ConfigMap, Key("default", "b")) is None
    assert api.server.stored(ConfigMap, Key("other", "a")) is None
    unserved = Resource("example.com", "v1", "Thing", "things")
    assert api.server.stored(unserved, Key("default", "a")) is None


def test_owners_stay_when_they_are_sent_back(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    created = api.create(maps, config_map("a", {"x": "1", "y": "2"})).body
    entry = created["metadata"]["managedFields"][0]
    turned = {name: entry[name] for name in reversed(entry)}
    sent = {**created, "data": {"x": "1", "y": "3"}}
    sent["metadata"] = {**created["metadata"], "managedFields": [turned]}

    updated = api.replace(f"{maps}/a", sent, fieldManager="other").body

    owned = {
        one["manager"]: set(one["fieldsV1"].get("f:data", ()))
        for one in updated["metadata"]["managedFields"]
    }
    assert owned == {"test": {".", "f:x"}, "other": {"f:y"}}
