"""A node of a cluster that runs pods as processes of this machine."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from certwright.client import Client, TransportError
from certwright.clock import SYSTEM
from certwright.kube import (
    AlreadyExists,
    ApiError,
    Conflict,
    JsonObject,
    Key,
    NotFound,
    format_time,
)
from certwright.kube.kinds import Node as NodeKind
from certwright.kube.kinds import Pod
from certwright.runtime import Cache, Entry
from certwright.testkit.node.events import PodEvent, PodEvents
from certwright.testkit.node.kubelet import KubeletServer, kubelet_endpoint
from certwright.testkit.node.logs import NodeLogs
from certwright.testkit.node.pod.environment import NODE_CAPACITY
from certwright.testkit.node.ports import LOOPBACK, PortTable
from certwright.testkit.node.process.images import DEFAULT_IMAGES, Program
from certwright.testkit.node.process.processes import local_processes
from certwright.testkit.node.scheduler import (
    binding,
    fits,
    is_to_bind,
    refusal_patch,
    refused,
    scheduled,
)
from certwright.testkit.node.services import ApiAddress, NodeServices, NodeSettings
from certwright.testkit.node.worker import PodWorker

HOST_IP: Final = "192.0.2.1"
"""The address of the node as pods see it: reserved for documentation, so it leads nowhere."""
_STRATEGIC: Final = "application/strategic-merge-patch+json"


class LocalNode:
    """A node that runs; made by `local_node`."""

    def __init__(
        self, services: NodeServices, labels: Mapping[str, str], group: asyncio.TaskGroup
    ) -> None:
        self.name = services.name
        self.services = services
        self.labels = {"kubernetes.io/hostname": services.name, "kubernetes.io/os": "linux"}
        self.labels |= labels
        self._group = group
        self._workers: dict[str, PodWorker] = {}
        self._binding: set[str] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._port = 0
        self.logs = NodeLogs(self._workers)

    @property
    def pods(self) -> Mapping[str, PodWorker]:
        """The pods that run here, by uid."""
        return self._workers

    def listen(self, port: int) -> None:
        """Have the API server told at which port of this machine the node's endpoint is."""
        self._port = port
        for host in (self.name, HOST_IP):
            self.services.ports.addresses[host, port] = (LOOPBACK, port)

    def keep_logs(self, folder: Path) -> None:
        """Copy the logs of all containers, one folder per pod and container."""
        for worker in self._workers.values():
            for log in worker.folder.glob("containers/*/*.log"):
                target = folder / f"{worker.key.namespace}.{worker.key.name}" / log.parent.name
                target.mkdir(parents=True, exist_ok=True)
                shutil.copy(log, target)

    async def start(self, namespace: str) -> None:
        """Register, and take pods of a namespace, or of all, from now on."""
        await self._register()
        cache = Cache(self.services.client)
        handle = cache.store(Pod, namespace=namespace)
        handle.listen(self._on_change)
        for work in (self.services.events.run(), cache.run()):
            self._tasks.append(self._group.create_task(work))
        await handle.synced()

    def stop(self) -> None:
        """Take no more pods and end those that run; their objects stay as they are."""
        for task in self._tasks:
            task.cancel()
        for worker in list(self._workers.values()):
            worker.remove()

    async def _register(self) -> None:
        """Create the Node, or bring its status up to date, and report it ready."""
        client = self.services.client
        node: JsonObject = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": self.labels},
        }
        with suppress(AlreadyExists):
            await client.create(node)
        now = format_time(self.services.clock.now())
        status = node_status(self.name, now, self._port)
        await client.patch(
            NodeKind, Key("", self.name), {"status": status}, subresource="status", type=_STRATEGIC
        )

    def _on_change(self, old: Entry | None, new: Entry | None) -> None:
        """Take a change of a pod from the watch: bind it, run it, tell its worker."""
        if new is None:
            if old is not None:
                self._removed(old.uid)
            return
        pod = new.obj()
        if old is not None and old.uid != new.uid:
            self._removed(old.uid)
        if is_to_bind(pod):
            self._bind(pod)
        elif pod["spec"].get("nodeName") == self.name:
            self._run(pod)

    def _removed(self, uid: str) -> None:
        self._binding.discard(uid)
        if worker := self._workers.get(uid):
            worker.remove()

    def _run(self, pod: JsonObject) -> None:
        uid = pod["metadata"]["uid"]
        self._binding.discard(uid)
        worker = self._workers.get(uid)
        if worker is not None:
            worker.update(pod)
        elif (pod.get("status") or {}).get("phase") not in {"Succeeded", "Failed"}:
            worker = self._workers[uid] = PodWorker(self.services, pod)
            self._group.create_task(self._attend(worker))

    async def _attend(self, worker: PodWorker) -> None:
        try:
            await worker.run()
        except Exception as error:  # noqa: BLE001 - one pod must not end the others
            message = f"Error syncing pod, skipping: {type(error).__name__}"
            self.services.events.record(worker.pod, PodEvent("Warning", "FailedSync", message))
        finally:
            self._workers.pop(worker.uid, None)

    def _bind(self, pod: JsonObject) -> None:
        uid = pod["metadata"]["uid"]
        if uid not in self._binding:
            self._binding.add(uid)
            self._group.create_task(self._bind_now(pod))

    async def _bind_now(self, pod: JsonObject) -> None:
        client, metadata = self.services.client, pod["metadata"]
        key = Key(metadata["namespace"], metadata["name"])
        try:
            if not fits(pod, self.labels):
                self.services.events.record(pod, refused())
                now = format_time(self.services.clock.now())
                await client.patch(
                    Pod, key, refusal_patch(now), subresource="status", type=_STRATEGIC
                )
                return
            await client.create_subresource(Pod, key, "binding", binding(pod, self.name))
            self.services.events.record(pod, scheduled(pod, self.name))
        except (NotFound, Conflict):
            return  # gone, or bound by another
        except (ApiError, TransportError):
            self._binding.discard(metadata["uid"])


