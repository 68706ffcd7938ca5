"""Watches on which events are lost, late, doubled or the last.

Used by `certwright.testkit.faults.interference`, which numbers the events and asks the plan.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Protocol

import orjson

from certwright.client import ConnectionLost
from certwright.client.transport import Response, Stream
from certwright.kube.errors import ApiError
from certwright.testkit.faults import faults
from certwright.testkit.faults.staleview import StaleView

DROPPED = "dropped"
HELD = "held back"

SWAP_SECONDS = 10.0
"""How long a swapped event waits for the one that overtakes it."""

_CHANGES = (b'{"type":"ADDED"', b'{"type":"MODIFIED"', b'{"type":"DELETED"')


class Course(Protocol):
    """What a watch needs of the run it belongs to."""

    revisions: list[str]

    async def travel(self) -> None:
        """Let something be on its way."""
        ...

    def on_event(self, line: bytes) -> faults.EventFault | None:
        """Number an event and say what happens to it."""
        ...

    def miss(self, place: str, why: str, heal_seconds: float) -> None:
        """Note that the watch of a place lacks an event."""
        ...

    def found(self, place: str, *whys: str) -> None:
        """Note that nothing is lacking any more."""
        ...

    def heals_at(self, place: str) -> float | None:
        """Return when the watch of a place must list anew; None if it lacks nothing."""
        ...


class FaultyStream:
    """A watch whose events may be lost, late, doubled, or the last."""

    def __init__(
        self,
        inner: Stream,
        run: Course,
        place: str,
        initial: list[bytes],
        view: StaleView | None,
        *,
        listing: bool,
    ) -> None:
        self._inner = inner
        self._run = run
        self._initial = initial
        self._view = view
        self._place = place
        self._listing = listing
        self._held: bytes | None = None
        if self._listing or initial:
            run.found(self._place, DROPPED, HELD)

    @property
    def status(self) -> int:
        """The status of the stream beneath."""
        return self._inner.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the stream beneath."""
        return self._inner.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield whole lines, each after whatever the plan says about it."""
        if self._initial:
            yield b"".join(self._initial)
        if self._view is not None:
            await self._view.release()
        lines = _lines(self._inner.chunks())
        while True:
            try:
                async with asyncio.timeout_at(self._run.heals_at(self._place)):
                    line = await anext(lines)
            except StopAsyncIteration:
                return
            except TimeoutError:  # what was dropped or held shows only in a new list
                self._run.found(self._place, DROPPED, HELD)
                yield _EXPIRED
                return
            await self._run.travel()
            if self._passes_untouched(line):
                yield line
                continue
            async for part in self._suffer(line, self._run.on_event(line)):
                yield part
                if part is _EXPIRED:
                    return

    async def _suffer(self, line: bytes, fault: faults.EventFault | None) -> AsyncIterator[bytes]:
        if self._held is not None and _object_of(self._held) == _object_of(line):
            yield self._release()  # a server keeps the order of one object's events
        match fault:
            case faults.CutWatch():
                raise ConnectionLost("injected: the watch was cut")
            case faults.FreezeWatch():
                await asyncio.Event().wait()
            case faults.ExpireWatch():
                yield _EXPIRED
                return
            case faults.DropEvent(heal_seconds):
                self._run.miss(self._place, DROPPED, heal_seconds)
                return
            case faults.SwapEvents() if self._held is None:
                self._held = line
                self._run.miss(self._place, HELD, SWAP_SECONDS)
                return
            case faults.DelayEvent(seconds):
                await asyncio.sleep(seconds)
            case faults.RepeatEvent():
                yield line
        yield line
        if self._held is not None:
            yield self._release()

    def _release(self) -> bytes:
        assert self._held is not None
        self._run.found(self._place, HELD)
        held, self._held = self._held, None
        return held

    def _passes_untouched(self, line: bytes) -> bool:
        """Return whether a line is no change: a bookmark, an error, part of the initial list."""
        if line.startswith(_CHANGES) and not self._listing:
            return False
        if self._listing and b"k8s.io/initial-events-end" in line:
            event = orjson.loads(line)
            if event["type"] == "BOOKMARK":
                self._listing = False
                if not self._run.revisions:
                    self._run.revisions.append(event["object"]["metadata"]["resourceVersion"])
        return True


def refusal(fault: faults.Refuse) -> Response:
    """Return the answer of a server that refuses."""
    error = ApiError.from_status(fault.status, {"message": f"injected {fault.status}"})
    headers = {"content-type": "application/json"}
    if fault.retry_after_seconds:
        error.retry_after = fault.retry_after_seconds
        headers["retry-after"] = str(fault.retry_after_seconds)
    error.status_reason = error.reason
    return Response(fault.status, headers, orjson.dumps(error.to_status()))


_EXPIRED = (
    orjson.dumps({"type": "ERROR", "object": orjson.loads(refusal(faults.Refuse(410)).body)})
    + b"\n"
)


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Cut chunks into lines, each with its newline."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line + b"\n"


def _object_of(line: bytes) -> str:
    return str(orjson.loads(line)["object"]["metadata"].get("uid"))
