"""The embedded half of `Cluster`: a server in this process, and time that costs nothing."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from random import Random

from certwright.client import Client, Transport
from certwright.runtime import Controller, new_rng
from certwright.testkit.apiserver.server import ApiServer
from certwright.testkit.calls import Calls, CountingTransport
from certwright.testkit.cluster import Cluster, DidNotSettle
from certwright.testkit.interference import Interference
from certwright.testkit.virtualtime import VirtualLoop

PATIENCE = timedelta(hours=1)
"""How long controllers may take to come to rest: longer than any back-off."""


class EmbeddedCluster(Cluster):
    """A fresh embedded API server. Needs to be made inside a `VirtualLoop`.

    *controllers* are started by the first `settle`. With *interference*, it stands between
    the controllers and the server; the test's own client is spared.
    """

    def __init__(
        self,
        controllers: Sequence[Controller] = (),
        *,
        interference: Interference | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(new_rng(seed))
        loop = asyncio.get_running_loop()
        if not isinstance(loop, VirtualLoop):
            raise TypeError(
                "an embedded cluster needs virtual time: run the test on a VirtualLoop, "
                "as the fixtures of certwright's pytest plugin do"
            )
        self._loop = loop
        self._first = tuple(controllers)
        self._interference = interference
        self.clock = loop.clock
        self.namespace = "default"
        self.server = ApiServer(clock=loop.clock, rng=Random(seed))
        self.client = Client(self.server.transport(), clock=loop.clock, field_manager="test")

    async def settle(self, *controllers: Controller) -> Calls:
        """Run controllers until they rest, in no time but as much virtual time as they need."""
        first, self._first = self._first, ()
        return await super().settle(*first, *controllers)

    async def advance(self, *, hours: float = 0, minutes: float = 0, seconds: float = 0) -> Calls:
        """Let time pass while the controllers run, then settle."""
        await asyncio.sleep(
            timedelta(hours=hours, minutes=minutes, seconds=seconds).total_seconds()
        )
        return await self.settle()

    @property
    def crashes(self) -> int:
        """How often processes crashed so far."""
        return sum(process.crashes for process in self._processes)

    def _transport(self) -> Transport:
        return self.server.transport()

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
            restless = await self._restless()
            if not restless:
                return
            due = self._loop.next_timer()
            if due is None or due > deadline:
                raise DidNotSettle("; ".join(restless))
            await asyncio.sleep(due - self._loop.time())
