"""What Envoys run, as a status tells it: few writes, however many Envoys change."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from certwright.api.envoyconfigs import EnvoyConfigRevision, Rejection, VersionCount
from certwright.operators.discoveryservice.config.envoys.taint import held_pairs, version_held
from certwright.xds.observations import EnvoyGroup

LAST: Final = 10
"""Rejections that a status shows."""
QUIET_SECONDS: Final = 2.0
"""How long nothing must have changed before counts are written."""
LONGEST_SECONDS: Final = 15.0
"""How old the counts in a status may be while they change all the time."""

K = TypeVar("K", bound=Hashable)


def version_counts(
    groups: Iterable[EnvoyGroup], history: Mapping[str, Collection[tuple[str, str]]]
) -> Counter[str]:
    """Return how many Envoys run which version.

    An Envoy that holds nothing yet, or parts of several versions, counts for the empty version.
    """
    found: Counter[str] = Counter()
    for group in groups:
        if group.types:
            found[version_held(held_pairs(group.types), history)] += len(group.streams)
    return found


def shown_counts(found: Counter[str]) -> list[VersionCount]:
    """Return counts as a status shows them, the most frequent first."""
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return [VersionCount(version=version, envoys=number) for version, number in ordered]


def last_rejections(revisions: Iterable[EnvoyConfigRevision]) -> list[Rejection]:
    """Return the last rejections that replicas report, of all revisions, the newest first."""
    found = [
        one
        for revision in revisions
        for report in revision.status.reports.values()
        for one in report.rejections
    ]
    return sorted(found, key=lambda one: (str(one.at), one.envoy), reverse=True)[:LAST]


@dataclass(slots=True)
class _Change:
    value: object
    first: float
    last: float


class Damper(Generic[K]):
    """Decides when values that change often are written: once they rest, or are too old."""

    def __init__(self, quiet: float = QUIET_SECONDS, longest: float = LONGEST_SECONDS) -> None:
        self._quiet = quiet
        self._longest = longest
        self._changes: dict[K, _Change] = {}

    def wait(self, key: K, value: object, written: object, now: float) -> float:
        """Return in how many seconds a value is to be written; 0 means now, or that it is."""
        if value == written:
            self._changes.pop(key, None)
            return 0.0
        change = self._changes.setdefault(key, _Change(value, now, now))
        if change.value != value:
            change.value, change.last = value, now
        left = min(change.last + self._quiet, change.first + self._longest) - now
        if left <= 0:
            del self._changes[key]
        return max(left, 0.0)

    def forget(self, key: K) -> None:
        """Drop what is known of a key."""
        self._changes.pop(key, None)
