"""The real half of `Cluster`: a namespace of its own on a real control plane."""

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Self, TypeVar

import orjson

from certwright.client import Client, Request, Response, Stream, Transport, TransportError, connect
from certwright.clock import SYSTEM
from certwright.kube import ApiError, JsonObject, Key, NotFound, Object, Resource
from certwright.kube.kinds import (
    ConfigMap,
    CustomResourceDefinition,
    Namespace,
    ServiceAccount,
)
from certwright.testkit.certmanager import CertManager, cert_manager, official_definitions
from certwright.testkit.cluster import PATIENCE_SECONDS, POLL_SECONDS, Cluster
from certwright.testkit.controlplane import ControlPlaneError, control_plane

T = TypeVar("T")

PROVIDED = "testkit.certwright.dev/provided"
"""The annotation of definitions that stay for other tests: a digest of what was installed."""
FURNITURE = ((ServiceAccount, "default"), (ConfigMap, "kube-root-ca.crt"))
"""What the controllers of Kubernetes put into every namespace, some time after it was made."""


class RealCluster(Cluster):
    """A namespace on the server of a kubeconfig; what the test creates goes when it ends."""

    clock = SYSTEM

    def __init__(self, kubeconfig: Path) -> None:
        super().__init__()
        self._kubeconfig = kubeconfig

    async def __aenter__(self) -> Self:
        connected = await self._stack.enter_async_context(connect(kubeconfig=self._kubeconfig))
        self._unnoted = connected
        self._creations = CreationLog(connected.transport)
        self.client = Client(self._creations, field_manager="test")
        made = await connected.create(
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"generateName": "certwright-test-"},
            }
        )
        self.namespace = made["metadata"]["name"]
        self._stack.push_async_callback(self._clean_up)
        for kind, name in FURNITURE:  # or a test would meet it at any moment
            await self._furnished(kind, Key(self.namespace, name))
        return await super().__aenter__()

    async def provide(self, *manifests: JsonObject) -> None:
        """Install definitions as `install` does, and leave them to the tests after this one.

        To serve a kind and to end it takes longer than most tests; and of kinds that come and go
        the garbage collector of Kubernetes learns late. What an earlier test left in another form
        is removed first: a server goes on with the old one for a moment.
        """
        self._note_definitions(manifests)
        for manifest in manifests:
            digest = blake2b(orjson.dumps(manifest), digest_size=16).hexdigest()
            key = Key("", manifest["metadata"]["name"])
            left = await self.find(CustomResourceDefinition, key.name)
            known = ((left or {}).get("metadata", {}).get("annotations") or {}).get(PROVIDED)
            if known == digest:
                continue
            if known is not None:
                await self._remove(CustomResourceDefinition, key)
            annotations = {**manifest["metadata"].get("annotations", {}), PROVIDED: digest}
            metadata = {**manifest["metadata"], "annotations": annotations}
            await self._unnoted.apply({**manifest, "metadata": metadata}, field_manager="test")
        await self._until_served(manifests)

    def _transport(self) -> Transport:
        return self._creations

    def _definition(self, kind: type[Object]) -> JsonObject:
        """Return the definition of a kind; cert-manager's own are those it publishes."""
        resource = kind.resource
        if resource.group != "cert-manager.io":
            return super()._definition(kind)
        name = f"{resource.plural}.{resource.group}"
        return next(one for one in official_definitions() if one["metadata"]["name"] == name)

    async def _furnished(self, kind: Resource, key: Key) -> None:
        deadline = SYSTEM.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                await self.client.get(kind, key)
            except NotFound:
                if SYSTEM.monotonic() > deadline:
                    raise ControlPlaneError(
                        f"there is no {kind.kind} {key} after {PATIENCE_SECONDS:g} s: is the"
                        " controller manager running?"
                    ) from None
                await asyncio.sleep(POLL_SECONDS)
            else:
                return

    async def _rest(self) -> None:
        await self._rest_in_real_time()

    async def _clean_up(self) -> None:
        """Delete what was created, newest first: instances go before their definitions."""
        for resource, key in reversed(self._creations.created):
            await self._remove(resource, key)
        await self._remove(Namespace, Key("", self.namespace), wait=False)

    async def _remove(self, resource: Resource, key: Key, *, wait: bool = True) -> None:
        """Delete an object and, since no controller is left to remove its finalizers, those too."""
        try:
            left = await self.client.delete(resource, key)
            if wait and left.get("kind") == resource.kind and left["metadata"].get("finalizers"):
                if resource.kind == "CustomResourceDefinition":
                    await self._gone(resource, key)  # the server's own finalizer
                else:
                    await self.client.patch(resource, key, {"metadata": {"finalizers": None}})
        except NotFound:
            pass

    async def _gone(self, resource: Resource, key: Key) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                await self.client.get(resource, key)  # NotFound ends it
                await asyncio.sleep(POLL_SECONDS)


class CreationLog:
    """A transport that remembers which objects came into being through it."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.created: list[tuple[Resource, Key]] = []

    async def send(self, request: Request) -> Response:
        """Pass a request on; note what it created."""
        response = await self._inner.send(request)
        resource = request.resource
        if response.status == 201 and resource is not None and not request.subresource:
            metadata = orjson.loads(response.body).get("metadata") or {}
            if name := metadata.get("name"):
                self.created.append((resource, Key(metadata.get("namespace", ""), name)))
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """Pass a watch on."""
        return self._inner.stream(request)

    async def close(self) -> None:
        """Do nothing: the connection belongs to its opener."""


@contextmanager
def shared(open_: Callable[[], AbstractAsyncContextManager[T]]) -> Iterator[T]:
    """Run an async context in a thread of its own, so that tests with many loops can share it."""
    started: queue.SimpleQueue[T | Exception] = queue.SimpleQueue()
    stop: list[Callable[[], object]] = []

    async def serve() -> None:
        ended = asyncio.Event()
        stop.append(partial(asyncio.get_running_loop().call_soon_threadsafe, ended.set))
        async with open_() as opened:
            started.put(opened)
            await ended.wait()

    def main() -> None:
        try:
            asyncio.run(serve())
        except (ControlPlaneError, ApiError, TransportError, OSError) as error:
            started.put(error)

    thread = threading.Thread(target=main, name="shared")
    thread.start()
    try:
        outcome = started.get()
        if isinstance(outcome, Exception):
            raise outcome
        yield outcome
    finally:
        for end in stop:
            end()
        thread.join()


@asynccontextmanager
async def control_plane_with_cert_manager() -> AsyncIterator[CertManager]:
    """Run a control plane of its own with cert-manager on it."""
    async with control_plane() as plane, cert_manager(plane) as installed:
        yield installed
