"""Which objects may be collected: the whole decision, without a cluster.

An object is deleted when two passes, a minimum lifetime apart, found that nothing uses it, and a
last check before the deletion finds the same. One pass alone may come at the wrong moment: when
a Deployment is being recreated, or an old ConfigMap is about to be used again.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from certwright.kube import Key
from certwright.kube.durations import format_duration
from certwright.kube.timestamps import format_micro_time


class ObjectKey(NamedTuple):
    """The kind, namespace and name of a ConfigMap or Secret."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {Key(self.namespace, self.name)}"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A collectable object, by its metadata alone."""

    key: ObjectKey
    uid: str
    resource_version: str
    created: datetime
    unused_since: datetime | None = None
    """When a pass first found it unused, by its annotation."""
    keep: bool = False
    """Whether it is annotated to be kept."""
    deleting: bool = False


class GarbageVerdict(StrEnum):
    """What becomes of an object."""

    DELETING = "deleting"
    """It is being deleted already."""
    KEPT = "kept"
    IN_USE = "in-use"
    YOUNG = "young"
    UNUSED = "unused"
    """Unused, but not for the minimum lifetime yet."""
    COLLECTABLE = "collectable"


@dataclass(frozen=True, slots=True)
class Assessment:
    """The verdict on one object, and why."""

    candidate: Candidate
    verdict: GarbageVerdict
    reason: str

    def __str__(self) -> str:
        return f"{self.candidate.key}: {self.verdict}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Survey:
    """The verdicts of one pass, in the order of kind, namespace and name."""

    assessments: tuple[Assessment, ...]

    def of(self, verdict: GarbageVerdict) -> tuple[Assessment, ...]:
        """Return the objects with a verdict."""
        return tuple(one for one in self.assessments if one.verdict is verdict)

    def counts(self) -> dict[GarbageVerdict, int]:
        """Return how many objects have each verdict."""
        found = Counter(one.verdict for one in self.assessments)
        return {verdict: found[verdict] for verdict in GarbageVerdict}

    def __str__(self) -> str:
        counts = [f"{count} {verdict}" for verdict, count in self.counts().items() if count]
        return ", ".join(counts) or "nothing to collect"


def assess_all(
    candidates: Iterable[Candidate],
    users: Mapping[ObjectKey, str],
    now: datetime,
    minimum_lifetime: timedelta,
) -> Survey:
    """Assess all candidates; *users* maps each object in use to an object that uses it."""
    found = (assess(one, users.get(one.key), now, minimum_lifetime) for one in candidates)
    return Survey(tuple(sorted(found, key=lambda one: one.candidate.key)))


def assess(
    candidate: Candidate, user: str | None, now: datetime, minimum_lifetime: timedelta
) -> Assessment:
    """Assess one candidate."""

    def verdict(found: GarbageVerdict, reason: str) -> Assessment:
        return Assessment(candidate, found, reason)

    if candidate.deleting:
        return verdict(GarbageVerdict.DELETING, "it is being deleted")
    if candidate.keep:
        return verdict(GarbageVerdict.KEPT, "it is annotated to be kept")
    if user is not None:
        return verdict(GarbageVerdict.IN_USE, f"{user} uses it")
    lifetime = format_duration(minimum_lifetime)
    if now - candidate.created < minimum_lifetime:
        return verdict(GarbageVerdict.YOUNG, f"nothing uses it, and it is younger than {lifetime}")
    since = candidate.unused_since
    if minimum_lifetime:
        if since is None or since > now:
            return verdict(GarbageVerdict.UNUSED, "nothing uses it as of this pass")
        if now - since < minimum_lifetime:
            return verdict(
                GarbageVerdict.UNUSED,
                f"nothing uses it since {format_micro_time(since)}; deleted after {lifetime}",
            )
    return verdict(GarbageVerdict.COLLECTABLE, "nothing uses it")


def needs_mark(assessment: Assessment, now: datetime) -> bool:
    """Return whether to annotate the object as unused."""
    since = assessment.candidate.unused_since
    return assessment.verdict is GarbageVerdict.UNUSED and (since is None or since > now)


def needs_unmark(assessment: Assessment) -> bool:
    """Return whether that annotation is outdated: the next pass could delete the object for it."""
    return (
        assessment.verdict in {GarbageVerdict.IN_USE, GarbageVerdict.KEPT}
        and assessment.candidate.unused_since is not None
    )


def confirmed(first: Survey, second: Survey) -> tuple[Candidate, ...]:
    """Return what both passes found collectable and unchanged."""
    before = {one.candidate.uid: one.candidate for one in first.of(GarbageVerdict.COLLECTABLE)}
    return tuple(
        one.candidate
        for one in second.of(GarbageVerdict.COLLECTABLE)
        if before.get(one.candidate.uid) == one.candidate
    )
