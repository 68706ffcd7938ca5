"""How a played pod lives: what becomes of its containers, and when.

A pod moves from state to state as a kubelet would report it, without anything that runs. Its next
status follows from its present one, the time, and the `PodPlay`; what is to happen later is said in
seconds. Times are those in the status, which count whole seconds.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final
from zlib import crc32

from certwright.kube import JsonObject, format_time, parse_time

NEVER: Final = float("inf")
_BACKOFF_SECONDS: Final = 10.0
_LONGEST_BACKOFF_SECONDS: Final = 300.0
_PULL_BACKOFF_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class PodPlay:
    """The life of a pod's containers; durations in seconds."""

    pull: float = 0.0
    """Until the images are there, or the pull fails."""
    pull_fails: bool = False
    start: float = 0.0
    """From then until the containers run."""
    ready: float = 0.0
    """From then until they are ready."""
    run: float | None = None
    """From their start until they end; None: for ever, or not at all if the pod is to end."""
    exit_code: int = 0
    stop: float = 0.0
    """From the deletion of the pod until it is gone."""

    @classmethod
    def parse(cls, text: str) -> "PodPlay":
        """Read words such as ``start=5,ready=never,run=3,exit=1,pull=error``.

        ``hang`` means that containers never start, ``fail`` that they end with an error at once.
        Words it does not know mean nothing.
        """
        play = cls()
        for word in text.replace(" ", "").split(","):
            name, _, value = word.partition("=")
            match name:
                case "hang":
                    play = replace(play, start=NEVER)
                case "fail":
                    play = replace(play, run=0.0, exit_code=1)
                case "pull" if value == "error":
                    play = replace(play, pull_fails=True)
                case "exit" if value.isdecimal():
                    play = replace(play, exit_code=min(int(value), 255))
                    play = play if play.run is not None else replace(play, run=0.0)
                case "pull" | "start" | "ready" | "run" | "stop":
                    change: dict[str, Any] = {name: _duration(value)}
                    play = replace(play, **change)
        return play


def _duration(text: str) -> float:
    if text == "never":
        return NEVER
    try:
        seconds = float(text)
    except ValueError:
        return 0.0
    return seconds if seconds >= 0 else 0.0


@dataclass(frozen=True, slots=True)
class PlayedStatus:
    """The status of a pod now, and when it changes next."""

    status: JsonObject
    after: float | None
    """Seconds, or None if nothing happens by itself."""


def seconds_left(since: datetime, seconds: float, now: datetime) -> float:
    """Return how many of the seconds since an instant are left; whole seconds are compared.

    None are if the clock was set back since: kubelets and what they run count by another clock.
    """
    if seconds == NEVER:
        return NEVER
    elapsed = (now - since).total_seconds()
    return seconds - elapsed if elapsed >= 0 else 0.0


def until_stopped(pod: JsonObject, play: PodPlay, now: datetime) -> float:
    """Return the seconds until the containers of a pod that is being deleted have stopped."""
    metadata = pod["metadata"]
    grace = timedelta(seconds=metadata.get("deletionGracePeriodSeconds") or 0)
    asked = parse_time(metadata["deletionTimestamp"]) - grace
    return seconds_left(asked, play.stop, now)


def played_status(pod: JsonObject, play: PodPlay, now: datetime) -> PlayedStatus:
    """Return the status of a bound pod that lives by a play."""
    before = pod.get("status") or {}
    began = parse_time(before["startTime"]) if before.get("startTime") else _seconds(now)
    old = {each["name"]: each for each in before.get("containerStatuses") or ()}
    containers, waits = [], []
    for container in pod["spec"]["containers"]:
        life = _ContainerLife(container, old.get(container["name"]), pod, play, began)
        wait = life.live_until(now)
        containers.append(life.status(now))
        waits += [wait] if wait < NEVER else []
    phase = _phase(pod, containers)
    status: JsonObject = {
        **before,
        "phase": phase,
        "conditions": _conditions(before, containers, phase, now),
        "hostIP": "127.0.0.1",
        "hostIPs": [{"ip": "127.0.0.1"}],
        "startTime": format_time(began),
        "containerStatuses": containers,
    }
    if phase != "Pending":
        address = _address(pod["metadata"]["uid"])
        status |= {"podIP": address, "podIPs": [{"ip": address}]}
    return PlayedStatus(status, max(min(waits), 0.001) if waits else None)


