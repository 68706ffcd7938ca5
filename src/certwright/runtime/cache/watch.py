"""Keeping one store current: list, watch, and every way both can fail.

A `Watch` never gives up and never raises, whatever a server or network does or an object holds;
what it does instead is its `state`, which probes and metrics show.

Versions: a list asks for the most recent state, never for "any"; a watch goes on from the
last version seen; a list that comes back older than what was seen means that the server's
history was restored from a backup, and replaces everything. After silence the server is asked
how far it is, because a watch from a version it has not reached is not refused but silent.
"""

import asyncio
from collections.abc import Awaitable
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import replace
from types import TracebackType
from typing import Self, TypeVar

import structlog

from certwright.client import Client, ConnectFailed, Selection, TransportError, WatchOptions
from certwright.kube.errors import ApiError, Unauthorized
from certwright.runtime.cache.decode import BrokenJson, UnnamedObject
from certwright.runtime.cache.entries import Entry, Table, version_number
from certwright.runtime.cache.events import Bookmark, ObjectEvent, read_event
from certwright.runtime.cache.state import (
    FAILURES,
    ListCutShort,
    NotStreamed,
    Stalled,
    WatchCrashed,
    WatchFailure,
    WatchState,
    WatchStatus,
    obstacle,
    remedy_for,
    was_healthy,
)
from certwright.runtime.cache.store import Store
from certwright.runtime.queue.backoff import Backoff, spread

STALL_SECONDS = 75.0
"""Servers send a bookmark about every minute; longer silence is a dead connection."""
RENEWAL_SECONDS = (300.0, 600.0)
"""When we ask the server to end a watch: spread, so that not all are renewed at once."""
UNREACHED_SECONDS = 5.0
"""The longest pause while nothing reaches the server: attempts cost it nothing, and when it is
back, all reconciles wait for the stores."""
TURN_BYTES = 400_000
"""How much is taken in before the rest of the event loop has a turn: about 2 ms."""
EVENT_BYTES = 2_000
"""What an event costs besides its length, in the same currency."""
CHANGES_PER_TURN = 200

_log = structlog.get_logger()
T = TypeVar("T")


