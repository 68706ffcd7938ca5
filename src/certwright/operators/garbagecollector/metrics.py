"""Metrics of the garbage collector."""

from datetime import datetime
from typing import Final

from certwright.operators.garbagecollector.collect import CollectionResult
from certwright.operators.garbagecollector.decision import GarbageVerdict
from certwright.runtime import Metrics

_PREFIX: Final = "certwright_garbage_collector_"


class GarbageMetrics:
    """What is counted about passes. Made once per process."""

    def __init__(self, metrics: Metrics) -> None:
        self._deleted = metrics.counter(
            f"{_PREFIX}deleted_total", "Objects that were collected", ["kind"]
        )
        self._failures = metrics.counter(
            f"{_PREFIX}failures_total", "Objects that could not be deleted or annotated as unused"
        )
        objects = metrics.gauge(
            f"{_PREFIX}objects", "Collectable objects of the last pass by verdict", ["verdict"]
        )
        self._objects = {verdict: objects.labels(verdict.value) for verdict in GarbageVerdict}
        self._last = metrics.gauge(
            f"{_PREFIX}last_pass_timestamp_seconds", "When a pass last ended"
        )

    def passed(self, done: CollectionResult, now: datetime) -> None:
        """Count a pass that ended."""
        for candidate in done.deleted:
            self._deleted.labels(candidate.key.kind).inc()
        self._failures.inc(len(done.failures))
        for verdict, count in done.survey.counts().items():
            self._objects[verdict].set(count)
        self._last.set(now.timestamp())
