"""A namespace with a node that runs its pods, on the embedded or the real server."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TypeVar

from certwright.apiserver import ApiServer
from certwright.apiserver.builtins import served_kinds
from certwright.apiserver.kinds.kind import ServedKind
from certwright.client import Client, connect
from certwright.kube import JsonObject, Key, NotFound, Resource
from certwright.kube.kinds import (
    ConfigMap,
    CoreEvent,
    Namespace,
    Pod,
    Secret,
    Service,
    ServiceAccount,
)
from certwright.testkit.node import NodeSettings, local_node
from certwright.testkit.node.node import LocalNode

T = TypeVar("T")

QUICK = NodeSettings(
    restart_seconds=0.5,
    restart_limit_seconds=2.0,
    volume_lag_seconds=0.1,
    retry_seconds=0.2,
    mount_retry_seconds=0.1,
    probe_scale=0.1,
)
"""Times that are long enough to be seen and short enough for a test."""
PATIENCE_SECONDS = 50.0


@cache
def _kinds() -> tuple[ServedKind, ...]:
    return tuple(served_kinds())


class PodRig:
    """What a test needs to create pods and to see what becomes of them."""

    def __init__(self, client: Client, namespace: str, node: LocalNode) -> None:
        self.client = client
        self.namespace = namespace
        self.node = node

    async def run(self, *containers: JsonObject, name: str = "p", **spec: object) -> JsonObject:
        """Create a pod; containers get a name, and ``sh`` as their image."""
        defaults = {"name": "main", "image": "busybox:1"}
        metadata = spec.pop("metadata", {})
        assert isinstance(metadata, dict)
        return await self.create({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": self.namespace, **metadata},
            "spec": {
                "terminationGracePeriodSeconds": 2,
                "containers": [{**defaults, **one} for one in containers],
                **spec,
            },
        })  # fmt: skip

    async def create(self, obj: JsonObject) -> JsonObject:
        return await self.client.create(obj)

    async def configmap(self, name: str, **data: str) -> None:
        metadata = {"name": name, "namespace": self.namespace}
        await self.client.apply(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        )

    async def secret(self, name: str, **data: str) -> None:
        metadata = {"name": name, "namespace": self.namespace}
        await self.client.apply(
            {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}
        )

    async def clear(self) -> None:
        """Delete everything in the namespace, and return when nothing of it runs."""
        await self.node.services.events.flush()
        for kind in (Pod, Secret, ConfigMap, Service, ServiceAccount, CoreEvent):
            for one in (await self.client.list(kind, namespace=self.namespace)).items:
                if kind is Pod and one["metadata"].get("finalizers"):
                    key = self.key(one["metadata"]["name"])
                    await self.client.patch(Pod, key, {"metadata": {"finalizers": None}})
                with suppress(NotFound):
                    key = self.key(one["metadata"]["name"])
                    await self.client.delete(kind, key, grace_seconds=0)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while self.node.pods:
                await asyncio.sleep(0.01)
        await self.node.services.events.flush()

    def key(self, name: str) -> Key:
        return Key(self.namespace, name)

    async def pod(self, name: str = "p") -> JsonObject:
        return await self.client.get(Pod, self.key(name))

    async def until(self, holds: Callable[[JsonObject], object], name: str = "p") -> JsonObject:
        """Return the pod as soon as something holds of it."""
        found: JsonObject = {}
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not holds(found := await self.pod(name)):
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"it never held; at last: {found.get('status')}") from None
        return found

    async def phase(self, phase: str, name: str = "p") -> JsonObject:
        return await self.until(lambda pod: pod["status"].get("phase") == phase, name)

    async def ready(self, name: str = "p") -> JsonObject:
        return await self.until(is_ready, name)

    async def output(self, name: str = "p", container: str = "main") -> list[str]:
        """Return the lines a container has written so far."""
        uid = (await self.pod(name))["metadata"]["uid"]
        worker = self.node.pods.get(uid)  # none yet: it is not bound
        log = worker.log(container, previous=False) if worker else None
        return log.read_text("utf-8").splitlines() if log and log.exists() else []

    async def file(self, name: str, pod: str = "p") -> Path:
        """Return the path of a file in the volume ``v`` of a pod."""
        uid = (await self.pod(pod))["metadata"]["uid"]
        return self.node.pods[uid].folder / "volumes" / "v" / name

    async def prints(self, *lines: str, name: str = "p", container: str = "main") -> None:
        """Return when a container has written exactly these lines."""
        await self.eventually(
            lambda: self.output(name, container), lambda found: found == list(lines)
        )

    async def gone(self, name: str = "p", kind: Resource = Pod) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                try:
                    await self.client.get(kind, self.key(name))
                except NotFound:
                    return
                await asyncio.sleep(0.02)

    async def events(self, name: str = "p") -> list[JsonObject]:
        await self.node.services.events.flush()
        found = await self.client.list(CoreEvent, namespace=self.namespace)
        return [one for one in found.items if one["involvedObject"]["name"] == name]

    async def event(self, reason: str, part: str = "", name: str = "p") -> JsonObject:
        """Return an event with this reason and part of a message, as soon as there is one."""
        found = await self.eventually(
            lambda: self.events(name),
            lambda events: any(_is(one, reason, part) for one in events),
        )
        return next(one for one in found if _is(one, reason, part))

    @staticmethod
    async def eventually(read: Callable[[], Awaitable[T]], holds: Callable[[T], bool]) -> T:
        """Return what is read as soon as something holds of it."""
        found = await read()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not holds(found):
                    await asyncio.sleep(0.02)
                    found = await read()
        except TimeoutError:
            raise AssertionError(f"it never held; at last: {found}") from None
        return found


def _is(event: JsonObject, reason: str, part: str) -> bool:
    return event["reason"] == reason and part in event["message"]


def is_ready(pod: JsonObject) -> bool:
    return condition(pod, "Ready").get("status") == "True"


def condition(pod: JsonObject, type_: str) -> JsonObject:
    conditions = pod["status"].get("conditions") or []
    return next((one for one in conditions if one["type"] == type_), {})


def state(pod: JsonObject, container: str = "main") -> JsonObject:
    return status_of(pod, container).get("state") or {}


def last_state(pod: JsonObject, container: str = "main") -> JsonObject:
    return status_of(pod, container).get("lastState") or {}


def status_of(pod: JsonObject, container: str = "main") -> JsonObject:
    status = pod["status"]
    every = [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]
    return next((one for one in every if one["name"] == container), {})


def waits_for(reason: str, container: str = "main") -> Callable[[JsonObject], bool]:
    return lambda pod: (state(pod, container).get("waiting") or {}).get("reason") == reason


@asynccontextmanager
async def embedded_rig(settings: NodeSettings = QUICK) -> AsyncIterator[PodRig]:
    """Give a node on an embedded server of its own."""
    server = ApiServer(kinds=_kinds(), namespace_defaults=True)
    client = Client(server.transport(), field_manager="test")
    async with _rig(client, settings) as rig:
        yield rig


@asynccontextmanager
async def real_rig(kubeconfig: Path, settings: NodeSettings = QUICK) -> AsyncIterator[PodRig]:
    """Give a node for a namespace of its own on the real server."""
    async with connect(kubeconfig=kubeconfig) as client, _rig(client, settings) as rig:
        yield rig


@asynccontextmanager
async def _rig(client: Client, settings: NodeSettings) -> AsyncIterator[PodRig]:
    name = f"pods-{uuid.uuid4().hex[:8]}"
    await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    async with local_node(client, name=name, namespace=name, settings=settings) as node:
        rig = PodRig(client, name, node)
        yield rig
        await rig.clear()
    await client.delete(Resource("", "v1", "Node", "nodes", namespaced=False), Key("", name))
    await client.delete(Namespace, Key("", name))
