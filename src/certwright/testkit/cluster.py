"""A cluster as a test sees it: the same words for the embedded server and the real one.

What the test does goes through `Cluster.client`; what the controllers do is counted apart.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import cache
from types import TracebackType
from typing import Any, Self, TypeVar, overload

import msgspec
import orjson

from certwright.client import Client, Selection, Transport, until_served
from certwright.clock import SYSTEM, Clock
from certwright.kube import (
    MERGE_PATCH,
    GroupVersionKind,
    JsonObject,
    Key,
    NotFound,
    Object,
    Resource,
    crd_manifest,
    rawjson,
    resource_of,
)
from certwright.runtime import Declared, Metrics, Operator
from certwright.runtime.queue.backoff import Rng
from certwright.testkit.calls import CallLog, Calls, CountingTransport
from certwright.testkit.faults.process import ControllerProcess

T = TypeVar("T", bound=Object)
C = TypeVar("C")


POLL_SECONDS = 0.02
"""How often a cluster in real time is asked whether it rests."""
PATIENCE_SECONDS = 60.0
"""How long others may take for what they do on their own."""
GARBAGE_SECONDS = 100.0
"""How long an object may outlive its owner: of new kinds the garbage collector of Kubernetes
learns every half minute."""


class DidNotSettle(AssertionError):
    """The controllers did not come to rest in time; the message says what still moves."""


class Cluster(ABC):
    """One API server and the controllers that run against it, for the time of one test.

    Names without a namespace mean `namespace`. Leaving the context stops the controllers.
    """

    client: Client
    """The test's own client, as administrator."""
    namespace: str
    """Where objects go that do not say where."""
    clock: Clock

    def __init__(self, rng: Rng | None = None, metrics: Metrics | None = None) -> None:
        self._rng = rng
        self._metrics = metrics
        self._log = CallLog([])
        self._processes: list[ControllerProcess] = []
        self._installed: set[type[Object]] = set()
        self._defined: set[str] = set()
        self._stack = AsyncExitStack()
        self._tasks = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._tasks)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()
        await self._stack.aclose()

    async def enter(self, context: AbstractAsyncContextManager[C]) -> C:
        """Keep a context open until the cluster ends; return what it gives."""
        return await self._stack.enter_async_context(context)

    # Objects

    @overload
    async def create(self, obj: T) -> T: ...
    @overload
    async def create(self, obj: JsonObject) -> JsonObject: ...
    async def create(self, obj: Any) -> Any:
        """Create an object; the CRD of a kind declared in Python is installed when missing."""
        return await self.client.create(await self._placed(obj))

    @overload
    async def apply(self, obj: T, *, field_manager: str = "test") -> T: ...
    @overload
    async def apply(self, obj: JsonObject, *, field_manager: str = "test") -> JsonObject: ...
    async def apply(self, obj: Any, *, field_manager: str = "test") -> Any:
        """Apply an object as a manager of its own, by force."""
        return await self.client.apply(await self._placed(obj), field_manager=field_manager)

    @overload
    async def get(self, kind: type[T], name: str) -> T: ...
    @overload
    async def get(self, kind: Resource, name: str) -> JsonObject: ...
    async def get(self, kind: Any, name: str) -> Any:
        """Read an object; *name* may be ``namespace/name``."""
        return await self.client.get(kind, self.key(kind, name))

    @overload
    async def find(self, kind: type[T], name: str) -> T | None: ...
    @overload
    async def find(self, kind: Resource, name: str) -> JsonObject | None: ...
    async def find(self, kind: Any, name: str) -> Any:
        """Read an object, or return None when there is none."""
        try:
            return await self.get(kind, name)
        except NotFound:
            return None

    async def gone(self, kind: type[Object] | Resource, name: str) -> None:
        """Return when an object is gone; `TimeoutError` if not within `GARBAGE_SECONDS`."""
        resource = resource_of(kind)
        try:
            async with asyncio.timeout(GARBAGE_SECONDS):
                while await self.find(resource, name) is not None:
                    await asyncio.sleep(0.05)
        except TimeoutError:
            late = f"{resource.kind} {self.key(resource, name)} was still there"
            raise TimeoutError(f"{late} after {GARBAGE_SECONDS:g} s") from None

    async def patch(
        self,
        kind: type[Object] | Resource,
        name: str,
        patch: JsonObject | Sequence[JsonObject],
        *,
        type: str = MERGE_PATCH,  # noqa: A002 - what kubectl calls it
        subresource: str = "",
    ) -> JsonObject:
        """Change an object; return it as it was right after."""
        resource = resource_of(kind)
        key = self.key(kind, name)
        return await self.client.patch(resource, key, patch, type=type, subresource=subresource)

    async def delete(self, kind: type[Object] | Resource, name: str) -> None:
        """Delete an object."""
        await self.client.delete(kind, self.key(kind, name))

    @overload
    async def list(self, kind: type[T], *, labels: str = "") -> Sequence[T]: ...
    @overload
    async def list(self, kind: Resource, *, labels: str = "") -> Sequence[JsonObject]: ...
    async def list(self, kind: Any, *, labels: str = "") -> Any:
        """Read all objects of a kind in `namespace`, or in the cluster for cluster-wide kinds."""
        namespace = self.namespace if resource_of(kind).namespaced else ""
        return (await self.client.list(kind, namespace, labels=labels)).items

    async def names(self, kind: type[Object] | Resource, *, labels: str = "") -> set[str]:
        """Return the names of all objects of a kind."""
        found = await self.list(resource_of(kind), labels=labels)
        return {obj["metadata"]["name"] for obj in found}

    async def install(self, *manifests: JsonObject) -> None:
        """Create cluster-wide objects such as CRDs; return when the kinds they add are served.

        A CRD that the test installs stands for that of the kind declared in Python.
        """
        self._note_definitions(manifests)
        for manifest in manifests:
            await self.client.apply(manifest, field_manager="test")
        await self._until_served(manifests)

    async def provide(self, *manifests: JsonObject) -> None:
        """Install definitions that further tests need as well: on a shared server they stay."""
        await self.install(*manifests)

    async def _until_served(self, manifests: Iterable[JsonObject]) -> None:
        for manifest in manifests:
            if manifest["kind"] == "CustomResourceDefinition":
                await until_served(self.client, manifest)

    async def serve(self, *kinds: type[Object]) -> None:
        """Install the CRDs of kinds declared in Python, unless that was done already."""
        await self._install_declared(*kinds)

    def key(self, kind: type[Object] | Resource, name: str) -> Key:
        """Return where an object lives whose name was given with or without namespace."""
        key = Key.parse(name)
        if resource_of(kind).namespaced and not key.namespace:
            return Key(self.namespace, key.name)
        return key

    # Controllers

    @property
    def calls(self) -> Calls:
        """Everything the controllers asked of the server so far."""
        return self._log.all()

    async def settle(self, *controllers: Declared) -> Calls:
        """Run controllers until they rest; return what they asked since they last rested.

        Controllers that run already go on running, others are started, after the CRDs of the kinds
        they declare. At rest means: nothing queued, no reconcile running, and every store holds
        what the server holds. Keys that wait for a time of their own (`again`) do not count. Raises
        `DidNotSettle` if they do not come to rest.
        """
        running = [one for process in self._processes for one in process.controllers]
        if new := [one for one in controllers if not any(one is other for other in running)]:
            await self._install_declared(*(kind for one in new for kind in _kinds(one)))
            self._start(new)
        await self._rest()
        calls = self._log.since_mark()
        self._log.mark()
        return calls

    async def restart(self, *controllers: Declared) -> Calls:
        """Stop all controllers, start these (or the same) with cold caches, and settle."""
        again = [one for process in self._processes for one in process.controllers]
        await self.stop()
        self._log.mark()
        return await self.settle(*(controllers or again))

    async def scrape(self) -> str:
        """Return the metrics of the controllers, as Prometheus would read them now."""
        texts = [await process.exposition() for process in self._processes]
        return b"".join(texts).decode()

    async def stop(self) -> None:
        """Stop all controllers, as SIGTERM would, and wait until they have ended."""
        processes, self._processes = self._processes, []
        for process in processes:
            await process.stop()

    def _start(self, controllers: Sequence[Declared]) -> None:
        process = ControllerProcess(
            controllers, self._connect, self.clock, self._rng, self._metrics
        )
        self._processes.append(process)
        self._tasks.create_task(process.run())

    def _connect(self) -> tuple[Transport, asyncio.Event]:
        """Return the connection of a process that starts, and the event that kills it."""
        return CountingTransport(self._transport(), self._log), asyncio.Event()

    @abstractmethod
    def _transport(self) -> Transport:
        """Return the way to the server."""

    @abstractmethod
    async def _rest(self) -> None:
        """Wait until all controllers rest."""

    async def _rest_in_real_time(self) -> None:
        """Wait until all controllers rest, by asking again and again."""
        deadline = SYSTEM.monotonic() + PATIENCE_SECONDS
        while restless := await self._restless():
            if SYSTEM.monotonic() > deadline:
                raise DidNotSettle("; ".join(restless))
            await asyncio.sleep(POLL_SECONDS)

    async def _is_resting(self) -> bool:
        """Return whether all controllers rest, without saying what still moves."""
        for process in self._processes:
            if not await process.is_resting(self._held):
                return False
        return True

    async def _restless(self) -> Sequence[str]:
        """Return what still moves, in words; nothing when all controllers rest."""
        return [why for process in self._processes for why in await process.restless(self._held)]

    async def _held(self, kind: Resource, selection: Selection) -> Iterable[JsonObject]:
        """Return the objects the server holds."""
        pages = self.client.pages(kind, selection)
        raws = [rawjson.shallow(bytes(item)) async for page in pages for item in page.items]
        # Of what is too deep to be read, controllers know no more than who it is.
        return [orjson.loads(rawjson.identity(r) if rawjson.is_deep(r) else r) for r in raws]

    async def _placed(self, obj: T | JsonObject) -> T | JsonObject:
        """Return the object with `namespace` filled in where its kind needs one."""
        if isinstance(obj, Object):
            await self._install_declared(type(obj))
            if obj.metadata.namespace or not obj.resource.namespaced:
                return obj
            metadata = msgspec.structs.replace(obj.metadata, namespace=self.namespace)
            return msgspec.structs.replace(obj, metadata=metadata)
        gvk = GroupVersionKind.parse(obj["apiVersion"], obj["kind"])
        resource = await self.client.discovery.resource_for(gvk)
        named: JsonObject = obj.get("metadata") or {}
        if named.get("namespace") or not resource.namespaced:
            return obj
        return {**obj, "metadata": {**named, "namespace": self.namespace}}

    async def _install_declared(self, *kinds: type[Object] | Resource) -> None:
        """Install the CRDs of kinds declared with `custom_resource` when first used."""
        missing: list[type[Object]] = []
        for kind in kinds:
            if isinstance(kind, Resource) or not hasattr(kind, "definition"):
                continue
            name = f"{kind.resource.plural}.{kind.resource.group}"
            if kind not in self._installed and name not in self._defined:
                self._installed.add(kind)
                missing.append(kind)
        if missing:
            await self.provide(*map(self._definition, missing))

    def _note_definitions(self, manifests: Sequence[JsonObject]) -> None:
        definitions = (m for m in manifests if m["kind"] == "CustomResourceDefinition")
        self._defined.update(definition["metadata"]["name"] for definition in definitions)

    def _definition(self, kind: type[Object]) -> JsonObject:
        """Return the CRD of a kind declared with `custom_resource`."""
        return _manifest(kind)


@cache
def _manifest(kind: type[Object]) -> JsonObject:
    """Return the CRD of a kind; thousands of simulated runs install the same."""
    return crd_manifest(kind)


def _kinds(declared: Declared) -> Sequence[type[Object] | Resource]:
    if isinstance(declared, Operator):
        return declared.kinds
    return [watched.kind for watched in declared.watched]
