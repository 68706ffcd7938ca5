"""What the server keeps when clients come and go: as much after many cycles as after some."""

import asyncio
import gc
from collections import Counter
from datetime import timedelta
from random import Random

import pytest
from tests.component.apiserver.conftest import Api, SetClock, definition, request

from certwright.apiserver import ApiServer
from certwright.apiserver.access.tokens import GrantedToken, Tokens
from certwright.apiserver.access.users import ADMIN
from certwright.apiserver.http.request import parse_path
from certwright.apiserver.storage.storage import StoredChange, StoredRecord
from certwright.kube import JsonObject

HISTORY_BYTES = 100_000
HOUR = timedelta(hours=1)
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
MAPS = "/api/v1/namespaces/default/configmaps"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"


@pytest.fixture
def server(clock: SetClock) -> ApiServer:
    return ApiServer(clock=clock, rng=Random(1), history_bytes=HISTORY_BYTES)  # noqa: S311


def deployment(name: str) -> JsonObject:
    labels = {"app": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": pod}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def widget(name: str) -> JsonObject:
    head = {"apiVersion": "example.com/v1", "kind": "Widget"}
    return {**head, "metadata": {"name": name}, "spec": {"size": 1}}


async def live(api: Api, clock: SetClock, number: int) -> None:
    """Let objects of several kinds come, change, be read, be watched and go, under new names."""
    since = api.server.resource_version
    name = f"n-{number}"
    api.create(DEPLOYMENTS, deployment(name))
    api.apply(f"{DEPLOYMENTS}/{name}", deployment(name), fieldManager=f"m-{number}")
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    owner["uid"] = api.get(f"{DEPLOYMENTS}/{name}").body["metadata"]["uid"]
    api.create(MAPS, {"metadata": {"name": name, "ownerReferences": [owner]}})
    for change in range(3):
        api.merge(f"{MAPS}/{name}", {"data": {"n": str(change)}}, fieldManager=f"m-{number}")
    api.create(WIDGETS, widget(name))
    api.merge(f"{WIDGETS}/{name}", {"spec": {"size": number}})
    api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    regarding = {"kind": "ConfigMap", "name": name, "namespace": "default"}
    api.create(EVENTS, {
        "metadata": {"name": name, "namespace": "default"}, "reason": "R", "action": "A",
        "eventTime": "2030-01-02T03:04:05.000001Z", "reportingController": "c",
        "reportingInstance": "i", "regarding": regarding, "type": "Normal",
    })  # fmt: skip
    account = "/api/v1/namespaces/default/serviceaccounts"
    api.create(account, {"metadata": {"name": name}})
    api.create(f"{account}/{name}/token", {"spec": {"expirationSeconds": 600}})
    for path in (DEPLOYMENTS, MAPS, WIDGETS, EVENTS):
        api.get(path, limit=1, labelSelector=f"a={name}")
        api.server.watch(request("GET", path, watch="1"))  # opened, and never read
    seen = await api.events(MAPS, resourceVersion=since, until=bool)
    assert seen
    await asyncio.sleep(0)  # the loop closes the watch
    for path in (DEPLOYMENTS, WIDGETS, "/api/v1/namespaces", account):
        api.delete(f"{path}/{name}")
    api.get(f"/api/v1/namespaces/{name}/pods/{name}")
    clock.advance(60)


def census() -> Counter[str]:
    """Count what is alive, by type."""
    gc.collect()
    return Counter(type(one).__qualname__ for one in gc.get_objects())


async def test_what_is_kept_does_not_grow(api: Api, clock: SetClock) -> None:
    """An hour of Events, the history and its bytes are full after some cycles."""
    assert api.create(DEFINITIONS, definition()).status == 201
    for number in range(parse_path.cache_parameters()["maxsize"]):
        parse_path(f"/api/v1/namespaces/n{number}")  # full from the beginning, as after a while
    for number in range(100):
        await live(api, clock, number)
    before = census()
    for number in range(100, 200):
        await live(api, clock, number)
    after = census()

    for name in (StoredRecord.__qualname__, StoredChange.__qualname__, GrantedToken.__qualname__):
        assert after[name] <= before[name] * 1.5 + 10, name
    assert after.total() <= before.total() * 1.05, (after - before).most_common(5)
    history = [
        c for kind in api.server._backend.storage.collections() for c in kind.changes_since(0)
    ]
    past = {id(change.previous): change.previous for change in history if change.previous}
    assert sum(len(record.raw) for record in past.values()) <= HISTORY_BYTES
    assert len(api.names(EVENTS)) == 59, "one a minute, those of the last hour"


def let_come_and_go(api: Api, clock: SetClock, group: str) -> None:
    """Define widgets in a group, create one, and delete the definition."""
    crd = definition()
    crd["metadata"]["name"] = f"widgets.{group}"
    crd["spec"]["group"] = group
    assert api.create(DEFINITIONS, crd).status == 201
    objects = f"/apis/{group}/v1/namespaces/default/widgets"
    assert api.create(objects, {**widget("a"), "apiVersion": f"{group}/v1"}).status == 201
    api.delete(f"{DEFINITIONS}/widgets.{group}")
    clock.advance(60)


def test_definitions_that_come_and_go_leave_nothing(api: Api, clock: SetClock) -> None:
    for _ in range(30):
        let_come_and_go(api, clock, "example.com")
    before = census()
    for _ in range(60):
        let_come_and_go(api, clock, "example.com")

    assert census().total() <= before.total() * 1.05


def test_definitions_under_new_names_leave_no_collection(api: Api, clock: SetClock) -> None:
    let_come_and_go(api, clock, "example.com")
    before = api.server._backend.storage.collections()
    for number in range(10):
        let_come_and_go(api, clock, f"n{number}.example.com")

    assert api.server._backend.storage.collections() == before


def test_tokens_that_have_expired_are_forgotten(clock: SetClock) -> None:
    tokens = Tokens(clock)
    lasting = tokens.issue(ADMIN)
    for _ in range(20):
        for _ in range(500):
            tokens.issue(ADMIN, lifetime=HOUR)
        clock.advance(3600)

    assert len(tokens._issued) <= 2_000
    assert tokens.user(lasting) == ADMIN
