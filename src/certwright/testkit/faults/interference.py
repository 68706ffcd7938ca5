"""Faults carried out, on the way between a client and its server.

`Interference` belongs to a run: it numbers requests and events, asks the plan, and notes
what happened in the trace. Every start of the simulated process gets a transport of its
own from `Interference.attach`; after a crash that transport lets nothing through any more,
whatever the dying process still tries on its way out.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import orjson
from msgspec import Struct, field
from msgspec.json import Decoder

from certwright.client import ConnectFailed, ConnectionLost
from certwright.client.transport import RefusedStream, Request, Response, Stream, Transport
from certwright.testkit.calls import is_write
from certwright.testkit.faults import faults
from certwright.testkit.faults.staleview import StaleView
from certwright.testkit.faults.trace import Trace
from certwright.testkit.faults.watches import DROPPED, HELD, FaultyStream, refusal

_SELECTORS = ("labelSelector", "fieldSelector")


class _Metadata(Struct, rename="camel"):
    namespace: str = ""
    name: str = ""
    resource_version: str = ""


class _Object(Struct):
    kind: str = ""
    metadata: _Metadata = field(default_factory=_Metadata)


class _Event(Struct):
    """As much of a watch event as is told of it."""

    type: str
    object: _Object


_EVENT = Decoder(_Event)


class Interference:
    """What goes wrong in one run, across restarts of the process."""

    def __init__(
        self,
        plan: faults.Plan,
        trace: Trace,
        jump_clock: Callable[[timedelta], None] = lambda _by: None,
    ) -> None:
        self.plan = plan
        self.trace = trace
        self.jump_clock = jump_clock
        self.meddle: Callable[[], Awaitable[None]] = _no_one
        """What another client does now and then."""
        self.requests = 0
        self.writes = 0
        self.announcements = 0
        """How many of the writes were Events, which tell and change nothing."""
        self.events = 0
        self.faults = 0
        self.event_faults = 0
        self.stale_restarts = 0
        self.seen_at_write: list[int] = []
        """How many versions the process had seen at each of its writes."""
        self.blind_writes: list[str] = []
        """Replacements and deletions by a process that was shown an old state, if without
        preconditions: nothing but luck kept them from destroying what it could not see."""
        self.revisions: list[str] = []
        """The resourceVersions the process saw, in order: its first list, then events."""
        self._view: StaleView | None = None
        self._missing: dict[tuple[str, str], float] = {}
        self._processes = 0

    def attach(self, inner: Transport) -> "FaultyTransport":
        """Return the transport of a process that starts now."""
        view, self._view = self._view, None
        self._processes += 1
        return FaultyTransport(inner, self, view, self._processes)

    async def travel(self) -> None:
        """Let a request, an answer or an event be on its way for as long as the plan says."""
        await asyncio.sleep(self.plan.latency())

    def note(self, line: str) -> None:
        """Add a line to the trace, with the time."""
        self.trace.note(f"{asyncio.get_running_loop().time():10.3f} {line}")

    def on_request(self, request: Request) -> faults.RequestFault | None:
        """Number a request and ask the plan about it."""
        self.requests += 1
        write = 0
        if is_write(request):
            self.writes += 1
            self.announcements += request.resource is not None and request.resource.kind == "Event"
            write = self.writes
            self.seen_at_write.append(len(self.revisions))
        fault = self.plan.on_request(request, self.requests, write)
        if fault is not None:
            self.faults += 1
            self.note(f"{fault} at request {self.requests}, write {write}: {_brief(request)}")
        return fault

    def on_event(self, line: bytes) -> faults.EventFault | None:
        """Number an event and ask the plan about it."""
        self.events += 1
        event = _EVENT.decode(line)
        metadata = event.object.metadata
        fault = self.plan.on_event(self.events)
        self.event_faults += fault is not None
        self.note(
            f"event {self.events} {event.type} {event.object.kind} "
            f"{metadata.namespace}/{metadata.name} "
            f"at {metadata.resource_version}{f': {fault}' if fault else ''}"
        )
        self.revisions.append(metadata.resource_version)
        return fault

    def miss(self, place: str, why: str, heal_seconds: float) -> None:
        """Note that the watch of a *place* lacks an event until it is told to list anew.

        Belongs to the run and not to the watch: one that reconnects lacks it all the same.
        """
        due = asyncio.get_running_loop().time() + heal_seconds
        self._missing[place, why] = min(self._missing.get((place, why), due), due)

    def found(self, place: str, *whys: str) -> None:
        """Note that nothing is lacking any more."""
        for why in whys:
            self._missing.pop((place, why), None)

    def heals_at(self, place: str) -> float | None:
        """Return when the watch of a *place* must list anew; None if it lacks nothing."""
        if not self._missing:
            return None
        due = (self._missing.get((place, why)) for why in (DROPPED, HELD))
        return min((when for when in due if when is not None), default=None)

    def check_guarded(self, request: Request) -> None:
        """Note a write that, decided on an old state, would have hit a newer object as well."""
        if is_write(request) and not is_guarded(request):
            self.blind_writes.append(f"{_brief(request)}, on an old state and unconditionally")

    def go_back(self, behind: int, hold_seconds: float) -> None:
        """Show the next process an old state."""
        if behind and self.revisions:
            revision = self.revisions[max(0, len(self.revisions) - behind)]
            until = asyncio.get_running_loop().time() + hold_seconds
            self._view = StaleView(revision, until)
            self.stale_restarts += 1
            self.note(f"the next process sees revision {revision} for {hold_seconds:.1f} s")


async def _no_one() -> None:
    """Do nothing: the scenario has no other client."""


class FaultyTransport:
    """The transport of one process. `died` is set when a fault has killed the process."""

    def __init__(
        self, inner: Transport, run: Interference, view: StaleView | None, number: int
    ) -> None:
        self._inner = inner
        self._number = number
        self._run = run
        self._view = view
        self.died = asyncio.Event()

    async def send(self, request: Request) -> Response:
        """Carry a request, or what the plan leaves of it."""
        fault = await self._before(request)
        if isinstance(fault, faults.Refuse):
            return refusal(fault)
        if self._view is not None and self._view.may_answer(request):
            response = await self._view.answer_list(self._inner, request)
        else:
            response = await self._inner.send(request)
        self._run.note(f"{_brief(request)} -> {response.status}")
        if self._view is not None and self._view.is_current() and response.status < 300:
            self._run.check_guarded(request)
        await self._run.travel()
        asks_how_far = ("limit", "1") in request.query  # and lists nothing
        if request.verb == "list" and not asks_how_far and response.status == 200:
            self._run.found(self._place(request), DROPPED, HELD)
            if not self._run.revisions:
                metadata = orjson.loads(response.body)["metadata"]
                self._run.revisions.append(str(metadata.get("resourceVersion", "")))
        self._after(fault)
        return response

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        """Open a watch whose events the plan is asked about."""
        fault = await self._before(request)
        if isinstance(fault, faults.Refuse):
            yield RefusedStream(refusal(fault))
            return
        initial: list[bytes] = []
        listing = ("sendInitialEvents", "true") in request.query
        view = self._view if self._view is not None and self._view.is_current() else None
        if view is not None and listing:
            found = await view.initial_events(self._inner, request)
            if found is not None:
                initial, request = found, view.continue_watch(request)
        async with self._inner.stream(request) as stream:
            self._run.note(f"{_brief(request)} -> {stream.status}")
            self._after(fault)
            place = self._place(request)
            yield FaultyStream(stream, self._run, place, initial, view, listing=listing)

    async def close(self) -> None:
        """Close the transport beneath."""
        await self._inner.close()

    def _place(self, request: Request) -> str:
        """Return what is watched, and by whom: two watches of a kind miss different events."""
        chosen = [f"{name}={value}" for name, value in request.query if name in _SELECTORS]
        return " ".join([f"{self._number}", request.path, *chosen])

    async def _before(self, request: Request) -> faults.RequestFault | None:
        await self._run.travel()
        self._check_alive()
        fault = self._run.on_request(request)
        match fault:
            case faults.Unreachable():
                raise ConnectFailed("injected: the server cannot be reached")
            case faults.Slow(seconds):
                await asyncio.sleep(seconds)
                self._check_alive()
            case faults.JumpClock(seconds):
                self._run.jump_clock(timedelta(seconds=seconds))
            case faults.Meddle():
                await self._run.meddle()
        return fault

    def _check_alive(self) -> None:
        if self.died.is_set():
            raise ConnectFailed("the process has crashed; nothing it sends arrives")

    def _after(self, fault: faults.RequestFault | None) -> None:
        match fault:
            case faults.LoseAnswer():
                raise ConnectionLost("injected: the connection was cut before the answer")
            case faults.Crash(answered, behind, hold_seconds):
                self._run.go_back(behind, hold_seconds)
                if not answered:
                    self.died.set()
                    raise ConnectionLost("injected: the process crashed before the answer")
                asyncio.get_running_loop().call_soon(self.died.set)


def is_guarded(request: Request) -> bool:
    """Return whether a write cannot hit another version of the object than the one decided on.

    Patches and applies change only the fields they name and count as guarded.
    """
    if request.verb == "deletecollection":
        return False
    if request.verb == "update":
        return "resourceVersion" in orjson.loads(request.body or b"{}").get("metadata", {})
    if request.verb == "delete":
        preconditions = orjson.loads(request.body or b"{}").get("preconditions") or {}
        return preconditions.keys() >= {"uid", "resourceVersion"}
    return True


def _brief(request: Request) -> str:
    watch = [value for name, value in request.query if name == "resourceVersion"]
    return f"{request.verb} {request.path}{f' from {watch[0]}' if watch else ''}"