class _ContainerLife:
    """One container, from its last known state to now."""

    def __init__(
        self, container: JsonObject, known: JsonObject | None, pod: JsonObject, play: PodPlay,
        began: datetime,
    ) -> None:  # fmt: skip
        known = known or {}
        self._name: str = container["name"]
        self._image: str = container["image"]
        self._pod = pod
        self._play = play
        self._policy: str = pod["spec"].get("restartPolicy", "Always")
        self._began = began
        self._restarts: int = known.get("restartCount", 0)
        self._state: JsonObject = known.get("state") or _waiting("ContainerCreating", "")
        self._last: JsonObject = known.get("lastState") or {}

    def live_until(self, now: datetime) -> float:
        """Pass through all states up to now; return the seconds until the next one."""
        while (wait := self._advance(now)) <= 0:
            pass
        return wait

    def status(self, now: datetime) -> JsonObject:
        """Return the entry in containerStatuses."""
        running = "running" in self._state
        status = {
            "name": self._name,
            "image": self._image,
            "imageID": f"played://{self._image}",
            "ready": running and self._until_ready(now) <= 0,
            "started": running,
            "restartCount": self._restarts,
            "state": self._state,
            "lastState": self._last,
        }
        return status | ({} if "waiting" in self._state else {"containerID": self._id()})

    def _advance(self, now: datetime) -> float:
        """Enter the next state if it is due; return the seconds until it is."""
        if "running" in self._state:
            started = parse_time(self._state["running"]["startedAt"])
            left = seconds_left(started, self._run_seconds(), now)
            if left <= 0:
                self._end(started, _due(started, self._run_seconds(), now))
                return 0.0
            ready = self._until_ready(now)
            return min(left, ready) if ready > 0 else left
        if "terminated" in self._state:
            return self._after_end(self._state["terminated"])
        reason = self._state["waiting"]["reason"]
        if reason == "CrashLoopBackOff":
            finished = parse_time(self._last["terminated"]["finishedAt"])
            return self._enter_running(finished, _backoff(self._restarts), now, restart=True)
        if self._play.pull_fails:
            return self._fail_to_pull(reason, now)
        due = self._play.pull + self._play.start
        return self._enter_running(self._began, due, now, restart=False)

    def _enter_running(
        self, since: datetime, seconds: float, now: datetime, *, restart: bool
    ) -> float:
        left = seconds_left(since, seconds, now)
        if left > 0:
            return left
        self._restarts += restart
        started = _due(since, seconds, now)
        self._state = {"running": {"startedAt": format_time(started)}}
        return 0.0

    def _fail_to_pull(self, reason: str, now: datetime) -> float:
        if reason == "ImagePullBackOff":
            return NEVER
        failed = reason == "ErrImagePull"
        left = seconds_left(self._began, self._play.pull + _PULL_BACKOFF_SECONDS * failed, now)
        if left > 0:
            return left
        image = f'"{self._image}"'
        if failed:
            self._state = _waiting("ImagePullBackOff", f"Back-off pulling image {image}")
        else:
            self._state = _waiting("ErrImagePull", f"failed to pull image {image}: not found")
        return 0.0

    def _end(self, started: datetime, ended: datetime) -> None:
        code = self._play.exit_code
        ended_state = {
            "exitCode": code,
            "reason": "Error" if code else "Completed",
            "startedAt": format_time(started),
            "finishedAt": format_time(ended),
            "containerID": self._id(),
        }
        self._state = {"terminated": ended_state}

    def _after_end(self, ended: JsonObject) -> float:
        if self._policy == "Never" or (self._policy == "OnFailure" and not ended["exitCode"]):
            return NEVER
        self._last = {"terminated": ended}
        if not self._restarts:
            self._restarts = 1
            self._state = {"running": {"startedAt": ended["finishedAt"]}}
        else:
            pod = self._pod["metadata"]["name"]
            wait = f"back-off {_backoff(self._restarts):.0f}s restarting failed"
            self._state = _waiting("CrashLoopBackOff", f"{wait} container={self._name} pod={pod}")
        return 0.0

    def _until_ready(self, now: datetime) -> float:
        started = parse_time(self._state["running"]["startedAt"])
        return seconds_left(started, self._play.ready, now)

    def _run_seconds(self) -> float:
        if self._play.run is not None:
            return self._play.run
        return NEVER if self._policy == "Always" else 0.0

    def _id(self) -> str:
        return f"played://{self._pod['metadata']['uid']}/{self._name}/{self._restarts}"


