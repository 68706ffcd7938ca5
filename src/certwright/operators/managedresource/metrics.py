"""Numbers about ManagedResources and their objects."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from certwright.apply import Action
from certwright.apply.health import Health
from certwright.kube import Key
from certwright.runtime import Metrics

_PREFIX: Final = "certwright_managed_resource_"


class ResourceMetrics:
    """What is counted about ManagedResources. Made once per process."""

    def __init__(self, metrics: Metrics) -> None:
        applied = metrics.counter(
            f"{_PREFIX}objects_applied_total",
            "Objects looked at while applying, by what became of them",
            ["result"],
        )
        self._applied = {action: applied.labels(action.value) for action in Action}
        self.repairs = metrics.counter(
            f"{_PREFIX}repairs_total", "Objects that others changed or deleted and we restored"
        )
        self.fights = metrics.counter(
            f"{_PREFIX}fights_total", "Objects found to be rewritten by somebody else repeatedly"
        )
        self._blocked = metrics.gauge(
            f"{_PREFIX}deletions_blocked", "Objects that are to be deleted and are still there"
        )
        health = metrics.gauge(
            f"{_PREFIX}objects", "Objects of all ManagedResources by health", ["health"]
        )
        self._health = {state: health.labels(state.value) for state in Health}
        self._judgements = metrics.counter(
            f"{_PREFIX}judgements_total", "Looks at the health of all objects of a ManagedResource"
        )
        self._healths: dict[Key, Mapping[Health, int]] = {}
        self._blockers: dict[Key, int] = {}

    def applied(self, action: Action) -> None:
        """Count an object."""
        self._applied[action].inc()

    def judged(self, key: Key, healths: Counter[Health]) -> None:
        """Note how the objects of a ManagedResource were found."""
        self._judgements.inc()
        self._count(key, healths)

    def _count(self, key: Key, healths: Counter[Health]) -> None:
        before = self._healths.get(key, {})
        if healths == before:
            return
        for state in Health:
            if change := healths.get(state, 0) - before.get(state, 0):
                self._health[state].inc(change)
        self._healths[key] = dict(healths)

    def blocked(self, key: Key, objects: int) -> None:
        """Note how many objects of a ManagedResource linger."""
        before = self._blockers.pop(key, 0)
        if objects:
            self._blockers[key] = objects
        if objects != before:
            self._blocked.inc(objects - before)

    def forget(self, key: Key) -> None:
        """Note that a ManagedResource is gone."""
        self._count(key, Counter())
        self._healths.pop(key, None)
        self.blocked(key, 0)
