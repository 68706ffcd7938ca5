"""Which revision is served, and which are kept."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from certwright.api.envoyconfigs import CacheState, EnvoyConfigRevision

KEPT: Final = 10


@dataclass(frozen=True, slots=True)
class RevisionChoice:
    """What is to be served."""

    desired: str
    """The version that the spec says."""
    published: EnvoyConfigRevision | None
    """The revision that is to be served; None if none is fit."""

    @property
    def state(self) -> CacheState:
        """The one word for it."""
        if self.published is None:
            return "RollbackFailed"
        return "InSync" if self.published.spec.version == self.desired else "Rollback"


def in_order(revisions: Iterable[EnvoyConfigRevision]) -> list[EnvoyConfigRevision]:
    """Return revisions from the oldest to the newest, by when they were last published or made."""

    def age(revision: EnvoyConfigRevision) -> tuple[str, str]:
        last = revision.status.last_published_at or revision.metadata.creation_timestamp
        return (str(last or ""), revision.metadata.name)

    return sorted(revisions, key=age)


def choose(revisions: Sequence[EnvoyConfigRevision], desired: str) -> RevisionChoice:
    """Return what is to be served: the desired revision, else the newest that is not tainted."""
    fit = [one for one in in_order(revisions) if one.status.tainted is not True]
    first = [one for one in fit if one.spec.version == desired]
    return RevisionChoice(desired, next(reversed(first or fit), None))


def superfluous(
    revisions: Sequence[EnvoyConfigRevision], choice: RevisionChoice
) -> list[EnvoyConfigRevision]:
    """Return the revisions beyond those that are kept; neither what is served nor desired."""
    needed = {choice.desired}
    needed |= {choice.published.spec.version} if choice.published is not None else set()
    needed |= {one.spec.version for one in revisions if one.status.published is True}
    others = [one for one in in_order(revisions) if one.spec.version not in needed]
    return others[: max(0, len(revisions) - KEPT)]
