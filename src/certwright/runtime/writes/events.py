"""Events people see with ``kubectl describe``: recorded at once, written in the background.

`EventRecorder.record` never waits and never fails; `run` writes. Repetitions become one Event with
a series, updated at most every `SERIES_SECONDS`. The note of an Event cannot be changed, so another
note is another Event; after a few of them, those that differ in their note only are combined. An
object gets a burst of new Events and then one every few minutes. So a hot loop in a controller
cannot flood the API server; what is held back is counted, not queued.

When much happens to many objects at once, good news about them is combined too: while a crowd of
Events with the same reason waits to be written, one Event with a series stands for the rest, so
that a burst of work leaves no tail of writes. Warnings always stand for themselves.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Literal, TypeAlias
from zlib import crc32

import structlog
from msgspec import Struct
from msgspec.structs import replace

from certwright.client import Client, TransportError
from certwright.clock import Clock
from certwright.kube import ApiError, JsonObject, NotFound, Object, key_of
from certwright.kube.kinds import Event
from certwright.kube.names import dns_subdomain_problems
from certwright.kube.timestamps import format_micro_time
from certwright.runtime.serve.logs import redact_text

EventType: TypeAlias = Literal["Normal", "Warning"]

NOTE_BYTES = 1024
"""The API server refuses longer notes; reasons and actions are held to 128."""
BURST = 25
REFILL_SECONDS = 300.0
"""A new Event per object every five minutes once the burst is used up, as in client-go."""
SERIES_SECONDS = 10.0
MAX_NOTES = 5
"""How many notes on the same subject get an Event of their own."""
CROWD = 25
"""How many Events of one kind, reason and action wait to be written before they are combined."""
CROWD_SECONDS = 1.0
"""For how long after the last of them further ones are combined as well."""
CROWD_LONGEST_SECONDS = 60.0
"""And for how long at most, or one burst would combine all events of a busy cluster for ever."""
MAX_CROWDS = 256
MAX_PENDING = 1000
MAX_OBJECTS = 4096
"""How many are remembered to recognise repetitions; each costs three quarters of a KiB."""
REMEMBERED_SECONDS = 600.0
"""For how long after the last repetition: most objects are deleted some day."""
YIELDING = 3
"""For how many times as long as the last Event took to write the next one waits: a slow API
server is left to work that matters more."""
YIELD_SECONDS = 5.0
"""And for how long at most."""
_WRITE_SECONDS = 10.0
_FLUSH_SECONDS = 2.0

_log = structlog.get_logger()


class _Subject(Struct, frozen=True, gc=False):
    """What an event is about, apart from its note."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    type: EventType
    reason: str
    action: str
    source: str = ""
    """The controller to be named, if not the recorder's."""


class _Topic(Struct, frozen=True, gc=False):
    """What distinguishes one Event from another: repetitions share it."""

    subject: _Subject
    note: str
    """Empty for the one that combines all further notes."""
    is_crowd: bool = False
    """Whether it stands for other objects as well; the subject is the first of them."""


class _Crowd(Struct, frozen=True, gc=False):
    """The Event that many objects share, and when the first and the last of them joined."""

    topic: _Topic
    began: float
    joined: float


class _Series(Struct, gc=False):
    """One Event object in the cluster, and what we know beyond it."""

    name: str
    note: str
    first: datetime
    last: datetime
    count: int = 1
    written: int = 0
    written_at: float = float("-inf")


def spend(full_at: float, now: float, burst: int = BURST) -> float | None:
    """Take a token from a bucket that will be full at some time; None when there is no token.

    A burst passes, then one per refill period. All there is to know of a bucket is when it
    will be full again, which is returned.
    """
    full_again = max(full_at, now) + REFILL_SECONDS
    return full_again if round(full_again - now, 3) <= burst * REFILL_SECONDS else None


