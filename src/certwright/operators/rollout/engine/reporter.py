"""Events on workloads: each thing is told once for the same contents, in the words of a dialect."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from certwright.kube import JsonObject
from certwright.operators.rollout.decision.compare import ChangedSource, ContentComparison
from certwright.operators.rollout.decision.restraint import RestartObstacle, RestartWait
from certwright.operators.rollout.engine import messages
from certwright.operators.rollout.policy import RolloutPolicy
from certwright.operators.rollout.workload import Workload, WorkloadRef
from certwright.runtime import Context
from certwright.runtime.writes.events import EventType

TOLD: Final[dict[RestartWait, EventType]] = {
    RestartWait.CERTIFICATE: "Warning",
    RestartWait.BUDGET: "Warning",
    RestartWait.FIGHT: "Warning",
    RestartWait.FAILED_ELSEWHERE: "Warning",
    RestartWait.WINDOW: "Normal",
    RestartWait.INTERVAL: "Normal",
    RestartWait.PAUSED: "Normal",
}
"""Which waits are worth an event; the others end by themselves, or have events of their own."""
_ACTION: Final = "Restart"


@dataclass(frozen=True, slots=True)
class WorkloadPass:
    """The inputs of one pass over a workload."""

    ctx: Context
    obj: JsonObject
    workload: Workload
    policy: RolloutPolicy
    now: datetime

    @property
    def ref(self) -> WorkloadRef:
        """Which workload it is."""
        return self.workload.ref


class RolloutReporter:
    """Tells what happens to workloads."""

    def __init__(self) -> None:
        self._told: dict[WorkloadRef, set[tuple[str, str]]] = {}

    def forget(self, ref: WorkloadRef) -> None:
        """Forget what was told about a workload."""
        self._told.pop(ref, None)

    def restarted(self, now: WorkloadPass, changed: Iterable[ChangedSource]) -> None:
        """Report that a workload was restarted, and what is left to do by hand."""
        self.forget(now.ref)
        changed, words = tuple(changed), now.policy.events
        if words.restarted_kinds is None or now.ref.kind in words.restarted_kinds:
            self._event(now, "Normal", words.restarted, messages.restarted(changed))
        if now.workload.progress.on_delete:
            self._event(now, "Warning", words.waiting, messages.on_delete(changed))

    def would_restart(self, now: WorkloadPass, found: ContentComparison) -> None:
        """Report that a workload would be restarted."""
        note = messages.would_restart(found.changed)
        self._once(now, "Normal", now.policy.events.waiting, note, found.digest)

    def failed(self, now: WorkloadPass, found: ContentComparison, error: Exception) -> None:
        """Report that a workload could not be restarted."""
        note = messages.failed(found.changed, str(error))
        self._once(now, "Warning", now.policy.events.failed, note, found.digest)

    def waits(self, now: WorkloadPass, found: ContentComparison, obstacle: RestartObstacle) -> None:
        """Report what a restart waits for, if that is worth an event."""
        if obstacle.reason in TOLD:
            note = messages.waiting(found.changed, obstacle)
            self._once(now, TOLD[obstacle.reason], now.policy.events.waiting, note, found.digest)

    def fought(self, now: WorkloadPass, found: ContentComparison) -> None:
        """Report that another client undoes what is recorded."""
        note = messages.obstacle_text(RestartObstacle(RestartWait.FIGHT))
        self._once(now, "Warning", now.policy.events.waiting, note, found.digest)

    def invalid(self, now: WorkloadPass) -> None:
        """Report what is wrong with the settings of a workload."""
        for problem in now.policy.problems:
            self._once(now, "Warning", now.policy.events.invalid, problem, "")

    def doubtful(self, now: WorkloadPass, found: ContentComparison) -> None:
        """Report what is wrong with the record of a workload, or missing of what it consumes."""
        words = now.policy.events
        if found.garbled:
            note = messages.garbled(now.policy.record_annotation)
            self._once(now, "Warning", words.invalid, note, "")
        if found.missing:
            self._once(now, "Warning", words.missing, messages.missing(found.missing), "")

    def stalled(self, now: WorkloadPass) -> bool:
        """Report that a restart came to nothing; return whether that is news."""
        record = now.workload.annotations.get(now.policy.record_annotation, "")
        note = messages.stalled(now.workload)
        return self._once(now, "Warning", now.policy.events.stalled, note, record)

    def _once(
        self, now: WorkloadPass, severity: EventType, reason: str, note: str, contents: str
    ) -> bool:
        told = self._told.setdefault(now.ref, set())
        if (note, contents) in told:
            return False
        told.add((note, contents))
        self._event(now, severity, reason, note)
        return True

    def _event(self, now: WorkloadPass, severity: EventType, reason: str, note: str) -> None:
        source = now.policy.events.source
        now.ctx.event(now.obj, severity, reason, note, _ACTION, source=source)
