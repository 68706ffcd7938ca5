"""What is done next for a pod. Decided from its object, the facts and the time; done elsewhere.

The rules are kubelet's: volumes first, then init containers one after the other, sidecars among
them as soon as they have started, then all others at once. Containers that end are started again
by the restart policy, later each time. A pod that is deleted, or has run too long, is stopped:
its containers first, then its sidecars, the last one first.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from certwright.kube import JsonObject
from certwright.testkit.node.pod.facts import (
    ContainerFacts,
    PodFacts,
    init_containers,
    is_deleted,
    is_sidecar,
    main_containers,
    restarts_after,
)

LEAST_GRACE_SECONDS: Final = 2.0
"""What every container gets to end by itself, even when its time is up."""
_DEFAULT_GRACE_SECONDS: Final = 30
PULL_BACKOFF_SHOWN: Final = timedelta(seconds=1)
"""How long the error of a pull is shown before the back-off is."""


@dataclass(frozen=True, slots=True)
class MountVolumes:
    """Prepare everything that containers need before the first one starts."""


@dataclass(frozen=True, slots=True)
class StartContainer:
    """Pull the image of a container if need be, and start it."""

    name: str


@dataclass(frozen=True, slots=True)
class StopContainer:
    """Ask a container to end, and end it after the grace period."""

    name: str
    grace_seconds: float
    message: str = ""
    """Of the event, if it says more than that the container is stopped."""


@dataclass(frozen=True, slots=True)
class FailPod:
    """End the pod for a reason of its own."""

    reason: str
    message: str


Action = MountVolumes | StartContainer | StopContainer | FailPod


@dataclass(frozen=True, slots=True)
class PodPlan:
    """What to do now, when to decide again if nothing happens, and whether all is over."""

    actions: tuple[Action, ...] = ()
    wake: datetime | None = None
    over: bool = False
    """Nothing runs, and nothing will be started any more."""
    backing_off: frozenset[str] = frozenset()
    """Containers that wait for their next start, or for the next pull of their image."""


def plan(pod: JsonObject, facts: PodFacts, now: datetime) -> PodPlan:
    """Decide what is done next for a pod."""
    deadline = _deadline(pod, facts)
    if is_deleted(pod) or facts.gone or facts.failed is not None:
        return _stopping(pod, facts, now)
    if deadline is not None and deadline <= now and not _is_over(pod, facts):
        message = "Pod was active on the node longer than the specified deadline"
        return PodPlan((FailPod("DeadlineExceeded", message),))
    if not facts.mounted:
        if facts.mount_retry is None or facts.mount_retry <= now:
            return PodPlan((MountVolumes(),))
        return PodPlan(wake=_earliest(facts.mount_retry, deadline))
    if _is_over(pod, facts):
        sidecars = _sidecars_to_stop(pod, facts, now)
        return PodPlan(tuple(sidecars), over=not facts.runs)
    draft = _Draft(pod, facts, now)
    draft.replace_unhealthy()
    draft.start_due()
    return PodPlan(
        tuple(draft.actions), _earliest(*draft.times, deadline), False, frozenset(draft.backing_off)
    )


class _Draft:
    """A plan in the making, for a pod whose containers are to run."""

    def __init__(self, pod: JsonObject, facts: PodFacts, now: datetime) -> None:
        self._pod = pod
        self._facts = facts
        self._now = now
        self.actions: list[Action] = []
        self.times: list[datetime] = []
        self.backing_off: list[str] = []

    def replace_unhealthy(self) -> None:
        """Stop the containers whose probes failed; their end leads to a new start."""
        grace = _grace(self._pod)
        for name, container in self._facts.containers.items():
            if container.unhealthy and container.running and not container.stopping:
                self.actions.append(StopContainer(name, grace, container.unhealthy))

    def start_due(self) -> None:
        """Start what may start now: the next init container, or all others."""
        initialized = has_initialized(self._pod, self._facts)
        for container in init_containers(self._pod):
            facts = self._facts.containers[container["name"]]
            if is_sidecar(container):
                self._start(container["name"], facts)
                if not initialized and not facts.started:
                    return
            elif not initialized and not _has_succeeded(facts):
                self._start(container["name"], facts)
                return
        for container in main_containers(self._pod):
            facts = self._facts.containers[container["name"]]
            ended = facts.ended
            if ended is None or restarts_after(self._pod, container, ended.exit_code):
                self._start(container["name"], facts)

    def _start(self, name: str, facts: ContainerFacts) -> None:
        if facts.running:
            return
        due = start_time(facts)
        if due is None or due <= self._now:
            self.actions.append(StartContainer(name))
            return
        self.times.append(due)
        if facts.ended is not None and not facts.waiting:
            self.backing_off.append(name)
        if facts.waiting is not None and facts.waiting.reason == "ErrImagePull":
            shown = (facts.failed or self._now) + PULL_BACKOFF_SHOWN
            if shown <= self._now:
                self.backing_off.append(name)
            else:
                self.times.append(shown)


def start_time(facts: ContainerFacts) -> datetime | None:
    """Return when a container that does not run may be started; None for at once."""
    after_end = facts.restart.retry_at(facts.ended.finished) if facts.ended else None
    times = [instant for instant in (after_end, facts.retry) if instant is not None]
    return max(times, default=None)


def has_initialized(pod: JsonObject, facts: PodFacts) -> bool:
    """Return whether the init containers are behind a pod: one of the others was started."""
    return any(facts.containers[one["name"]].starts for one in main_containers(pod))


def _is_over(pod: JsonObject, facts: PodFacts) -> bool:
    """Return whether the containers of a pod have ended for good, sidecars aside."""
    for container in init_containers(pod):
        ended = facts.containers[container["name"]].ended
        if ended is not None and ended.exit_code and not is_sidecar(container):
            return not restarts_after(pod, container, ended.exit_code)
    for container in main_containers(pod):
        ended = facts.containers[container["name"]].ended
        if ended is None or restarts_after(pod, container, ended.exit_code):
            return False
    return True


def _stopping(pod: JsonObject, facts: PodFacts, now: datetime) -> PodPlan:
    """Decide for a pod that is to end: its containers first, then its sidecars."""
    grace = 0.0 if facts.gone else _grace(pod)
    late = [one["name"] for one in init_containers(pod) if is_sidecar(one)]
    early = [name for name in facts.containers if name not in late]
    running = [name for name in early if facts.containers[name].running]
    actions: list[Action] = [
        StopContainer(name, max(grace, LEAST_GRACE_SECONDS))
        for name in running
        if not facts.containers[name].stopping
    ]
    if not running:
        actions.extend(_sidecars_to_stop(pod, facts, now))
    return PodPlan(tuple(actions), over=not facts.runs)


def _sidecars_to_stop(pod: JsonObject, facts: PodFacts, now: datetime) -> Iterator[StopContainer]:
    """Yield the order to stop the last sidecar that runs; it gets what is left of the grace."""
    for container in reversed(init_containers(pod)):
        sidecar = facts.containers[container["name"]]
        if sidecar.running:
            if not sidecar.stopping:
                spent = (now - facts.killed).total_seconds() if facts.killed else 0.0
                left = max(_grace(pod) - spent, LEAST_GRACE_SECONDS)
                yield StopContainer(container["name"], left)
            return


def _grace(pod: JsonObject) -> float:
    asked = pod["metadata"].get("deletionGracePeriodSeconds")
    if asked is None:
        asked = pod["spec"].get("terminationGracePeriodSeconds")
    return float(_DEFAULT_GRACE_SECONDS if asked is None else asked)


def _deadline(pod: JsonObject, facts: PodFacts) -> datetime | None:
    seconds = pod["spec"].get("activeDeadlineSeconds")
    return None if seconds is None else facts.start_time + timedelta(seconds=seconds)


def _has_succeeded(facts: ContainerFacts) -> bool:
    return facts.ended is not None and facts.ended.exit_code == 0


def _earliest(*times: datetime | None) -> datetime | None:
    return min((instant for instant in times if instant is not None), default=None)