class Watch:
    """Feeds one store from one selection of one kind, as long as `run` runs."""

    def __init__(
        self, client: Client, store: Store, selection: Selection, *, backoff: Backoff | None = None
    ) -> None:
        self.store = store
        self.selection = selection
        self.state = WatchState.INITIAL
        self.last_error = ""
        self._client = client
        self._backoff = backoff or Backoff(base_seconds=0.1, cap_seconds=30.0)
        cap = min(self._backoff.cap_seconds, UNREACHED_SECONDS)
        self._unreached = replace(self._backoff, cap_seconds=cap)
        self._version = ""  # where to go on; empty when a list is due
        self._highest = 0  # the highest version ever seen, lists or not
        self._in_doubt = False  # whether the server has reached that version at all
        self._pages_only = False
        self._staged: Table | None = None  # the list under way
        self._failures = 0
        self._heard: float | None = None
        self._watching_since: float | None = None
        self._synced = asyncio.Event()
        self._awaiting: dict[asyncio.Future[None], None] = {}  # a set that keeps its order
        self._poked = asyncio.Event()
        self._turn = 0
        self._lists = self._restores = self._skipped = 0

    def status(self) -> WatchStatus:
        """Return what is known about the watch now. Needs the running loop."""
        now = asyncio.get_running_loop().time()
        return WatchStatus(
            state=self.state,
            synced=self.store.synced,
            objects=len(self.store),
            resource_version=self._version,
            silent_seconds=None if self._heard is None else now - self._heard,
            last_error=self.last_error,
            failures=self._failures,
            lists=self._lists,
            restores=self._restores,
            skipped=self._skipped + self.store.decoder.unreadable,
            listener_errors=self.store.listener_errors,
        )

    def poke(self) -> None:
        """Try again now, if the watch waits: what it waited for may have appeared."""
        self._poked.set()

    def stop(self) -> None:
        """Note that the store has no user any more, and release those that wait for it."""
        self.state = WatchState.STOPPED
        self._synced.set()
        self._resolve()

    async def synced(self) -> None:
        """Return as soon as the store holds a complete list, or the watch was stopped."""
        await self._synced.wait()

    async def ready(self) -> None:
        """Return as soon as the store holds a complete list; raise when that is not to be expected.

        Raises:
            NotFound: the server does not serve the kind, or the watch was stopped.
            Forbidden: this user may not watch it.
            ConnectFailed: the server fails or cannot be reached, several times in a row.
        """
        if self.store.synced:
            return
        if (failure := self._obstacle()) is not None:
            raise failure
        waiter = asyncio.get_running_loop().create_future()
        self._awaiting[waiter] = None
        try:
            await waiter
        finally:
            del self._awaiting[waiter]

    def _obstacle(self) -> ApiError | TransportError | None:
        return obstacle(self.state, self.store.resource, self.last_error, self._failures)

    def _resolve(self) -> None:
        """Let those that await readiness go on, if it is decided."""
        for waiter in self._awaiting:
            if waiter.done():
                continue
            if self.store.synced:
                waiter.set_result(None)
            elif (failure := self._obstacle()) is not None:
                waiter.set_exception(failure)

    async def run(self) -> None:
        """Keep the store current until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            self._poked.clear()  # from here on a poke means: once more
            self._watching_since = None
            failure: WatchFailure | None = None
            try:
                await self._connect()
            except FAILURES as error:
                failure = error
            except Exception as error:  # noqa: BLE001 - no watch ends the others
                _log.error("watch failed", kind=str(self.store.resource), exc_info=error)
                failure = WatchCrashed(f"{type(error).__name__}; see the log")
            healthy = was_healthy(self._watching_since, self._heard, loop.time(), failure)
            if healthy:
                self._failures = 0
            if failure is not None or not healthy:
                self._failures += 1
            wait = 0.0 if failure is None else self._settle(failure)
            self._staged = None
            backoff = self._unreached if isinstance(failure, ConnectFailed) else self._backoff
            with suppress(TimeoutError):
                async with asyncio.timeout(max(wait, backoff.delay(max(1, self._failures)))):
                    await self._poked.wait()

    def _settle(self, failure: WatchFailure) -> float:
        """Take in what follows from a failure; return the seconds the server asked for."""
        resource = self.store.resource
        streaming = self._staged is not None
        remedy = remedy_for(failure, resource, streaming=streaming, failures=self._failures)
        if remedy.relist:
            self._version = ""
        self._in_doubt = self._in_doubt or remedy.verify
        self._pages_only = self._pages_only or remedy.use_pages
        if (remedy.state, remedy.message) != (self.state, self.last_error):
            human = remedy.state in {WatchState.MISSING, WatchState.FORBIDDEN}
            hopeless = isinstance(failure, TransportError | Unauthorized) and not self.store.synced
            log = _log.warning if human or hopeless else _log.info
            log("watch interrupted", kind=str(resource), state=remedy.state, error=remedy.message)
        self.state, self.last_error = remedy.state, remedy.message
        self._resolve()
        return remedy.wait_seconds

    async def _connect(self) -> None:
        """List if need be, then watch until the server ends the connection."""
        if self._in_doubt and self._version:
            await self._verify()
        if not self._version and self._pages_only:
            await self._list_pages()
        listing = not self._version
        self._staged = self.store.stage() if listing else None
        options = WatchOptions(
            resource_version=self._version,
            initial_events=listing,
            timeout_seconds=int(spread(*RENEWAL_SECONDS, self._backoff.rng)),
            metadata_only=self.store.decoder.metadata_only,
        )
        async with AsyncExitStack() as stack:
            watch = self._client.watch(self.store.resource, self.selection, options)
            lines = await _in_time(stack.enter_async_context(watch))
            self._enter(WatchState.STREAMING if listing else WatchState.WATCHING)
            async with _Patience() as patience:
                while (batch := await anext(lines, None)) is not None:
                    self._heard = patience.hear()
                    await self._take_batch(batch)
        if self._staged is not None:
            raise ListCutShort("the streaming list ended before it was complete")

    async def _verify(self) -> None:
        """Have the list be made anew if the server is not even where our version is."""
        pages = self._client.pages(self.store.resource, self.selection, limit=1, metadata_only=True)
        async with aclosing(pages):
            page = await _in_time(anext(pages))
        current = version_number(page.metadata.resource_version)
        if current is not None and current < self._highest:
            self._version = ""
        self._in_doubt = False

    def _enter(self, state: WatchState) -> None:
        self.state, self.last_error = state, ""
        self._hear()
        if state is WatchState.WATCHING:
            self._watching_since = self._heard

    def _hear(self) -> None:
        self._heard = asyncio.get_running_loop().time()

    async def _list_pages(self) -> None:
        staged = self.store.stage()
        version = ""
        pages = self._client.pages(
            self.store.resource, self.selection, metadata_only=self.store.decoder.metadata_only
        )
        while (page := await _in_time(anext(pages, None))) is not None:
            self._enter(WatchState.PAGING)
            for item in page.items:
                raw = bytes(item)
                try:
                    self.store.put_into(staged, self.store.decoder.entry(raw))
                except UnnamedObject as error:
                    self._skip(error)
                if self._ends_turn(raw):
                    await asyncio.sleep(0)
            version = page.metadata.resource_version
        await self._complete(staged, version)

    async def _take_batch(self, lines: list[bytes]) -> None:
        for line in lines:
            event: ObjectEvent | Bookmark | None = None
            try:
                event = read_event(line, self.store.decoder, self.store.get)
            except UnnamedObject as error:
                self._skip(error)
            if isinstance(event, ObjectEvent):
                if self._staged is None:
                    self._apply(event.entry, deleted=event.deleted)
                elif event.deleted:
                    self._staged.remove(event.entry.key)
                else:
                    self.store.put_into(self._staged, event.entry)
            elif event is not None:
                if self._staged is None:
                    self._advance(event.resource_version)
                    self.store.bookmark()
                elif event.ends_list:
                    await self._complete(self._staged, event.resource_version)
                    self._enter(WatchState.WATCHING)
                else:
                    raise NotStreamed("the server watches without streaming the list first")
            if self._ends_turn(line):
                await asyncio.sleep(0)
        if self._staged is None and self._version.isdecimal():
            self.store.reached(self._highest)

    def _apply(self, entry: Entry, *, deleted: bool) -> None:
        if deleted:
            self.store.delete(entry)
        else:
            self.store.upsert(entry)
        self._advance(entry.meta.resource_version)

    def _advance(self, version: str) -> None:
        """Move on to a version; a late or repeated event does not move back."""
        number = version_number(version)
        if number is None:
            self._version = version or self._version
        elif number > self._highest or not self._version.isdecimal():
            self._highest = number
            self._version = version

    async def _complete(self, staged: Table, version: str) -> None:
        """Put a complete list in place, call the listeners, and report the store as synced."""
        if not version:
            raise BrokenJson(f"the list of {self.store.resource.kind} has no resourceVersion")
        number = version_number(version)
        restored = number is not None and number < self._highest
        if restored:
            self._restores += 1
            _log.warning(
                "the server's history was restored to an earlier state; everything listed anew",
                kind=str(self.store.resource),
                seen=self._highest,
                listed=number,
            )
        changes = self.store.swap(staged, number, restored=restored)
        self._staged = None
        self._version = version
        self._highest = number or 0
        self._lists += 1
        self.store.reached(self._highest)
        for first in range(0, len(changes), CHANGES_PER_TURN):
            self.store.notify(changes[first : first + CHANGES_PER_TURN])
            await asyncio.sleep(0)
        self.store.synced = True
        self._synced.set()
        self._resolve()

    def _ends_turn(self, taken: bytes) -> bool:
        """Return whether enough was taken in for the rest of the loop to have its turn."""
        self._turn += len(taken) + EVENT_BYTES
        if self._turn < TURN_BYTES:
            return False
        self._turn = 0
        return True

    def _skip(self, error: UnnamedObject) -> None:
        self._skipped += 1
        _log.warning("object skipped", kind=str(self.store.resource), error=str(error))


async def _in_time(answer: Awaitable[T]) -> T:
    """Wait for something from the server, but not for ever."""
    try:
        async with asyncio.timeout(STALL_SECONDS):
            return await answer
    except TimeoutError:
        raise _stalled() from None


class _Patience:
    """A context that `Stalled` ends when `hear` was not called for too long.

    As `asyncio.timeout`, but a watch hears of thousands of events, each in time: one timer looks
    back at the last of them, instead of one for each.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._heard = self._loop.time()
        self._is_over = False

    def hear(self) -> float:
        """Note that the server sent something; return when."""
        self._heard = self._loop.time()
        return self._heard

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None, "a watch runs in a task"
        self._task = task
        self._cancelling = task.cancelling()
        self._timer = self._loop.call_at(self._heard + STALL_SECONDS, self._look_back)
        return self

    def _look_back(self) -> None:
        due = self._heard + STALL_SECONDS
        if due > self._loop.time():
            self._timer = self._loop.call_at(due, self._look_back)
        else:
            self._is_over = True
            self._task.cancel()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        # Unless another cancels the task as well
        ours = self._is_over and self._task.uncancel() <= self._cancelling
        if ours and kind is asyncio.CancelledError:
            raise _stalled() from None


def _stalled() -> Stalled:
    return Stalled(f"no bytes for {STALL_SECONDS:.0f} s; the connection is dead, opening another")
