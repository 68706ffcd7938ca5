"""Who may be collected: the whole decision, without a cluster.

An object goes when two passes, a minimum lifetime apart, found that nothing uses it, and a
last look before the deletion finds the same. One pass alone may come at the wrong moment: when
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


class Place(NamedTuple):
    """Which ConfigMap or Secret is meant."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {Key(self.namespace, self.name)}"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A collectable object, by its metadata alone."""

    place: Place
    uid: str
    resource_version: str
    created: datetime
    unused_since: datetime | None = None
    """When nothing used it for the first time, if that has been noted."""
    keep: bool = False
    """Whether somebody asked for it to be kept."""
    deleting: bool = False


class Verdict(StrEnum):
    """What is to be done about an object."""

    GOING = "going"
    """Somebody has deleted it already."""
    KEPT = "kept"
    IN_USE = "in-use"
    YOUNG = "young"
    UNUSED = "unused"
    """Not used, and not for long enough yet."""
    COLLECTABLE = "collectable"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one object, and why."""

    candidate: Candidate
    verdict: Verdict
    reason: str

    def __str__(self) -> str:
        return f"{self.candidate.place}: {self.verdict}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Report:
    """The verdicts of one pass, in the order of kind, namespace and name."""

    judgements: tuple[Judgement, ...]

    def of(self, verdict: Verdict) -> tuple[Judgement, ...]:
        """Return the objects with a verdict."""
        return tuple(one for one in self.judgements if one.verdict is verdict)

    def counts(self) -> dict[Verdict, int]:
        """Return how many objects have each verdict."""
        found = Counter(one.verdict for one in self.judgements)
        return {verdict: found[verdict] for verdict in Verdict}

    def __str__(self) -> str:
        said = [f"{count} {verdict}" for verdict, count in self.counts().items() if count]
        return ", ".join(said) or "nothing to collect"


def judge_all(
    candidates: Iterable[Candidate],
    users: Mapping[Place, str],
    now: datetime,
    minimum_lifetime: timedelta,
) -> Report:
    """Judge all candidates; *users* says for each place that is used, by whom."""
    judged = (judge(one, users.get(one.place), now, minimum_lifetime) for one in candidates)
    return Report(tuple(sorted(judged, key=lambda one: one.candidate.place)))


def judge(
    candidate: Candidate, user: str | None, now: datetime, minimum_lifetime: timedelta
) -> Judgement:
    """Judge one candidate."""

    def verdict(found: Verdict, reason: str) -> Judgement:
        return Judgement(candidate, found, reason)

    if candidate.deleting:
        return verdict(Verdict.GOING, "it is being deleted")
    if candidate.keep:
        return verdict(Verdict.KEPT, "it is annotated to be kept")
    if user is not None:
        return verdict(Verdict.IN_USE, f"{user} uses it")
    lifetime = format_duration(minimum_lifetime)
    if now - candidate.created < minimum_lifetime:
        return verdict(Verdict.YOUNG, f"nothing uses it, and it is younger than {lifetime}")
    since = candidate.unused_since
    if minimum_lifetime:
        if since is None or since > now:
            return verdict(Verdict.UNUSED, "nothing uses it, which is noted now")
        if now - since < minimum_lifetime:
            return verdict(
                Verdict.UNUSED,
                f"nothing uses it since {format_micro_time(since)}; it goes {lifetime} later",
            )
    return verdict(Verdict.COLLECTABLE, "nothing uses it")


def needs_mark(judgement: Judgement, now: datetime) -> bool:
    """Tell whether it is to be noted that nothing uses the object."""
    since = judgement.candidate.unused_since
    return judgement.verdict is Verdict.UNUSED and (since is None or since > now)


def needs_unmark(judgement: Judgement) -> bool:
    """Tell whether such a note is wrong by now: it would cost the object its second chance."""
    return (
        judgement.verdict in {Verdict.IN_USE, Verdict.KEPT}
        and judgement.candidate.unused_since is not None
    )


def confirmed(first: Report, second: Report) -> tuple[Candidate, ...]:
    """Return what both looks found collectable and unchanged."""
    before = {one.candidate.uid: one.candidate for one in first.of(Verdict.COLLECTABLE)}
    return tuple(
        one.candidate
        for one in second.of(Verdict.COLLECTABLE)
        if before.get(one.candidate.uid) == one.candidate
    )
