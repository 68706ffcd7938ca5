"""One simulated process: a manager with its own connection, which may die and start anew."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias

import orjson

from certwright.client import Client, Selection, Transport
from certwright.clock import Clock
from certwright.kube import Forbidden, JsonObject, NotFound, Resource, key_of
from certwright.runtime import Declared, Manager, Metrics
from certwright.runtime.cache.cache import Informer
from certwright.runtime.queue.backoff import Rng

Witness: TypeAlias = Callable[[Resource, Selection], Awaitable[Iterable[JsonObject]]]
"""Tells which objects a server holds. They are not to be changed."""

RESTART_SECONDS = 1.0
"""How long a crashed process takes to come back."""


class ControllerProcess:
    """Runs controllers the way a pod does: when it crashes it is started again.

    *connect* is called at every start. It returns the transport of the new process and an
    event that, once set, kills it: the manager is cancelled, and as its transport is dead by
    then, nothing is left of it but what it wrote before. *rng* is its only source of chance.
    It counts in *metrics*, or each time anew.
    """

    def __init__(
        self,
        controllers: Sequence[Declared],
        connect: Callable[[], tuple[Transport, asyncio.Event]],
        clock: Clock,
        rng: Rng | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self.controllers = tuple(controllers)
        self.crashes = 0
        self._connect = connect
        self._clock = clock
        self._rng = rng
        self._metrics = metrics
        self._manager: Manager | None = None
        self._stopping = asyncio.Event()
        self._ended = asyncio.Event()

    async def run(self) -> None:
        """Run until stopped, over any number of crashes."""
        try:
            while await self._crashed():
                self.crashes += 1
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(RESTART_SECONDS):
                        await self._stopping.wait()
        finally:
            self._ended.set()

    async def stop(self) -> None:
        """Stop gracefully and return when all has ended."""
        self._stopping.set()
        await self._ended.wait()

    async def _crashed(self) -> bool:
        """Run one life of the process; return whether a crash ended it."""
        if self._stopping.is_set():
            return False
        transport, died = self._connect()
        client = Client(transport, clock=self._clock)
        self._manager = Manager(
            client, self.controllers, clock=self._clock, metrics=self._metrics, rng=self._rng
        )
        try:
            async with asyncio.TaskGroup() as group:
                life = group.create_task(self._manager.run(), name="manager")
                ends = [
                    group.create_task(died.wait(), name="crash"),
                    group.create_task(self._stopping.wait(), name="stop"),
                ]
                await asyncio.wait([life, *ends], return_when=asyncio.FIRST_COMPLETED)
                if died.is_set():
                    life.cancel()
                else:
                    self._manager.stop()
                await asyncio.wait([life])
                for end in ends:
                    end.cancel()
        finally:
            self._manager = None
        return died.is_set()

    async def exposition(self) -> bytes:
        """Return its metrics in Prometheus' text format; nothing while it is not running."""
        return b"" if self._manager is None else await self._manager.exposition()

    async def is_resting(self, witness: Witness) -> bool:
        """Return whether nothing moves, without the words of `restless` for what does."""
        manager = self._manager
        if manager is None or not manager.idle():
            return False
        return not await self.restless(witness)

    async def restless(self, witness: Witness) -> list[str]:
        """Return what still moves, in words. *witness* sees the server as it is.

        How far clusters other than the manager's are is not known.
        """
        manager = self._manager
        if manager is None:
            return ["the process is being started"]
        if moving := _moving(manager):
            return moving
        informers = [informer for informer in manager.informers if not informer.view.cluster]
        behind = [line for informer in informers for line in await _behind(informer, witness)]
        return behind or _moving(manager)


def _moving(manager: Manager) -> list[str]:
    """Return what the manager has still to do; keys that wait for their own time do not count."""
    found = [
        f"{workers.controller.name} retries {key}, which failed {failures} time(s)"
        for workers in manager.workers
        for key, failures in workers.queue.retrying.items()
    ]
    if not manager.idle():
        found += [
            f"the store of {informer.view} is not complete: "
            f"{informer.watch.last_error or 'it lists'}"
            for informer in manager.informers
            if not informer.store.synced
        ]
        found += [
            f"{workers.controller.name} has {len(workers.queue)} key(s) queued "
            f"and works on {', '.join(map(str, workers.queue.working)) or 'none'}"
            for workers in manager.workers
        ]
        pending = sum(informer.store.pending for informer in manager.informers)
        found.append(f"{pending} own write(s) have not come back as events")
    return found


async def _behind(informer: Informer, witness: Witness) -> list[str]:
    """Return which objects a store does not hold as the server does."""
    view = informer.view
    try:
        held = await witness(view.resource, view.selection)
    except (NotFound, Forbidden):
        return []  # the kind is not there, or not for this process: nothing to catch up with
    stored = {(e.uid, e.meta.resource_version) for e in informer.store.items()}
    actual = {
        (obj["metadata"]["uid"], obj["metadata"]["resourceVersion"])
        for obj in held
        if _is_wanted(informer, obj)
    }
    if stored == actual:
        return []
    return [f"the store of {view} lacks {len(actual - stored)} versions of {len(actual)} objects"]


def _is_wanted(informer: Informer, obj: JsonObject) -> bool:
    """Return whether a store holds an object, or would take it in."""
    keep = informer.view.keep
    if keep is None or key_of(obj) in informer.store:
        return True
    if informer.store.has_refused(key_of(obj)):
        return False  # refused when it came, and taken in when it is asked for
    return keep(informer.store.decoder.entry(orjson.dumps(obj)))