def node_status(name: str, now: str, port: int = 0) -> JsonObject:
    """Return the status of a node that is ready for pods."""
    conditions = [
        {
            "type": type_,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        }
        for type_, status, reason, message in (
            ("MemoryPressure", "False", "KubeletHasSufficientMemory",
             "kubelet has sufficient memory available"),
            ("DiskPressure", "False", "KubeletHasNoDiskPressure",
             "kubelet has no disk pressure"),
            ("PIDPressure", "False", "KubeletHasSufficientPID",
             "kubelet has sufficient PID available"),
            ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
        )
    ]  # fmt: skip
    capacity = {**NODE_CAPACITY, "pods": "500"}
    addresses = [{"type": "InternalIP", "address": HOST_IP}, {"type": "Hostname", "address": name}]
    endpoint = {"daemonEndpoints": {"kubeletEndpoint": {"Port": port}}} if port else {}
    return {
        **endpoint,
        "conditions": conditions,
        "capacity": capacity,
        "allocatable": capacity,
        "addresses": addresses,
    }


@asynccontextmanager
async def local_node(  # noqa: PLR0913 - each keyword is one part of a node
    client: Client,
    *,
    name: str = "local",
    images: Mapping[str, Program] | None = None,
    labels: Mapping[str, str] | None = None,
    namespace: str = "",
    settings: NodeSettings = NodeSettings(),  # noqa: B008 - a value
    api: ApiAddress | None = None,
    addresses: dict[tuple[str, int], tuple[str, int]] | None = None,
    client_authority: bytes = b"",
) -> AsyncIterator[LocalNode]:
    """Run a node while the context is open; everything it started ends with it.

    *images* are added to those every node has. Pods are taken of one *namespace*, or of all.
    With *api*, programs get a kubeconfig with which
    they are the ServiceAccount of their pod. *addresses* is kept current with where the ports of
    pods are on this machine. With *client_authority*, an API server that has a certificate of it
    reads logs from the node.
    """
    known = {**DEFAULT_IMAGES, **(images or {})}
    stack = AsyncExitStack()  # closed without the caller's exception: a group would wrap it
    try:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="certwright-node-"))
        processes = await stack.enter_async_context(local_processes())
        group = await stack.enter_async_context(asyncio.TaskGroup())
        events = PodEvents(client, name, SYSTEM)
        services = NodeServices(
            name, HOST_IP, client, SYSTEM, settings, known, processes, events, PortTable(addresses),
            Path(folder), api,
        )  # fmt: skip
        node = LocalNode(services, labels or {}, group)
        stack.callback(node.stop)
        if client_authority:
            kubelet = KubeletServer(node.logs, node.pods.values())
            endpoint = kubelet_endpoint(kubelet, name, client_authority, SYSTEM.now())
            node.listen(await stack.enter_async_context(endpoint))
        await node.start(namespace)
        yield node
    finally:
        await stack.aclose()
