"""Which restarts are under way, which went wrong, and which wait for their turn.

A restart is under way from its patch until the workload is healthy, or has taken too long. All of
it is derived from the workloads themselves, so a new process knows what the old one had begun.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from certwright.kube import parse_time
from certwright.operators.rollout.decision.compare import ChangedSource
from certwright.operators.rollout.decision.record import VERSION, Part, read_record, source_name
from certwright.operators.rollout.policy import RESTARTED_AT, RolloutPolicy
from certwright.operators.rollout.workload import Workload, WorkloadKind, WorkloadRef

LONGEST: Final = 12
"""After how many times its patience a restart does not count against limits any more."""
_TELL_THEMSELVES: Final = frozenset({WorkloadKind.DEPLOYMENT, WorkloadKind.ROLLOUT})


class _Movement(NamedTuple):
    """The last change of a workload on its way to health, and when it was seen."""

    state: tuple[int, int]
    moment: datetime


def last_restart(workload: Workload) -> datetime | None:
    """Return when a workload was restarted last, if that can be read."""
    try:
        return parse_time(workload.annotations.get(RESTARTED_AT, ""))
    except ValueError:
        return None


def gave_up(workload: Workload) -> bool:
    """Return whether the controller of a workload says that a rollout after a restart failed."""
    return workload.progress.stalled and last_restart(workload) is not None


@dataclass(slots=True)
class RestartRegistry:
    """The restarts of a cluster. *wake* is called for a workload that may be next.

    Of Deployments and Rollouts their status says when they fail. The others are given *patience*
    since they last moved: a DaemonSet on many nodes takes hours, and is not stalled.
    """

    patience: timedelta
    wake: Callable[[WorkloadRef], None]
    _busy: dict[WorkloadRef, None] = field(default_factory=dict)
    _per_namespace: Counter[str] = field(default_factory=Counter)
    _failed: dict[WorkloadRef, Mapping[str, Part]] = field(default_factory=dict)
    _waiting: dict[WorkloadRef, None] = field(default_factory=dict)
    _moved: dict[WorkloadRef, _Movement] = field(default_factory=dict)

    def observe(self, workload: Workload, policy: RolloutPolicy, now: datetime) -> None:
        """Take note of how far a workload is."""
        ref = workload.ref
        self._note_movement(workload, now)
        if self.is_stalled(workload, now):
            record = read_record(workload.annotations.get(policy.record_annotation))
            self.end(ref)
            self._failed[ref] = record.sources if record is not None else {}
        elif self._failed.pop(ref, None) is not None:
            self._wake_some(len(self._waiting))
        if ref not in self._failed and self._is_under_way(workload, now):
            self.begin(ref)
        else:
            self.end(ref)

    def _note_movement(self, workload: Workload, now: datetime) -> None:
        if workload.progress.healthy or last_restart(workload) is None:
            self._moved.pop(workload.ref, None)
            return
        state = (workload.generation, workload.progress.done)
        known = self._moved.get(workload.ref)
        if known is None or known.state != state or now < known.moment:
            self._moved[workload.ref] = _Movement(state, now)

    def patience_ends(self, workload: Workload) -> datetime | None:
        """Return when a restart that is under way counts as failed, unless it moves."""
        moved = self._moved.get(workload.ref)
        return None if moved is None else moved.moment + self.patience

    def is_stalled(self, workload: Workload, now: datetime) -> bool:
        """Return whether the last restart of a workload came to nothing."""
        if gave_up(workload):
            return True
        ends = self.patience_ends(workload)
        timed = workload.ref.kind not in _TELL_THEMSELVES and workload.progress.rolling
        return timed and ends is not None and now >= ends

    def _is_under_way(self, workload: Workload, now: datetime) -> bool:
        """Return whether a restart of a workload has not made it healthy yet."""
        ends = self.patience_ends(workload)
        if ends is None or now >= ends:
            return False
        begun = last_restart(workload)  # others may have broken it since
        return begun is not None and now < begun + LONGEST * self.patience

    def forget(self, ref: WorkloadRef) -> None:
        """Drop a workload that is gone, or not to be restarted any more."""
        self._waiting.pop(ref, None)
        self._moved.pop(ref, None)
        if self._failed.pop(ref, None) is not None:
            self._wake_some(len(self._waiting))
        self.end(ref)

    def begin(self, ref: WorkloadRef) -> None:
        """Count a restart from now on."""
        self._waiting.pop(ref, None)
        if ref not in self._busy:
            self._busy[ref] = None
            self._per_namespace[ref.key.namespace] += 1

    def end(self, ref: WorkloadRef) -> None:
        """Count a restart no more, and give its place to the next."""
        if ref in self._busy:
            del self._busy[ref]
            self._per_namespace[ref.key.namespace] -= 1
            self._wake_some(1)

    def wait(self, ref: WorkloadRef) -> None:
        """Have a workload woken when a place becomes free."""
        self._waiting.setdefault(ref)

    def stay(self, ref: WorkloadRef) -> None:
        """Take note that a workload does not wait for a place; the next one may have it."""
        if ref in self._waiting:
            del self._waiting[ref]
            self._wake_some(1)

    def follows(self, ref: WorkloadRef) -> bool:
        """Return whether the status of a workload matters: it is on its way, failed, or waits."""
        return any(ref in known for known in (self._busy, self._moved, self._failed, self._waiting))

    def busy(self, ref: WorkloadRef) -> tuple[int, int]:
        """Return how many others restart in the namespace of a workload, and in the cluster."""
        own = ref in self._busy
        return self._per_namespace[ref.key.namespace] - own, len(self._busy) - own

    def failed_with(
        self, workload: Workload, changed: Iterable[ChangedSource], wanted: Mapping[str, Part]
    ) -> WorkloadRef | None:
        """Return another workload that did not become healthy with the same new contents."""
        namespace = workload.ref.key.namespace
        for ref, parts in self._failed.items():
            if ref == workload.ref:
                continue
            for source in changed:
                mine = wanted.get(source_name(source.use.ref, namespace), {})
                theirs = parts.get(source_name(source.use.ref, ref.key.namespace), {})
                if any(mine.get(key) == digest for key, digest in theirs.items() if key != VERSION):
                    return ref
        return None

    def _wake_some(self, number: int) -> None:
        """Wake those that have waited longest."""
        for ref in list(self._waiting)[: max(number, 1)]:
            self.wake(ref)
