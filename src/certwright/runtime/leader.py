"""Leader election on a Lease: at most one replica works, the others stay warm.

Expected flow:

1. A standby reads the Lease every `retry_period`. Whenever the record differs from the
   last one it saw, it notes *its own* monotonic time.
2. If the record has not changed for as long as the record says it lasts, or its holder
   released it, the standby writes itself into it, with the resourceVersion it read.
3. The leader writes the Lease again every `retry_period`: one patch, no read.
4. A leader that could not renew for `renew_deadline`, counted from the *start* of its last
   successful request, stops leading: work pauses, and it stands by for the next term.
5. On shutdown, after the work has drained, the holder is emptied so that a standby takes
   over at once.

Guarantees: time stamps written by others are never compared with a clock, so skew does not
matter as long as clocks run at about the same speed; as `renew_deadline` is shorter than
`lease_duration`, the old leader has paused before a new one may start. The process is never
ended. `decide` holds the rules; it is pure.
"""

import asyncio
import socket
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from math import ceil

import structlog
from msgspec import Struct

from certwright.client import Client, TransportError
from certwright.clock import Clock
from certwright.kube import AlreadyExists, ApiError, Conflict, JsonObject, Key, NotFound
from certwright.kube.kinds import Lease
from certwright.kube.timestamps import format_micro_time
from certwright.runtime.queue.backoff import Rng, new_rng, spread

_log = structlog.get_logger()


def _unique_identity() -> str:
    """Name this process: a restarted pod of the same name must not look like its predecessor."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


@dataclass(frozen=True, kw_only=True)
class LeaderElection:
    """Which Lease decides, and its times. The defaults are client-go's."""

    name: str
    namespace: str
    identity: str = field(default_factory=_unique_identity)
    lease_duration: timedelta = timedelta(seconds=15)
    renew_deadline: timedelta = timedelta(seconds=10)
    retry_period: timedelta = timedelta(seconds=2)

    def __post_init__(self) -> None:
        if not timedelta() < self.retry_period < self.renew_deadline < self.lease_duration:
            raise ValueError(
                "leader election needs 0 < retry_period < renew_deadline < lease_duration, got"
                f" {self.retry_period}, {self.renew_deadline}, {self.lease_duration}"
            )


class LeaseRecord(Struct, frozen=True):
    """The contents of a Lease, and nothing that depends on a clock."""

    holder: str
    seconds: float
    transitions: int
    resource_version: str
    renew_time: str = ""

    @classmethod
    def read(cls, lease: JsonObject) -> "LeaseRecord":
        """Read a Lease. Missing or absurd fields mean that it has no holder."""
        spec = lease.get("spec") or {}
        return cls(
            holder=spec.get("holderIdentity") or "",
            seconds=float(spec.get("leaseDurationSeconds") or 0),
            transitions=int(spec.get("leaseTransitions") or 0),
            resource_version=lease["metadata"]["resourceVersion"],
            renew_time=spec.get("renewTime") or "",
        )


class LeaseAction(StrEnum):
    """What to do about the Lease now."""

    CREATE = "create"
    RENEW = "renew"
    TAKE = "take"
    STAND_BY = "stand by"


def decide(record: LeaseRecord | None, unchanged_for: float, identity: str) -> LeaseAction:
    """Decide what to do about a record that has looked the same *unchanged_for* seconds."""
    if record is None:
        return LeaseAction.CREATE
    if record.holder == identity:
        return LeaseAction.RENEW
    if not record.holder or unchanged_for >= record.seconds:
        return LeaseAction.TAKE
    return LeaseAction.STAND_BY


