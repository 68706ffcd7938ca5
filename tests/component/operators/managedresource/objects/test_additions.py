"""What others add to kept objects goes, with one write; what they may own stays."""

from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

import orjson
import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.client import Client, Request, Response, Transport
from certwright.kube import JsonObject, Key
from certwright.kube.kinds import ConfigMap, Deployment, Service
from certwright.testkit.builders import config_map, deployment

IGNORE_FIELDS = "resources.certwright.dev/ignore-fields"
SKIP = {"resources.gardener.cloud/skip-health-check": "true"}


def web(**changes: Any) -> JsonObject:
    return deployment("d", annotations=SKIP, **changes)


def service(**spec: Any) -> JsonObject:
    spec = {"ports": [{"port": 80}], "selector": {"app": "d"}, **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}


def pod(**spec: Any) -> JsonObject:
    return {"spec": {"template": {"spec": spec}}}


MAIN: JsonObject = {"name": "main", "image": "app"}
ADDITIONS: dict[str, tuple[Any, JsonObject, str]] = {
    "a key": (ConfigMap, {"data": {"theirs": "1"}}, "data.theirs"),
    "a binary key": (ConfigMap, {"binaryData": {"theirs": "AAAA"}}, "binaryData"),
    "another value": (ConfigMap, {"data": {"k": "theirs"}}, "data.k"),
    "an address": (Service, {"spec": {"externalIPs": ["192.0.2.1"]}}, "spec.externalIPs"),
    "affinity": (Service, {"spec": {"sessionAffinity": "ClientIP"}}, "spec.sessionAffinity"),
    "the host's network": (Deployment, pod(hostNetwork=True), "spec.template.spec.hostNetwork"),
    "a setting of the pod": (
        Deployment,
        pod(shareProcessNamespace=True),
        "spec.template.spec.shareProcessNamespace",
    ),
    "a strategy": (
        Deployment,
        {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}},
        "spec.strategy.type",
    ),
    "a privileged sidecar": (
        Deployment,
        pod(containers=[MAIN, {**MAIN, "name": "s", "securityContext": {"privileged": True}}]),
        "spec.template.spec.containers[name=s]",
    ),
    "a variable": (
        Deployment,
        pod(containers=[{**MAIN, "env": [{"name": "LD_PRELOAD", "value": "/tmp/theirs.so"}]}]),
        "spec.template.spec.containers[name=main].env",
    ),
    "a pause": (Deployment, {"spec": {"paused": True}}, "spec.paused"),
}
OBJECTS = [config_map("a", {"k": "v"}), service(), web()]
NAMES = {ConfigMap: "a", Service: "s", Deployment: "d"}


def content(obj: JsonObject) -> JsonObject:
    return {name: part for name, part in obj.items() if name not in {"metadata", "status"}}


@pytest.mark.parametrize("case", ADDITIONS.values(), ids=ADDITIONS)
@pytest.mark.parametrize("running", [True, False], ids=["running", "stopped meanwhile"])
async def test_what_others_change_is_undone_with_one_write(
    keeping: Keeping, case: tuple[Any, JsonObject, str], *, running: bool
) -> None:
    kind, addition, path = case
    await keeping.declare("web", *OBJECTS)
    await keeping.settle()
    before = content(await keeping.find(kind, NAMES[kind]))
    if not running:
        await keeping.cluster.stop()
    assert content(await keeping.cluster.patch(kind, NAMES[kind], addition)) != before
    calls = await (keeping.settle() if running else keeping.restart())
    assert content(await keeping.find(kind, NAMES[kind])) == before
    assert (calls.of(kind.resource.kind if hasattr(kind, "resource") else kind.kind).writes) == 1
    if running:
        [note] = await keeping.events("Repaired")
        assert f"{path} by test" in note, "which field, and who changed it"


async def test_what_others_remove_comes_back_also_after_a_restart(keeping: Keeping) -> None:
    await keeping.declare("web", config_map("a", {"k": "v", "empty": ""}))
    await keeping.settle()
    await keeping.cluster.stop()
    await keeping.cluster.patch(ConfigMap, "a", {"data": {"empty": None}})
    calls = await keeping.restart()
    assert (await keeping.find(ConfigMap, "a"))["data"] == {"k": "v", "empty": ""}
    assert calls.of("ConfigMap").writes == 1


async def test_a_restart_writes_nothing_and_reads_nothing(keeping: Keeping) -> None:
    await keeping.declare("web", *OBJECTS)
    await keeping.settle()
    calls = await keeping.restart()
    assert (calls.writes, calls.reads) == (0, 0)


