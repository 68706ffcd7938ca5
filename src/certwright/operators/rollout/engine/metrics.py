"""What is counted: restarts, how long they waited, what they wait for, and the next expiry."""

import heapq
from typing import Final

from certwright.operators.rollout.decision.compare import SourceContents
from certwright.operators.rollout.decision.restraint import RestartWait
from certwright.operators.rollout.workload import SourceRef, WorkloadRef
from certwright.runtime import Metrics

RESTARTS: Final = "certwright_rollout_restarts_total"
DELAY: Final = "certwright_rollout_delay_seconds"
PENDING: Final = "certwright_rollout_pending"
EXPIRY: Final = "certwright_rollout_next_certificate_expiry_timestamp_seconds"
_BUCKETS: Final = (0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14400, 86400)


class RolloutMetrics:
    """The numbers of one operator."""

    def __init__(self, metrics: Metrics) -> None:
        self._restarts = metrics.counter(
            RESTARTS, "Restarts and records of workloads", ["dialect", "outcome"]
        )
        self._delay = metrics.histogram(
            DELAY, "Time from a change of contents to the restart", ["dialect"], _BUCKETS
        )
        self._pending = metrics.gauge(PENDING, "Workloads whose restart waits", ["reason"])
        self._expiry = metrics.gauge(
            EXPIRY, "When the first of the consumed certificates expires; 0 if there is none", []
        )
        self._waits: dict[WorkloadRef, RestartWait] = {}
        self._expiries: dict[SourceRef, int] = {}
        self._next: list[tuple[int, SourceRef]] = []

    def outcome(self, dialect: str, outcome: str) -> None:
        """Count a restart, a record, or a failure."""
        self._restarts.labels(dialect, outcome).inc()

    def delayed(self, dialect: str, seconds: float) -> None:
        """Note how long a restart waited."""
        self._delay.labels(dialect).observe(seconds)

    def waits(self, ref: WorkloadRef, reason: RestartWait | None) -> None:
        """Note what the restart of a workload waits for; None if it does not."""
        before = self._waits.pop(ref, None)
        if before is not None:
            self._pending.labels(before).dec()
        if reason is not None:
            self._waits[ref] = reason
            self._pending.labels(reason).inc()

    def source(self, ref: SourceRef, contents: SourceContents | None) -> None:
        """Note the expiry of a certificate that is consumed, or that there is none."""
        facts = contents.certificate if contents is not None else None
        if facts is None:
            self._expiries.pop(ref, None)
        elif self._expiries.get(ref) != facts.not_after:
            self._expiries[ref] = facts.not_after
            heapq.heappush(self._next, (facts.not_after, ref))
        while self._next and self._expiries.get(self._next[0][1]) != self._next[0][0]:
            heapq.heappop(self._next)
        self._expiry.set(self._next[0][0] if self._next else 0)
