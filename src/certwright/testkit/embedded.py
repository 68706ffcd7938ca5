"""The embedded half of `Cluster`: a server in this process, and time that costs nothing."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import timedelta
from functools import cache
from random import Random

from certwright.apiserver.builtins import ServiceAllocator, served_kinds
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.server import ApiServer
from certwright.apiserver.webhooks.registered import RegisteredWebhooks
from certwright.client import Client, Request, Response, Selection, Stream, Transport
from certwright.kube import JsonObject, Resource
from certwright.kube.kinds import Service
from certwright.runtime import Declared, Metrics
from certwright.runtime.queue.backoff import new_rng
from certwright.testkit.calls import Calls, CountingTransport
from certwright.testkit.cluster import Cluster, DidNotSettle
from certwright.testkit.faults.interference import Interference
from certwright.testkit.time.virtual import VirtualLoop

BACKGROUND_SECONDS = 0.5
"""How far the server's own controllers are behind in a simulation."""

PATIENCE = timedelta(hours=1)
"""How long controllers may take to come to rest: longer than any back-off."""


@cache
def _shared_kinds() -> tuple[ServedKind, ...]:
    """Read the built-in kinds once: that takes longer than a whole run of a small scenario."""
    return tuple(served_kinds())


def built_in_kinds() -> tuple[ServedKind, ...]:
    """Return the built-in kinds of a new cluster, which counts the addresses of Services anew."""
    prepare = ServiceAllocator().prepare
    return tuple(
        replace(kind, prepare=prepare) if kind.resource == Service else kind
        for kind in _shared_kinds()
    )


class EmbeddedCluster(Cluster):
    """A fresh embedded API server. Needs to be made inside a `VirtualLoop`.

    *controllers* are started by the first `settle`. With *interference*, it stands between
    the controllers and the server, and the server's own controllers (garbage collection,
    namespaces) take their time; the test's own client is spared. Roles are enforced unless
    *rbac* is off; tests and controllers alike are administrators unless they act as another user.
    With *metrics*, the controllers count there instead of each process anew.
    """

    def __init__(
        self,
        controllers: Sequence[Declared] = (),
        *,
        interference: Interference | None = None,
        seed: int = 0,
        rbac: bool = True,
        metrics: Metrics | None = None,
    ) -> None:
        super().__init__(new_rng(seed), metrics)
        loop = asyncio.get_running_loop()
        if not isinstance(loop, VirtualLoop):
            raise TypeError(
                "an embedded cluster needs virtual time: run the test on a VirtualLoop, "
                "as the fixtures of certwright's pytest plugin do with asyncio_mode = auto"
            )
        self._loop = loop
        self._first = tuple(controllers)
        self._interference = interference
        self.clock = loop.clock
        self.namespace = "default"
        self.webhooks = RegisteredWebhooks(loop.clock)
        """The webhooks that can be called: functions of the test, registered by Service or URL."""
        self.server = ApiServer(
            clock=loop.clock,
            rng=Random(seed),
            kinds=built_in_kinds(),
            rbac=rbac,
            webhooks=self.webhooks,
        )
        self.server.background.paused = interference is not None
        self._background_timer: asyncio.TimerHandle | None = None
        self.client = Client(self._transport(), clock=loop.clock, field_manager="test")

    async def settle(self, *controllers: Declared) -> Calls:
        """Run controllers until they rest, in no time but as much virtual time as they need."""
        first, self._first = self._first, ()
        return await super().settle(*first, *controllers)

    async def advance(self, *, hours: float = 0, minutes: float = 0, seconds: float = 0) -> Calls:
        """Let time pass while the controllers run, then settle."""
        await asyncio.sleep(
            timedelta(hours=hours, minutes=minutes, seconds=seconds).total_seconds()
        )
        return await self.settle()

    async def install(self, *manifests: JsonObject) -> None:
        """Create cluster-wide objects such as CRDs; return when the kinds they add are served.

        Before any controller runs, definitions are in place at once: simulated clusters begin
        with the same ones by the thousand.
        """
        early = not self._processes and all(
            manifest["kind"] == "CustomResourceDefinition" for manifest in manifests
        )
        self._note_definitions(manifests)
        if early and self.server.define(manifests, "test"):
            self._run_background()
            self.client.discovery.invalidate()
        else:
            await super().install(*manifests)

    @property
    def crashes(self) -> int:
        """How often processes crashed so far."""
        return sum(process.crashes for process in self._processes)

    def _transport(self) -> Transport:
        return AfterSend(self.server.transport(), self._schedule_background)

    def _schedule_background(self) -> None:
        """Let the server's own controllers act a little after what calls for it."""
        idle = self.server.background.is_idle
        if not idle and self._background_timer is None:
            self._background_timer = self._loop.call_later(BACKGROUND_SECONDS, self._run_background)

    def _run_background(self) -> None:
        self._background_timer = None
        background = self.server.background
        paused, background.paused = background.paused, False
        background.run()
        background.paused = paused

    async def _held(self, kind: Resource, selection: Selection) -> Iterable[JsonObject]:
        """Return the objects the server holds, without asking it as clients do."""
        return self.server.held(kind, selection)

    def _connect(self) -> tuple[Transport, asyncio.Event]:
        counted = CountingTransport(self._transport(), self._log)
        if self._interference is None:
            return counted, asyncio.Event()
        transport = self._interference.attach(counted)
        return transport, transport.died

    async def _rest(self) -> None:
        deadline = self._loop.time() + PATIENCE.total_seconds()
        while True:
            await self._loop.idle()
            if self.server.background.is_idle and await self._is_resting():
                return
            due = self._loop.next_timer()
            if due is None or due > deadline:
                restless = list(await self._restless())
                if not self.server.background.is_idle:
                    restless.append("the server's own controllers have work to do")
                raise DidNotSettle("; ".join(restless))
            await asyncio.sleep(due - self._loop.time())


class AfterSend:
    """A transport that calls a function after every answer."""

    def __init__(self, inner: Transport, then: Callable[[], None]) -> None:
        self._inner = inner
        self._then = then

    async def send(self, request: Request) -> Response:
        """Pass a request on, then call the function."""
        response = await self._inner.send(request)
        self._then()
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """Pass a watch on."""
        return self._inner.stream(request)

    async def close(self) -> None:
        """Close the transport beneath."""
        await self._inner.close()
