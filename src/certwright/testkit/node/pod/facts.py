"""What the node knows of a pod and its containers, and how new facts change that.

Times are arguments. Nothing here starts, reads or waits for anything.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from certwright.kube import JsonObject

KUBELET_INITIAL_SECONDS: Final = 10.0
KUBELET_LIMIT_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class RestartBackoff:
    """The delay between two tries: none before the first, then doubling up to a limit.

    It starts over when what is tried again failed later than twice the limit after the last try.
    """

    initial: float = KUBELET_INITIAL_SECONDS
    limit: float = KUBELET_LIMIT_SECONDS
    delay: float = 0.0
    raised: datetime | None = None
    """When the delay was raised last: the moment of the last try."""

    def retry_at(self, failed: datetime) -> datetime:
        """Return when to try again what failed at an instant."""
        return failed if self._is_over(failed) else failed + timedelta(seconds=self.delay)

    def after_try(self, failed: datetime, now: datetime) -> "RestartBackoff":
        """Return the back-off in force once what had *failed* is tried again now."""
        longer = self.initial if self._is_over(failed) else min(2 * self.delay, self.limit)
        return replace(self, delay=longer, raised=now)

    def _is_over(self, failed: datetime) -> bool:
        return self.raised is None or failed - self.raised > timedelta(seconds=2 * self.limit)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why something has not happened, in the words of the API."""

    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Termination:
    """How one run of a container ended."""

    exit_code: int
    finished: datetime
    started: datetime | None = None
    reason: str = ""
    message: str = ""
    container_id: str = ""


@dataclass(slots=True)
class ContainerFacts:
    """What is known of one container of a pod."""

    restart: RestartBackoff = field(default_factory=RestartBackoff)
    pull: RestartBackoff = field(default_factory=RestartBackoff)
    starts: int = 0
    running: datetime | None = None
    """Since when its process runs; None if none does."""
    container_id: str = ""
    ends: tuple[Termination, ...] = ()
    """How the last two runs ended, the latest last."""
    waiting: Waiting | None = None
    """Why the last try to start it came to nothing."""
    failed: datetime | None = None
    """When that was."""
    retry: datetime | None = None
    """When to try again after that."""
    started: bool = False
    """Whether it runs and its startup probe has succeeded, if it has one."""
    ready: bool = False
    """What the readiness probe said last; True without one."""
    unhealthy: str = ""
    """Why it must be restarted although it runs: the message of the event."""
    stopping: bool = False

    @property
    def ended(self) -> Termination | None:
        """How its latest run ended; None while it runs, or if it never ran."""
        return self.ends[-1] if self.ends and self.running is None else None

    @property
    def restarts(self) -> int:
        """How often it was started again."""
        return max(self.starts - 1, 0)

    def start(self, container_id: str, now: datetime) -> None:
        """Note that its process runs from now on; probes have yet to speak."""
        if self.ends:
            self.restart = self.restart.after_try(self.ends[-1].finished, now)
        self.container_id = container_id
        self.starts += 1
        self.running = now
        self.waiting = self.failed = self.retry = None
        self.started = self.ready = self.stopping = False
        self.unhealthy = ""

    def end(self, exit_code: int, now: datetime, *, reason: str = "", message: str = "") -> None:
        """Note that its process has ended."""
        ended = Termination(
            exit_code,
            now,
            self.running,
            reason or ("Error" if exit_code else "Completed"),
            message,
            self.container_id,
        )
        self.ends = (*self.ends[-1:], ended)
        self.running = None
        self.started = self.ready = self.stopping = False

    def fail_to_start(self, why: Waiting, now: datetime, retry: datetime) -> None:
        """Note that it could not be started, and when that is tried again."""
        self.waiting, self.failed, self.retry = why, now, retry


@dataclass(slots=True)
class PodFacts:
    """What is known of one pod."""

    containers: dict[str, ContainerFacts]
    start_time: datetime
    ip: str = ""
    mounted: bool = False
    """Whether its volumes are there and its addresses assigned: containers may start."""
    mount_retry: datetime | None = None
    failed: Waiting | None = None
    """Why the node ended the pod or refused it: deadline, eviction, ports."""
    rejected: bool = False
    """Whether it was refused before anything of it started."""
    gone: bool = False
    """Whether its object is gone: no one is told any more."""
    killed: datetime | None = None
    """When the node began to stop the pod as a whole."""

    @classmethod
    def of(cls, pod: JsonObject, now: datetime, backoff: RestartBackoff) -> "PodFacts":
        """Return what is known of a pod that the node has just taken."""
        names = [container["name"] for container in all_containers(pod)]
        return cls({name: ContainerFacts(backoff, backoff) for name in names}, now)

    @property
    def runs(self) -> bool:
        """Whether any of its processes runs."""
        return any(container.running for container in self.containers.values())


def init_containers(pod: JsonObject) -> list[JsonObject]:
    """Return the init containers of a pod, sidecars among them."""
    return pod["spec"].get("initContainers") or []


def main_containers(pod: JsonObject) -> list[JsonObject]:
    """Return the containers of a pod that are not init containers."""
    return pod["spec"].get("containers") or []


def all_containers(pod: JsonObject) -> Iterator[JsonObject]:
    """Yield the containers of a pod in the order they start."""
    yield from init_containers(pod)
    yield from main_containers(pod)


def is_sidecar(container: JsonObject) -> bool:
    """Return whether an init container keeps running beside the others."""
    return container.get("restartPolicy") == "Always"


def restarts_after(pod: JsonObject, container: JsonObject, exit_code: int) -> bool:
    """Return whether a container is started again after it ended with a code."""
    policy = container.get("restartPolicy") or pod["spec"].get("restartPolicy") or "Always"
    is_init = any(one["name"] == container["name"] for one in init_containers(pod))
    if is_init and not is_sidecar(container):
        return exit_code != 0 and policy != "Never"
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def is_deleted(pod: JsonObject) -> bool:
    """Return whether the deletion of a pod was asked for."""
    return "deletionTimestamp" in pod["metadata"]
