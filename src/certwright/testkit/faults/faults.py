"""What can go wrong between a controller and its API server, as values.

A `Plan` is asked before every request and before every watch event whether this is where something
goes wrong. Faults only describe: `certwright.testkit.faults.interference` carries them out.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from certwright.client.transport import Request
from certwright.testkit.calls import is_write


@dataclass(frozen=True, slots=True)
class Crash:
    """The process dies. The server has carried out the request by then.

    Unanswered, it dies waiting for the answer; answered, it gets it and dies before its
    next request. With *behind*, the server it restarts against shows it an old state: that
    many changes old, for *hold_seconds*, before catching up.
    """

    answered: bool = False
    behind: int = 0
    hold_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class Refuse:
    """The server answers with an error and does nothing."""

    status: int
    retry_after_seconds: int = 0


@dataclass(frozen=True, slots=True)
class Unreachable:
    """The connection cannot be made; nothing is sent."""


@dataclass(frozen=True, slots=True)
class LoseAnswer:
    """The server carries out the request and the connection dies before the answer."""


@dataclass(frozen=True, slots=True)
class Slow:
    """The request takes this long to reach the server."""

    seconds: float


@dataclass(frozen=True, slots=True)
class DropEvent:
    """The event never arrives. After *heal_seconds* the watch is told to list anew (410).

    An API server never skips an event and goes on for ever: what happens is that a client
    reconnects later and finds only the result of what it missed.
    """

    heal_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class RepeatEvent:
    """The event arrives twice."""


@dataclass(frozen=True, slots=True)
class DelayEvent:
    """The event, and all that follow on its watch, arrive this much later."""

    seconds: float


@dataclass(frozen=True, slots=True)
class SwapEvents:
    """The event arrives after one of another object that follows it on its watch."""


@dataclass(frozen=True, slots=True)
class CutWatch:
    """The connection of the watch breaks before the event."""


@dataclass(frozen=True, slots=True)
class FreezeWatch:
    """The watch goes silent before the event, its connection stays open."""


@dataclass(frozen=True, slots=True)
class ExpireWatch:
    """The watch ends before the event: its resourceVersion is too old (410)."""


@dataclass(frozen=True, slots=True)
class JumpClock:
    """The wall clock is set, and the request goes on."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Meddle:
    """Another client changes something in the cluster, and the request goes on."""


RequestFault: TypeAlias = Crash | Refuse | Unreachable | LoseAnswer | Slow | JumpClock | Meddle
EventFault: TypeAlias = (
    DropEvent | RepeatEvent | DelayEvent | SwapEvents | CutWatch | FreezeWatch | ExpireWatch
)


class Plan(Protocol):
    """Decides what goes wrong where. Numbers count from one, over the whole run."""

    def on_request(self, request: Request, number: int, write: int) -> RequestFault | None:
        """Return what happens to a request; *write* is its number among writes, or 0."""
        ...

    def on_event(self, number: int) -> EventFault | None:
        """Return what happens to a watch event; bookmarks are not asked about."""
        ...

    def latency(self) -> float:
        """Return how many seconds the next request, answer or event is on its way."""
        ...


@dataclass(frozen=True)
class At:
    """A plan that names its points: by number of write, of request, and of event."""

    writes: Mapping[int, RequestFault] = field(default_factory=dict)
    requests: Mapping[int, RequestFault] = field(default_factory=dict)
    events: Mapping[int, EventFault] = field(default_factory=dict)
    latency_seconds: float = 0.001

    def on_request(self, _request: Request, number: int, write: int) -> RequestFault | None:
        """Return the fault planned for this write, or else for this request."""
        return self.writes.get(write) or self.requests.get(number)

    def on_event(self, number: int) -> EventFault | None:
        """Return the fault planned for this event."""
        return self.events.get(number)

    def latency(self) -> float:
        """Return the same for all, so that only the planned faults change the order."""
        return self.latency_seconds

    def __str__(self) -> str:
        points = [
            f"{fault} at {what} {number}"
            for what, planned in (
                ("write", self.writes),
                ("request", self.requests),
                ("event", self.events),
            )
            for number, fault in planned.items()
        ]
        return "; ".join(points) or "nothing goes wrong"


CALM: Final = At()
"""The plan in which nothing goes wrong."""


class Storm:
    """A plan that rolls dice: about one in *every* requests and events meets a fault.

    The dice come from *seed* alone. After *faults* of them the storm is over, so that a
    correct controller has the chance to end where it would have ended in calm weather.
    If another client *meddles*, that is one of them.
    """

    def __init__(
        self, seed: int, *, every: int = 8, faults: int = 12, meddles: bool = False
    ) -> None:
        self._rng = random.Random(f"storm {seed}")
        self._seed = seed
        self._meddles = meddles
        self._every = every
        self._left = faults

    def on_request(self, request: Request, _number: int, write: int) -> RequestFault | None:
        """Roll for a request: writes may kill the process, anything may fail."""
        if not self._strikes():
            return None
        roll = self._rng.random()
        if write and roll < 0.4:
            behind = self._rng.randrange(12) if self._rng.random() < 0.5 else 0
            return Crash(self._rng.random() < 0.5, behind, 10 * self._rng.random())
        if roll < 0.5:
            return JumpClock(self._rng.uniform(-3600, 3600))
        if self._meddles and roll < 0.6:
            return Meddle()
        if roll < 0.65:
            return Slow(5 * self._rng.random())
        if roll < 0.8:
            return LoseAnswer() if self._rng.random() < 0.5 else Unreachable()
        refusals = (409, 429, 500, 503, 504) if is_write(request) else (410, 429, 500, 503)
        status = self._rng.choice(refusals)
        return Refuse(status, self._rng.randrange(3) if status in {429, 503} else 0)

    def on_event(self, _number: int) -> EventFault | None:
        """Roll for an event."""
        if not self._strikes():
            return None
        choices: tuple[EventFault, ...] = (
            DropEvent(60 * self._rng.random()),
            RepeatEvent(),
            DelayEvent(20 * self._rng.random()),
            SwapEvents(),
            CutWatch(),
            FreezeWatch(),
            ExpireWatch(),
        )
        return self._rng.choice(choices)

    def latency(self) -> float:
        """Roll how long something is on its way: answers and events overtake each other."""
        return 0.01 * self._rng.random()

    def _strikes(self) -> bool:
        if self._left <= 0 or self._rng.randrange(self._every):
            return False
        self._left -= 1
        return True

    def __str__(self) -> str:
        return f"storm with seed {self._seed}"