class Elector:
    """Takes part in one election; *on_change* is called when `leading` changes."""

    def __init__(
        self,
        client: Client,
        election: LeaderElection,
        clock: Clock,
        on_change: Callable[[bool], None] = lambda _leading: None,
        rng: Rng | None = None,
    ) -> None:
        self._client = client
        self._election = election
        self._clock = clock
        self._on_change = on_change
        self._rng = rng or new_rng()
        self._key = Key(election.namespace, election.name)
        self._record: LeaseRecord | None = None
        self._fresh = False  # the record is what the server holds, as far as we know
        self._seen_at = 0.0
        self._held_until = 0.0
        self.leading = False

    @property
    def name(self) -> str:
        """The name of the Lease."""
        return self._election.name

    @property
    def holder(self) -> str:
        """The identity of the leader, as far as this replica has seen."""
        return self._record.holder if self._record else ""

    async def run(self) -> None:
        """Take part until cancelled. Failures are waited out, never raised."""
        period = self._election.retry_period.total_seconds()
        while True:
            await self._attempt()
            wait = spread(period, 1.2 * period, self._rng)
            if self.leading:
                wait = min(wait, self._held_until - self._clock.monotonic())
            await asyncio.sleep(max(wait, 0.0))
            if self.leading and self._clock.monotonic() >= self._held_until:
                self._lead(leading=False, why="could not renew in time")

    async def release(self) -> None:
        """Empty the holder so that a standby need not wait. Only after the work has ended."""
        if not self.leading or self._record is None:
            return
        self._lead(leading=False, why="shutting down")
        try:
            async with asyncio.timeout(self._election.retry_period.total_seconds()):
                await self._write({"holderIdentity": "", "leaseDurationSeconds": 1})
        except (ApiError, TransportError, TimeoutError) as error:
            _log.warning(
                "leader election: lease not released", lease=str(self._key), error=str(error)
            )

    async def _attempt(self) -> None:
        """Make one bounded attempt to lead."""
        started = self._clock.monotonic()
        limit = self._election.renew_deadline.total_seconds()
        if self.leading:
            limit = max(self._held_until - started, 0.0)
        try:
            async with asyncio.timeout(limit):
                held = await self._act()
        except (Conflict, AlreadyExists):  # another replica was faster; the next read shows which
            self._fresh = False
            return
        except (ApiError, TransportError, TimeoutError) as error:
            self._fresh = False  # whether a write took effect is unknown: read before the next
            _log.warning(
                "leader election: lease cannot be read or written",
                lease=str(self._key),
                error=str(error) or "timeout",
            )
            return
        if held:  # counted from the request's start: the others count from when they see it
            self._held_until = started + self._election.renew_deadline.total_seconds()
            self._lead(leading=True, why="acquired the lease")
        else:
            self._lead(leading=False, why="another replica holds the lease")

    async def _act(self) -> bool:
        if not (self._fresh and self.leading):
            await self._observe()
        unchanged = self._clock.monotonic() - self._seen_at
        record, now = self._record, format_micro_time(self._clock.now())
        mine: JsonObject = {
            "holderIdentity": self._election.identity,
            "leaseDurationSeconds": ceil(self._election.lease_duration.total_seconds()),
            "renewTime": now,
        }
        match decide(record, unchanged, self._election.identity):
            case LeaseAction.STAND_BY:
                return False
            case LeaseAction.CREATE:
                await self._create(mine | {"acquireTime": now, "leaseTransitions": 0})
            case LeaseAction.TAKE:
                assert record is not None
                turns = record.transitions + 1
                await self._write(mine | {"acquireTime": now, "leaseTransitions": turns})
            case LeaseAction.RENEW:
                await self._write(mine)
        return True

    async def _observe(self) -> None:
        try:
            self._note(await self._client.get(Lease, self._key))
        except NotFound:
            self._record, self._fresh = None, True

    async def _create(self, spec: JsonObject) -> None:
        metadata = {"namespace": self._key.namespace, "name": self._key.name}
        lease: JsonObject = {"apiVersion": Lease.api_version, "kind": Lease.kind}
        self._note(await self._client.create(lease | {"metadata": metadata, "spec": spec}))

    async def _write(self, spec: JsonObject) -> None:
        assert self._record is not None
        version = {"resourceVersion": self._record.resource_version}
        patch = {"metadata": version, "spec": spec}
        self._note(await self._client.patch(Lease, self._key, patch))

    def _note(self, lease: JsonObject) -> None:
        record = LeaseRecord.read(lease)
        if record != self._record:
            self._record, self._seen_at = record, self._clock.monotonic()
        self._fresh = True

    def _lead(self, *, leading: bool, why: str) -> None:
        if leading is self.leading:
            return
        self.leading = leading
        _log.info(
            "leader election: this replica leads"
            if leading
            else "leader election: leads no longer",
            lease=str(self._key),
            identity=self._election.identity,
            reason=why,
        )
        self._on_change(leading)
