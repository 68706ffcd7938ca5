"""Leader election as client-go does it, for the pods of one component.

A pod that is ready tries to take the Lease, and again after a while. A Lease that another pod
holds is taken once it was released, or was not renewed for as long as it is valid: counted from the
moment this pod saw it change, by no clock but its own. A pod that is deleted releases its Lease,
unless the play says that it is killed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from random import Random
from typing import Final

from certwright.kube import ApiError, JsonObject, Key, NotFound
from certwright.kube.kinds import Lease, Pod
from certwright.testkit.actors.certmanager.components import ComponentPod
from certwright.testkit.actors.certmanager.world import PlayedWorld
from certwright.testkit.actors.podplay import NEVER

_JITTER: Final = 1.2


@dataclass(slots=True)
class _Candidate:
    """What one pod knows of the Lease. Times are those of the monotonic clock."""

    pod: ComponentPod
    identity: str
    try_at: float = 0.0
    seen: JsonObject | None = None
    seen_at: float = 0.0
    renewed_at: float = -NEVER


class Election:
    """Decides which pod of a component leads; *identify* gives a pod its name in the Lease."""

    KINDS: Final = (Pod, Lease)

    def __init__(
        self,
        world: PlayedWorld,
        component: str,
        lease: str,
        identify: Callable[[ComponentPod], str],
    ) -> None:
        self._world = world
        self._component = component
        self._lease = lease
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
            spec = self._spec(candidate)
            if renewed and spec.get("holderIdentity") == candidate.identity:
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
        working = {pod.uid: pod for pod in self._world.pods(self._component) if pod.is_working}
        for uid in [uid for uid in self._candidates if uid not in working]:
            await self._leave(self._candidates.pop(uid))
        now, due = self._world.clock.monotonic(), NEVER
        for uid, pod in working.items():
            known = self._candidates.get(uid)
            candidate = known or _Candidate(pod, self._identify(pod))
            candidate.pod = pod
            self._candidates[uid] = candidate
            if candidate.try_at <= now:
                try:
                    held = await self._try(candidate)
                except ApiError:
                    held = False  # no right to the Lease, or another was faster
                wait = self._world.play.retry
                wait *= 1.0 if held else 1.0 + _JITTER * self._rng.random()
                candidate.try_at = self._world.clock.monotonic() + wait
            due = min(due, candidate.try_at - self._world.clock.monotonic())
        return due

    def _key(self, pod: ComponentPod) -> Key:
        return Key(pod.flag("leader-election-namespace", "kube-system"), self._lease)

    def _spec(self, candidate: _Candidate) -> JsonObject:
        spec: JsonObject = (self._world.get(Lease, self._key(candidate.pod)) or {}).get(
            "spec"
        ) or {}
        return spec

    async def _try(self, candidate: _Candidate) -> bool:
        """Renew or take the Lease; return whether the pod holds it."""
        client = self._world.client_of(candidate.pod, self._component)
        key, now = self._key(candidate.pod), self._world.clock.monotonic()
        instant = self._world.clock.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        own: JsonObject = {
            "holderIdentity": candidate.identity,
            "leaseDurationSeconds": int(self._world.play.lease),
            "acquireTime": instant,
            "renewTime": instant,
            "leaseTransitions": 0,
        }
        try:
            lease = await client.get(Lease, key)
        except NotFound:
            metadata = {"name": key.name, "namespace": key.namespace}
            kind = {"apiVersion": Lease.api_version, "kind": Lease.kind}
            await client.create({**kind, "metadata": metadata, "spec": own})
            candidate.renewed_at = now
            return True
        spec: JsonObject = lease.get("spec") or {}
        if spec != candidate.seen:
            candidate.seen, candidate.seen_at = spec, now
        holder = spec.get("holderIdentity")
        valid = now - candidate.seen_at < (spec.get("leaseDurationSeconds") or 0)
        if holder and holder != candidate.identity and valid:
            return False
        transitions = spec.get("leaseTransitions") or 0
        if holder == candidate.identity:
            own["acquireTime"] = spec.get("acquireTime", instant)
            own["leaseTransitions"] = transitions
        else:
            own["leaseTransitions"] = transitions + 1
        await client.update({**lease, "spec": own})
        candidate.renewed_at = now
        return True

    async def _leave(self, candidate: _Candidate) -> None:
        """Release the Lease of a pod that is being stopped, if it holds it."""
        if not self._world.play.releases_lease:
            return
        key = self._key(candidate.pod)
        lease = self._world.get(Lease, key)
        spec: JsonObject = (lease or {}).get("spec") or {}
        if lease is None or spec.get("holderIdentity") != candidate.identity:
            return
        client = self._world.client_of(candidate.pod, self._component)
        released = {**spec, "holderIdentity": "", "leaseDurationSeconds": 1}
        try:
            await client.update({**lease, "spec": released})
        except ApiError:
            return  # its rights went first: the Lease expires
