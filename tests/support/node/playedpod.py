"""A pod played in virtual time: what `plan` decides is carried out by changing facts only."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from certwright.kube import JsonObject
from certwright.testkit.node.pod.facts import PodFacts, RestartBackoff, Waiting
from certwright.testkit.node.pod.plan import (
    FailPod,
    MountVolumes,
    StartContainer,
    StopContainer,
    plan,
)
from certwright.testkit.node.pod.status import pod_status

BIRTH = datetime(2026, 1, 1, tzinfo=UTC)


def pod(
    *containers: JsonObject, init: list[JsonObject] | None = None, **spec: object
) -> JsonObject:
    return {
        "metadata": {"name": "p", "namespace": "ns", "uid": "u", "generation": 1},
        "spec": {
            "containers": [{"image": "stub", **one} for one in containers or ({"name": "main"},)],
            **({"initContainers": [{"image": "stub", **one} for one in init]} if init else {}),
            **spec,
        },
    }


@dataclass
class PlayedPod:
    """Containers run for the given seconds and end with the given code; others run for ever."""

    pod: JsonObject
    runs: dict[str, list[tuple[float, int]]] = field(default_factory=dict)
    ignores_sigterm: set[str] = field(default_factory=set)
    now: datetime = BIRTH
    starts: list[tuple[str, float]] = field(default_factory=list)
    stops: list[tuple[str, float, float]] = field(default_factory=list)
    _ends: dict[str, tuple[datetime, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.facts = PodFacts.of(self.pod, self.now, RestartBackoff())

    @property
    def seconds(self) -> float:
        return (self.now - BIRTH).total_seconds()

    @property
    def status(self) -> JsonObject:
        status = pod_status(self.pod, self.facts, "192.0.2.1", self.now)
        self.pod["status"] = status
        return status

    def container(self, name: str = "main") -> JsonObject:
        status = self.status
        every = [*status.get("initContainerStatuses", []), *status["containerStatuses"]]
        return next(one for one in every if one["name"] == name)

    def condition(self, type_: str) -> JsonObject:
        return next(one for one in self.status["conditions"] if one["type"] == type_)

    def delete(self, grace: int = 30) -> None:
        self.pod["metadata"] |= {"deletionTimestamp": "now", "deletionGracePeriodSeconds": grace}

    def play(self, seconds: float) -> None:
        """Let time pass, and everything happen that falls into it."""
        until = self.now + timedelta(seconds=seconds)
        while True:
            self._end_due()
            decided = plan(self.pod, self.facts, self.now)
            for action in decided.actions:
                self._carry_out(action)
            if decided.actions:
                continue
            times = [at for at, _ in self._ends.values()]
            times += [decided.wake] if decided.wake else []
            following = min((at for at in times if at > self.now), default=until)
            if following > until:
                break
            self.now = following
            if following == until:
                self._end_due()
                if not plan(self.pod, self.facts, self.now).actions:
                    break
        self.now = until

    def _end_due(self) -> None:
        for name, (at, code) in list(self._ends.items()):
            if at <= self.now:
                del self._ends[name]
                self.facts.containers[name].end(code, self.now)

    def _carry_out(self, action: object) -> None:
        match action:
            case MountVolumes():
                self.facts.mounted, self.facts.ip = True, "10.244.0.2"
            case StartContainer(name):
                one = self.facts.containers[name]
                self.starts.append((name, self.seconds))
                one.start(f"id-{one.starts}", self.now)
                one.started = one.ready = True
                script = self.runs.get(name, [])
                if one.starts <= len(script):
                    life, code = script[one.starts - 1]
                    self._ends[name] = (self.now + timedelta(seconds=life), code)
            case StopContainer(name, grace):
                self.facts.killed = self.facts.killed or self.now
                self.facts.containers[name].stopping = True
                self.stops.append((name, self.seconds, grace))
                late = name in self.ignores_sigterm
                self._ends[name] = (
                    self.now + timedelta(seconds=grace if late else 0.5),
                    137 if late else 143,
                )
            case FailPod(reason, message):
                self.facts.failed = Waiting(reason, message)
