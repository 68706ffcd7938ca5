"""Events are the same objects in two groups."""

from datetime import timedelta

import pytest
from tests.component.apiserver.conftest import Api, SetClock

from certwright.apiserver.controllers import eventexpiry
from certwright.kube import JsonObject

CORE = "/api/v1/namespaces/default/events"
GROUP = "/apis/events.k8s.io/v1/namespaces/default/events"

EVENT = {
    "metadata": {"name": "e", "namespace": "default"},
    "eventTime": "2030-01-02T03:04:05.000001Z",
    "reportingController": "certwright",
    "reportingInstance": "certwright-0",
    "action": "Testing",
    "reason": "Tested",
    "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
    "note": "it works",
    "type": "Normal",
}


def test_what_is_created_in_one_group_is_found_in_the_other(api: Api) -> None:
    api.create(GROUP, EVENT)

    seen = api.get(f"{CORE}/e").body

    assert seen["apiVersion"] == "v1"
    assert seen["message"] == "it works"
    assert seen["involvedObject"] == {"kind": "Pod", "name": "p", "namespace": "default"}
    assert seen["reportingComponent"] == "certwright"
    assert api.names(CORE, fieldSelector="involvedObject.name=p") == ["e"]
    assert api.names(GROUP, fieldSelector="regarding.name=p") == ["e"]
    assert api.get(f"{GROUP}/e").body["note"] == "it works"


async def test_both_groups_are_watched(api: Api) -> None:
    since = api.server.resource_version
    api.create(GROUP, EVENT)

    (core,) = await api.events(CORE, resourceVersion=since, until=bool)
    (group,) = await api.events(GROUP, resourceVersion=since, until=bool)

    assert core["object"]["apiVersion"] == "v1"
    assert group["object"]["apiVersion"] == "events.k8s.io/v1"
    assert group["object"]["note"] == core["object"]["message"]


def test_what_was_created_in_core_can_be_patched_in_the_group(api: Api) -> None:
    api.create(CORE, {
        "metadata": {"name": "e", "namespace": "default"}, "message": "one", "reason": "R", "type": "Normal",
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
    })  # fmt: skip

    api.merge(
        f"{GROUP}/e", {"series": {"count": 2, "lastObservedTime": "2030-01-02T03:04:05.000001Z"}}
    )

    assert api.get(f"{CORE}/e").body["series"]["count"] == 2
    assert api.get(f"{CORE}/e").body["message"] == "one"


def named(name: str) -> JsonObject:
    return {**EVENT, "metadata": {"name": name, "namespace": "default"}}


async def test_events_are_gone_an_hour_after_their_last_write(api: Api, clock: SetClock) -> None:
    since = api.server.resource_version
    api.create(GROUP, named("old"))
    api.create(GROUP, named("seen-again"))
    clock.advance(1800)
    api.merge(f"{GROUP}/seen-again", {"note": "and again"})
    clock.advance(1799)
    assert api.names(CORE) == ["old", "seen-again"]

    clock.advance(1)

    assert api.names(CORE) == ["seen-again"]
    assert api.get(f"{GROUP}/old").status == 404
    *_, gone = await api.events(CORE, resourceVersion=since, until=is_deletion)
    assert gone["object"]["metadata"]["name"] == "old"
    clock.advance(1800)
    assert api.names(CORE) == []


def is_deletion(event: JsonObject) -> bool:
    return bool(event["type"] == "DELETED")


def test_an_event_of_another_group_is_not_kubernetes_own(api: Api, clock: SetClock) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True}
    names = {"plural": "events", "singular": "event", "kind": "Event", "listKind": "EventList"}
    spec = {
        "group": "concerts.example.com",
        "names": names,
        "scope": "Namespaced",
        "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
    }
    definition = {"metadata": {"name": "events.concerts.example.com"}, "spec": spec}
    created = api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    assert created.status == 201
    path = "/apis/concerts.example.com/v1/namespaces/default/events"
    head = {"apiVersion": "concerts.example.com/v1", "kind": "Event"}
    assert api.create(path, {**head, "metadata": {"name": "e"}}).status == 201

    clock.advance(timedelta(days=1).total_seconds())

    assert api.names(path) == ["e"]


def test_the_latest_events_are_kept(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eventexpiry, "MOST", 3)
    for name in ("a", "b", "c"):
        api.create(GROUP, named(name))
    api.merge(f"{GROUP}/a", {"note": "again"})
    api.create(GROUP, named("d"))

    assert api.names(CORE) == ["a", "c", "d"]