def _phase(pod: JsonObject, containers: list[JsonObject]) -> str:
    states = [each["state"] for each in containers]
    policy = pod["spec"].get("restartPolicy", "Always")
    if policy != "Always" and all("terminated" in state for state in states):
        codes = [state["terminated"]["exitCode"] for state in states]
        if policy == "Never" or not any(codes):
            return "Failed" if any(codes) else "Succeeded"
    started = any(
        "waiting" not in state or each["restartCount"] or each["lastState"]
        for state, each in zip(states, containers, strict=True)
    )
    return "Running" if started else "Pending"


def _conditions(
    before: JsonObject, containers: list[JsonObject], phase: str, now: datetime
) -> list[JsonObject]:
    known = {each["type"]: each for each in before.get("conditions") or ()}
    unready = [each["name"] for each in containers if not each["ready"]]
    ready: JsonObject = {"status": "True"}
    if phase in {"Succeeded", "Failed"}:
        reason = "PodCompleted" if phase == "Succeeded" else "PodFailed"
        ready = {"status": "False", "reason": reason}
    elif unready:
        message = f"containers with unready status: [{' '.join(unready)}]"
        ready = {"status": "False", "reason": "ContainersNotReady", "message": message}
    initialized = {"status": "True"}
    if phase == "Succeeded":
        initialized = {"status": "True", "reason": "PodCompleted"}
    wanted = {
        "PodReadyToStartContainers": {"status": "True" if phase == "Running" else "False"},
        "Initialized": initialized,
        "Ready": ready,
        "ContainersReady": ready,
        "PodScheduled": {"status": "True"},
    }
    conditions = []
    for type_, words in wanted.items():
        old = known.pop(type_, {})
        same = old.get("status") == words["status"] and "lastTransitionTime" in old
        since = old["lastTransitionTime"] if same else format_time(now)
        conditions.append({"type": type_, "lastTransitionTime": since, **words})
    return [*conditions, *known.values()]


def _waiting(reason: str, message: str) -> JsonObject:
    return {"waiting": {"reason": reason, **({"message": message} if message else {})}}


def _backoff(restarts: int) -> float:
    return min(_BACKOFF_SECONDS * (1 << min(restarts - 1, 10)), _LONGEST_BACKOFF_SECONDS)


def _due(since: datetime, seconds: float, now: datetime) -> datetime:
    """Return when something happened that was due so many seconds after an instant.

    Not later than now: from a time to come, a pod would be restarted again and again at once.
    """
    return min(since + timedelta(seconds=seconds), now)


def _address(uid: str) -> str:
    number = crc32(uid.encode())
    return f"10.{64 + (number >> 16) % 64}.{(number >> 8) % 256}.{1 + number % 254}"


def _seconds(instant: datetime) -> datetime:
    return instant.replace(microsecond=0)
