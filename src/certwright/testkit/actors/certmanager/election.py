"""Leader election as client-go does it, for the pods of one component.

A pod that is ready tries to take the Lease, and again after a while. A Lease that another pod
holds is taken once it was released, or was not renewed for as long as it is valid: counted from the
moment this pod saw it change, by no clock but its own. A pod that is deleted releases its Lease,
unless the play says that it is killed.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC
from random import Random
from typing import Final

from certwright.client import Client
from certwright.kube import ApiError, JsonObject, Key
from certwright.kube.kinds import ConfigMap, Lease, Pod
from certwright.testkit.actors.certmanager.components import ComponentPod
from certwright.testkit.actors.certmanager.locks import ElectionLock
from certwright.testkit.actors.certmanager.world import PlayedWorld
from certwright.testkit.actors.podplay import NEVER
from certwright.testkit.workloads.podstate import is_deleting

_JITTER: Final = 1.2


@dataclass(slots=True)
class _Candidate:
    """What one pod knows of the Lease. Times are those of the monotonic clock."""

    pod: ComponentPod
    identity: str
    client: Client
    try_at: float = 0.0
    seen: JsonObject | None = None
    seen_at: float = 0.0
    renewed_at: float = -NEVER


class Election:
    """Decides which pod of a component leads; *identify* gives a pod its name in the record."""

    KINDS: Final = (Pod, Lease, ConfigMap)

    def __init__(
        self,
        world: PlayedWorld,
        component: str,
        name: str,
        identify: Callable[[ComponentPod], str],
    ) -> None:
        self._world = world
        self._component = component
        self._name = name
        self._identify = identify
        self._candidates: dict[str, _Candidate] = {}
        self._led = ""
        self.announce: Callable[[], None] = lambda: None
        """Called when another pod leads, or none."""
        self._rng = Random(f"{component} {world.play.seed}")

    @property
    def leader(self) -> ComponentPod | None:
        """The pod that leads: it works, holds the Lease, and could renew it lately."""
        now = self._world.clock.monotonic()
        for candidate in self._candidates.values():
            renewed = now - candidate.renewed_at < self._world.play.deadline
            holder = self._stored(candidate).get("holderIdentity")
            if renewed and holder == candidate.identity:
                return candidate.pod
        return None

    async def step(self) -> float | None:
        """Let pods renew, take and release the Lease; return the seconds until the next try."""
        due = await self._vote()
        leader = self.leader
        before, self._led = self._led, leader.uid if leader else ""
        if self._led != before:
            self.announce()
        return due

    async def _vote(self) -> float:
        pods = self._world.pods(self._component)
        working = {pod.uid: pod for pod in pods if pod.is_working}
        crashed = {pod.uid for pod in pods if not pod.is_working and not is_deleting(pod.pod)}
        for uid in [uid for uid in self._candidates if uid not in working]:
            left = self._candidates.pop(uid)
            if uid not in crashed:
                await self._leave(left)
        now, due = self._world.clock.monotonic(), NEVER
        for uid, pod in working.items():
            known = self._candidates.get(uid)
            candidate = known or self._candidate(pod)
            candidate.pod = pod
            self._candidates[uid] = candidate
            if candidate.try_at <= now:
                try:
                    held = await self._try(candidate)
                except ApiError:
                    held = False  # no right to the Lease, or another was faster
                candidate.try_at = self._world.clock.monotonic() + self._wait(held=held)
            due = min(due, candidate.try_at - self._world.clock.monotonic())
        return due

    def _candidate(self, pod: ComponentPod) -> _Candidate:
        client = self._world.client_of(pod, self._component)
        return _Candidate(pod, self._identify(pod), client)

    def _wait(self, *, held: bool) -> float:
        """Return the seconds until the next try of a pod that holds the Lease, or does not."""
        play = self._world.play
        if held:
            return play.retry if play.renewal is None else play.renewal
        return play.retry * (1.0 + _JITTER * self._rng.random())

    def _lock(self, pod: ComponentPod) -> ElectionLock:
        space = pod.flag("leader-election-namespace", "kube-system")
        return ElectionLock.of_version(pod.minor, Key(space, self._name))

    def _stored(self, candidate: _Candidate) -> JsonObject:
        """Return the record as it is stored."""
        lock = self._lock(candidate.pod)
        return lock.record(self._world.get(lock.kind, lock.key))

    async def _try(self, candidate: _Candidate) -> bool:
        """Renew or take the Lease; return whether the pod holds it."""
        lock, now = self._lock(candidate.pod), self._world.clock.monotonic()
        found = await lock.read(candidate.client)
        record = lock.record(found)
        if record != candidate.seen:
            candidate.seen, candidate.seen_at = record, now
        holder = record.get("holderIdentity")
        valid = now - candidate.seen_at < (record.get("leaseDurationSeconds") or 0)
        if holder and holder != candidate.identity and valid:
            return False
        instant = self._world.clock.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        own: JsonObject = {
            "holderIdentity": candidate.identity,
            "leaseDurationSeconds": int(self._world.play.lease),
            "acquireTime": instant,
            "renewTime": instant,
            "leaseTransitions": (record.get("leaseTransitions") or 0) + bool(record),
        }
        if holder == candidate.identity:
            own |= {name: record.get(name) for name in ("acquireTime", "leaseTransitions")}
        await lock.write(candidate.client, found, own)
        candidate.renewed_at = now
        return True

    async def _leave(self, candidate: _Candidate) -> None:
        """Release the Lease of a pod that is being stopped, if it holds it."""
        record, lock = self._stored(candidate), self._lock(candidate.pod)
        if (
            record.get("holderIdentity") != candidate.identity
            or not self._world.play.releases_lease
        ):
            return
        client = candidate.client
        released = {**record, "holderIdentity": "", "leaseDurationSeconds": 1}
        with suppress(ApiError):  # if its rights went first, the Lease expires
            await lock.write(client, await lock.read(client), released)
