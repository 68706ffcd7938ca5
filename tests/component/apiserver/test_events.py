"""Events are the same objects in two groups."""

from tests.component.apiserver.conftest import Api

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
