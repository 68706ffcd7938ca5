"""Which restarts are under way, which went wrong, and which wait for their turn.

A restart is under way from its patch until the workload is healthy, or has taken too long. All of
it is derived from the workloads themselves, so a new process knows what the old one had begun.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from certwright.kube import parse_time
from certwright.operators.rollout.decision.compare import ChangedSource
from certwright.operators.rollout.decision.record import VERSION, Part, read_record, source_name
from certwright.operators.rollout.policy import RESTARTED_AT, RolloutPolicy
from certwright.operators.rollout.workload import Workload, WorkloadRef


def last_restart(workload: Workload) -> datetime | None:
    """Return when a workload was restarted last, if that can be read."""
    try:
        return parse_time(workload.annotations.get(RESTARTED_AT, ""))
    except ValueError:
        return None


def is_stalled(workload: Workload, now: datetime, patience: timedelta) -> bool:
    """Return whether the last restart of a workload came to nothing."""
    begun = last_restart(workload)
    if begun is None or not workload.progress.rolling:
        return begun is not None and workload.progress.stalled
    return workload.progress.stalled or now >= begun + patience


def is_under_way(workload: Workload, now: datetime, patience: timedelta) -> bool:
    """Return whether a restart of a workload has not made it healthy yet."""
    begun = last_restart(workload)
    return begun is not None and not workload.progress.healthy and now < begun + patience


@dataclass(slots=True)
class RestartRegistry:
    """The restarts of a cluster. *wake* is called for a workload that may be next."""

    patience: timedelta
    wake: Callable[[WorkloadRef], None]
    _busy: dict[WorkloadRef, None] = field(default_factory=dict)
    _per_namespace: Counter[str] = field(default_factory=Counter)
    _failed: dict[WorkloadRef, Mapping[str, Part]] = field(default_factory=dict)
    _waiting: dict[WorkloadRef, None] = field(default_factory=dict)

    def observe(self, workload: Workload, policy: RolloutPolicy, now: datetime) -> None:
        """Take note of how far a workload is."""
        ref = workload.ref
        if is_stalled(workload, now, self.patience):
            record = read_record(workload.annotations.get(policy.record_annotation))
            self.end(ref)
            self._failed[ref] = record.sources if record is not None else {}
        elif self._failed.pop(ref, None) is not None:
            self._wake_some(len(self._waiting))
        if ref not in self._failed and is_under_way(workload, now, self.patience):
            self.begin(ref)
        else:
            self.end(ref)

    def forget(self, ref: WorkloadRef) -> None:
        """Drop a workload that is gone, or not to be restarted any more."""
        self._waiting.pop(ref, None)
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