class EventRecorder:
    """Records events of one controller. *dropped* is called for each event held back.

    *burst* is how many new Events an object gets at once. With more than usual, more notes on the
    same subject get an Event of their own as well.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        *,
        controller: str,
        instance: str,
        dropped: Callable[[], None] = lambda: None,
        burst: int = BURST,
    ) -> None:
        self._burst, self._most_notes = burst, MAX_NOTES * burst // BURST
        self._client, self._clock = client, clock
        self._controller = controller
        self._instance = instance[:128]
        self._dropped = dropped
        # Plain dicts and tuples, oldest first: there may be thousands of each.
        self._series: dict[_Topic, _Series] = {}
        self._notes: dict[_Subject, tuple[str, ...]] = {}
        self._buckets: dict[str, float] = {}
        self._dirty: dict[_Topic, None] = {}
        # By what Events are about apart from the object: how many wait, and what combines them.
        self._waiting: dict[_Subject, int] = {}
        self._crowds: dict[_Subject, _Crowd] = {}
        self._wake = asyncio.Event()
        self._serial = 0
        self._mark = crc32(controller.encode()) & 0xFFFF  # other controllers speak of it as well
        self._writing = 0

    def record(
        self,
        regarding: JsonObject | Object,
        type: EventType,  # noqa: A002 - the API's word
        reason: str,
        note: str,
        action: str = "Reconcile",
        *,
        source: str = "",
    ) -> None:
        """Record that something happened to an object. Returns at once, raises nothing.

        *reason* is a PascalCase word machines match on, *note* a sentence for people.
        Private keys and tokens in the note are replaced. *source* is named as the controller, if
        it is not to be the recorder's own.
        """
        subject = _subject(regarding, type, reason[:128], action[:128], source)
        note = shorten(redact_text(note), NOTE_BYTES) or subject.reason
        topic = self._topic(subject, note)
        if topic not in self._series:
            topic = self._crowd_of(subject) or topic
        now = self._clock.now()
        series = self._series.get(topic)
        if series is not None:
            series.count += 1
            series.last = now
            self._series[topic] = self._series.pop(topic)  # to the end
            self._dirty[topic] = None
        elif len(self._dirty) >= MAX_PENDING or not self._admit(subject):
            self._dropped()
            return
        else:
            if topic.is_crowd:
                note = shorten(f"(combined from events about many objects) {note}", NOTE_BYTES)
            elif topic.note:
                self._notes[subject] = (*self._notes.get(subject, ()), note)
            else:
                note = shorten(f"(combined from similar events) {note}", NOTE_BYTES)
            self._begin(topic, _Series(self._name(subject, now), note, now, now))
            self._forget_old()
        self._wake.set()

    @property
    def idle(self) -> bool:
        """True when nothing waits to be written but repetitions of what was."""
        return not self._writing and all(self._series[t].written for t in self._dirty)

    async def run(self) -> None:
        """Write what was recorded until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            delay = await self._write_due()
            if self._dirty and not self._wake.is_set():
                try:
                    async with asyncio.timeout(delay):
                        await self._wake.wait()
                except TimeoutError:
                    self._wake.set()

    async def flush(self) -> None:
        """Write everything recorded, or as much as two seconds allow. For shutdown."""
        try:
            async with asyncio.timeout(_FLUSH_SECONDS):
                for topic in list(self._dirty):
                    await self._write(topic)
        except TimeoutError:
            _log.warning("events lost at shutdown", count=len(self._dirty))

    async def _write_due(self) -> float:
        """Write the series that are due; return seconds until the next one is."""
        soonest = SERIES_SECONDS
        for topic in list(self._dirty):
            series = self._series.get(topic)
            wait = series.written_at + SERIES_SECONDS - self._clock.monotonic() if series else 0.0
            if wait > 0:
                soonest = min(soonest, wait)
            else:
                began = self._clock.monotonic()
                await self._write(topic)
                took = self._clock.monotonic() - began
                await asyncio.sleep(min(YIELDING * took, YIELD_SECONDS))
        return soonest

    async def _write(self, topic: _Topic) -> None:
        """Write one Event. A failure loses this one only: events are best effort."""
        if topic not in self._dirty:
            return  # written meanwhile: at shutdown `run` and `flush` both write
        del self._dirty[topic]
        series = self._series.get(topic)
        if series is None:
            return
        fresh, series.written = not series.written, series.count
        if fresh:
            self._written(topic)
        series.written_at = self._clock.monotonic()
        body = self._event(topic.subject, series)
        self._writing += 1
        try:
            async with asyncio.timeout(_WRITE_SECONDS):
                if fresh:
                    await self._client.create(body)
                else:
                    patch = {"series": body["series"]}
                    await self._client.patch(Event, key_of(body), patch)
        except (ApiError, TransportError, TimeoutError, TypeError, ValueError) as error:
            # The last two: it is about something no request can name or JSON can hold.
            if isinstance(error, NotFound) and not fresh:  # expired meanwhile: a new one begins
                name = self._name(topic.subject, series.last)
                self._begin(topic, _Series(name, series.note, series.last, series.last))
                self._wake.set()
                return
            if fresh:
                self._forget(topic)
            self._dropped()
            _log.debug("event not written", subject=str(topic.subject), error=str(error))
        finally:
            self._writing -= 1

    def _topic(self, subject: _Subject, note: str) -> _Topic:
        notes = self._notes.get(subject, ())
        return _Topic(subject, note if note in notes or len(notes) < self._most_notes else "")

    def _crowd_of(self, subject: _Subject) -> _Topic | None:
        """Return what combines an event with those about other objects; None if it stands alone."""
        if subject.type != "Normal":
            return None
        group, now = _group(subject), self._clock.monotonic()
        crowd = self._crowds.pop(group, None)
        if crowd is not None and (
            now - crowd.joined >= CROWD_SECONDS
            or now - crowd.began >= CROWD_LONGEST_SECONDS
            or crowd.topic not in self._series
        ):
            crowd = None
        if crowd is None and self._waiting.get(group, 0) < CROWD:
            return None
        crowd = crowd or _Crowd(_Topic(subject, "", is_crowd=True), now, now)
        self._crowds[group] = replace(crowd, joined=now)
        if len(self._crowds) > MAX_CROWDS:
            del self._crowds[next(iter(self._crowds))]
        return crowd.topic

    def _begin(self, topic: _Topic, series: _Series) -> None:
        """Note an Event that is to be created."""
        self._series[topic] = series
        self._dirty[topic] = None
        group = _group(topic.subject)
        self._waiting[group] = self._waiting.get(group, 0) + 1

    def _written(self, topic: _Topic) -> None:
        """Note that an Event waits no longer to be created."""
        group = _group(topic.subject)
        rest = self._waiting.pop(group, 1) - 1
        if rest > 0:
            self._waiting[group] = rest

    def _name(self, subject: _Subject, now: datetime) -> str:
        """Return a unique name; RBAC objects have names that Events cannot."""
        self._serial += 1
        stamp = f"{int(now.timestamp() * 1_000_000):x}{self._serial:x}{self._mark:04x}"
        name = f"{subject.name[:220]}.{stamp}"
        return f"{subject.kind.lower()}.{stamp}" if dns_subdomain_problems(name) else name

    def _forget_old(self) -> None:
        """Forget what has not been repeated for long, and the oldest of too many."""
        long_ago = self._clock.monotonic() - REMEMBERED_SECONDS
        while self._series:
            topic, series = next(iter(self._series.items()))
            recent = topic in self._dirty or series.written_at > long_ago
            if recent and len(self._series) <= MAX_OBJECTS:
                return
            self._forget(topic)

    def _forget(self, topic: _Topic) -> None:
        series = self._series.pop(topic, None)
        if series is not None and not series.written:
            self._written(topic)
        self._dirty.pop(topic, None)
        notes = self._notes.pop(topic.subject, ())
        if rest := tuple(note for note in notes if note != topic.note):
            self._notes[topic.subject] = rest

    def _admit(self, subject: _Subject) -> bool:
        """Ask the spam bucket of the object."""
        now, owner = self._clock.monotonic(), subject.uid or subject.name
        full_at = self._buckets.pop(owner, now)
        spent = spend(full_at, now, self._burst)
        self._buckets[owner] = full_at if spent is None else spent
        while len(self._buckets) > MAX_OBJECTS or next(iter(self._buckets.values())) <= now:
            del self._buckets[next(iter(self._buckets))]  # one that is full needs no memory
        return spent is not None

    def _event(self, subject: _Subject, series: _Series) -> JsonObject:
        regarding = {
            "apiVersion": subject.api_version,
            "kind": subject.kind,
            "namespace": subject.namespace,
            "name": subject.name,
            "uid": subject.uid,
        }
        event: JsonObject = {
            "apiVersion": Event.api_version,
            "kind": Event.kind,
            "metadata": {"namespace": subject.namespace or "default", "name": series.name},
            "eventTime": format_micro_time(series.first),
            "reportingController": subject.source or self._controller,
            "reportingInstance": self._instance,
            "action": subject.action,
            "reason": subject.reason,
            "type": subject.type,
            "note": series.note,
            "regarding": {name: value for name, value in regarding.items() if value},
        }
        if series.count > 1:
            last = format_micro_time(series.last)
            event["series"] = {"count": series.count, "lastObservedTime": last}
        return event


def _group(subject: _Subject) -> _Subject:
    """Return what an event has in common with those about other objects."""
    return replace(subject, namespace="", name="", uid="")


def shorten(text: str, limit: int) -> str:
    """Return *text* cut to *limit* bytes of UTF-8, never inside a character."""
    if text.isascii() and len(text) <= limit:
        return text  # the very same: many notes are, and thousands may be remembered
    encoded = text.encode(errors="replace")
    if len(encoded) <= limit:
        return encoded.decode()
    return encoded[: limit - 3].decode(errors="ignore") + "…"


def _subject(
    regarding: JsonObject | Object, type_: EventType, reason: str, action: str, source: str
) -> _Subject:
    if isinstance(regarding, Object):
        api_version, kind = regarding.resource.api_version, regarding.resource.kind
        uid = regarding.metadata.uid
    else:
        api_version, kind = regarding.get("apiVersion", ""), regarding.get("kind", "")
        uid = (regarding.get("metadata") or {}).get("uid", "")
    key = key_of(regarding)
    return _Subject(api_version, kind, key.namespace, key.name, uid, type_, reason, action, source)