async def test_what_existed_before_ends_as_declared_and_is_left_in_peace(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    """Fields that a write does not change stay with whom they were, which is no drift."""
    before = web(replicas=1)
    before["metadata"]["labels"] = {"theirs": "stays"}
    before["spec"]["template"]["spec"]["hostNetwork"] = True
    before["spec"]["progressDeadlineSeconds"] = 700
    await keeping.cluster.create(before)
    await keeping.cluster.create(config_map("a", {"k": "v", "old": "x"}))
    await keeping.declare("web", web(replicas=1), config_map("a", {"k": "v"}))
    await keeping.settle()
    live = await keeping.find(Deployment, "d")
    assert "hostNetwork" not in live["spec"]["template"]["spec"]
    assert live["spec"]["progressDeadlineSeconds"] == 600, "the default"
    assert live["metadata"]["labels"]["theirs"] == "stays"
    assert (await keeping.find(ConfigMap, "a"))["data"] == {"k": "v"}
    assert (await keeping.conditions("web"))["Applied"] == healthy["Applied"]
    calls = await keeping.restart()
    assert (calls.writes, calls.reads) == (0, 0)


class Mutating:
    """A server with a webhook that changes ConfigMaps: what they declare, and more."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.writes = 0

    async def send(self, request: Request) -> Response:
        if request.verb in {"create", "update"} and b'"ConfigMap"' in (request.body or b""):
            self.writes += 1
            obj = orjson.loads(request.body or b"")
            obj["data"] = {**obj["data"], "k": "mutated", "injected": "1"}
            request = replace(request, body=orjson.dumps(obj))
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Any]:
        return self._inner.stream(request)

    async def close(self) -> None:
        """Do nothing: the connection belongs to the cluster."""


async def test_what_a_webhook_makes_of_our_write_is_no_drift(embedded_keeping: Keeping) -> None:
    keeping = embedded_keeping
    transport = Mutating(keeping.cluster.client.transport)
    target = Client(transport, clock=keeping.cluster.clock)
    await keeping.declare("web", config_map("a", {"k": "v"}))
    await keeping.settle(keeping.operator(target=target))
    mutated = {"k": "mutated", "injected": "1"}
    assert (await keeping.find(ConfigMap, "a"))["data"] == mutated
    await keeping.cluster.advance(minutes=10)
    assert transport.writes == 1
    await keeping.cluster.patch(ConfigMap, "a", {"data": {"theirs": "1"}})
    await keeping.cluster.advance(minutes=10)
    assert (await keeping.find(ConfigMap, "a"))["data"] == mutated
    assert transport.writes == 2
    await keeping.cluster.stop()
    await keeping.settle(keeping.operator(target=target))
    await keeping.cluster.advance(minutes=10)
    assert transport.writes == 2


async def test_what_is_scaled(keeping: Keeping) -> None:
    """A number that is declared is restored; one that is not is left to those who scale."""
    await keeping.declare("web", web(replicas=1))
    await keeping.settle()
    scale = {"spec": {"replicas": 0}}
    key = Key(keeping.namespace, "d")
    await keeping.cluster.client.patch(Deployment, key, scale, subresource="scale")
    await keeping.settle()
    assert (await keeping.find(Deployment, "d"))["spec"]["replicas"] == 1
    undeclared = web()
    undeclared["spec"].pop("replicas", None)
    await keeping.rewrite("web", undeclared)
    await keeping.settle()
    await keeping.cluster.client.patch(Deployment, key, scale, subresource="scale")
    await keeping.settle()
    assert (await keeping.find(Deployment, "d"))["spec"]["replicas"] == 0
    calls = await keeping.restart()
    assert (calls.writes, calls.reads) == (0, 0)


async def test_fields_that_may_be_others(keeping: Keeping) -> None:
    pointers = "/spec/template/spec/hostNetwork,\n/spec/template/spec/containers/side"
    obj = web()
    obj["metadata"]["annotations"] = {**SKIP, IGNORE_FIELDS: pointers}
    await keeping.declare("web", obj)
    await keeping.settle()
    side = {"name": "side", "image": "example.com/side:1"}
    own = (await keeping.find(Deployment, "d"))["spec"]["template"]["spec"]["containers"]
    addition = pod(hostNetwork=True, shareProcessNamespace=True, containers=[*own, side])
    await keeping.cluster.patch(Deployment, "d", addition)
    await keeping.settle()
    left = (await keeping.find(Deployment, "d"))["spec"]["template"]["spec"]
    assert left["hostNetwork"]
    assert [container["name"] for container in left["containers"]][1:] == ["side"]
    assert "shareProcessNamespace" not in left
    calls = await keeping.restart()
    assert (calls.writes, calls.reads) == (0, 0)


async def test_fields_that_may_be_others_in_all_objects(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("a", {"k": "v"}))
    await keeping.annotate("web", IGNORE_FIELDS, "/data/theirs")
    await keeping.settle()
    await keeping.cluster.patch(ConfigMap, "a", {"data": {"theirs": "1", "more": "2"}})
    await keeping.settle()
    assert (await keeping.find(ConfigMap, "a"))["data"] == {"k": "v", "theirs": "1"}
    assert await keeping.conditions("web") == healthy


@pytest.mark.parametrize("pointer", ["spec/replicas", "/", "/metadata/name", "/data//x"])
async def test_a_pointer_that_is_none_fails_its_object_alone(
    keeping: Keeping, pointer: str
) -> None:
    bad = config_map("bad", annotations={IGNORE_FIELDS: pointer})
    await keeping.declare("web", bad, config_map("good"))
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    told = await keeping.message("web")
    assert f'"{pointer}"' in told
    assert IGNORE_FIELDS in told
    assert await keeping.exists(ConfigMap, "good", "bad") == {"good"}
