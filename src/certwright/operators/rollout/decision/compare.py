"""What changed: the digests on record beside those of the present contents.

Only what is on record can have changed. A source that was not consumed before was put into the
template by an edit, which replaces the pods anyway; its digests are recorded, and so are those of
a workload without a record, or with one made with another key. A source that does not exist keeps
its digests on record: if it comes back with the same contents, nothing has happened. What is known
of a SecretProviderClass comes and goes with the pods that mount it: it never appears or is deleted,
and what is older than the record is what a pod still has that was not updated yet.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from certwright.operators.rollout.decision.certificates import CertificateFacts
from certwright.operators.rollout.decision.digest import DigestKey
from certwright.operators.rollout.decision.record import (
    ABSENT,
    VERSION,
    WHOLE,
    ContentRecord,
    Part,
    read_record,
    source_name,
)
from certwright.operators.rollout.policy import (
    DIGEST,
    ConsumedSource,
    RolloutPolicy,
    SourceCondition,
)
from certwright.operators.rollout.workload import SourceKind, SourceRef, SourceUse, Workload

_ABSENT_PART: Final[Part] = {ABSENT: ""}


@dataclass(frozen=True, slots=True)
class SourceContents:
    """What is kept of a Secret or ConfigMap: digests, and what policies and events need."""

    ref: SourceRef
    resource_version: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    """By key."""
    certificate: CertificateFacts | None = None


class SourceChange(Enum):
    """What a change of a source may mean to workloads that consume it."""

    NONE = auto()
    """Only its version is another one."""
    CONTENTS = auto()
    """Values changed, and nothing else: whether a restart follows is seen when they are quiet."""
    STANDING = auto()
    """It appeared or disappeared, or its metadata changed, by which it may count or not: what is
    to be on record may be something else from now on."""


def change_of(old: SourceContents | None, new: SourceContents | None) -> SourceChange:
    """Return what changed of a source, of which None is known if it is not there or unreadable."""
    if old is None or new is None:
        return SourceChange.STANDING
    if old.labels != new.labels or old.annotations != new.annotations:
        return SourceChange.STANDING
    return SourceChange.NONE if old.digests == new.digests else SourceChange.CONTENTS


@dataclass(frozen=True, slots=True)
class Counted:
    """A source of a policy, with its contents if it exists and counts."""

    use: SourceUse
    contents: SourceContents | None
    excluded: bool = False
    """Whether it exists but does not count: its metadata says so, or it cannot be read."""


@dataclass(frozen=True, slots=True)
class ChangedSource:
    """A source whose contents are others than those on record."""

    use: SourceUse
    contents: SourceContents | None
    keys: tuple[str, ...]
    """Which keys changed, as far as the record tells; empty if all are taken as one."""
    stale: bool = False
    """Whether what is known of the source is older than the record: a watch is late."""


@dataclass(frozen=True, slots=True)
class ContentComparison:
    """What follows from a record and the present contents."""

    record: ContentRecord
    """What is to be on record once the pods have the present contents."""
    digest: str
    """Over everything that is consumed, with the id of its key: the mark in the template."""
    recorded: bool
    """Whether exactly this is on record, or there is nothing to record."""
    changed: tuple[ChangedSource, ...] = ()
    consumed: tuple[ConsumedSource, ...] = ()
    missing: tuple[SourceRef, ...] = ()
    """What pods need, and did not exist before either."""
    garbled: bool = False
    """Whether there is a record that cannot be read."""


def counted(
    use: SourceUse, contents: SourceContents | None, *conditions: SourceCondition
) -> Counted:
    """Return a source with its contents, if its metadata meets the conditions of a policy."""
    excluded = contents is not None and not all(
        condition.holds(contents.labels, contents.annotations) for condition in conditions
    )
    return Counted(use, None if excluded else contents, excluded)


def compare(
    workload: Workload, policy: RolloutPolicy, present: Sequence[Counted], key: DigestKey
) -> ContentComparison:
    """Compare the record of a workload with the contents that count at present."""
    namespace = workload.ref.key.namespace
    found = read_record(workload.annotations.get(policy.record_annotation))
    known = found.sources if found is not None and found.key == key.id else {}
    sources: dict[str, Part] = {}
    changed: list[ChangedSource] = []
    consumed: list[ConsumedSource] = []
    for one in present:
        use, contents = one.use, one.contents
        name = source_name(use.ref, namespace)
        before = known.get(name)
        now = _part(use, contents, key) if contents is not None else None
        if contents is not None and now is not None:
            consumed.append(ConsumedSource(use, contents.resource_version, _summary(now, key)))
        part, difference = _judge(one, before, now, policy)
        if difference is not None:
            changed.append(difference)
        if part is not None:
            sources[name] = part
    record = ContentRecord(key.id, sources)
    digest = f"{key.id}.{key.of_digests(record.digests())}"
    unknown = [
        one.use.ref
        for one in present
        if one.contents is None and not (one.excluded or one.use.optional)
    ]
    if not (known or changed or unknown) and _is_pending(workload, digest, key):
        changed = [ChangedSource(one.use, one.contents, ()) for one in present if one.contents]
    recorded = not sources if found is None else found.key == key.id and _same(found, record)
    return ContentComparison(
        record,
        digest,
        recorded,
        tuple(changed),
        tuple(consumed),
        missing=tuple(
            ref
            for ref in unknown
            if not _is_by_pods(ref) and source_name(ref, namespace) not in known
        ),
        garbled=found is None and policy.record_annotation in workload.annotations,
    )


def _judge(
    source: Counted, before: Part | None, now: Part | None, policy: RolloutPolicy
) -> tuple[Part | None, ChangedSource | None]:
    """Return what is to be on record about one source, and how it differs from what was."""
    use, contents = source.use, source.contents
    by_pods = _is_by_pods(use.ref)
    if now is None:
        if source.excluded or by_pods:
            return before, None
        if policy.restart_on_delete and before is not None and ABSENT not in before:
            return _ABSENT_PART, ChangedSource(use, None, ())
        if before is None and policy.restart_on_create:
            return _ABSENT_PART, None
        return before, None
    if before is None:
        return now, None
    if ABSENT in before:
        appeared = ChangedSource(use, contents, ())
        return now, appeared if policy.restart_on_create else None
    differing = tuple(
        key
        for key, digest in before.items()
        if key not in {VERSION, ABSENT} and key in now and now[key] != digest
    )
    if not differing:
        same = before.keys() == now.keys()
        return (before if same else now), None  # its version alone is not worth a write
    stale = _is_older(now.get(VERSION, ""), before.get(VERSION, ""))
    if stale and by_pods:
        return before, None
    keys = () if WHOLE in differing else differing
    return now, ChangedSource(use, contents, keys, stale)


def _part(use: SourceUse, contents: SourceContents, key: DigestKey) -> Part:
    """Return the part of a record for the contents of a source."""
    if use.keys is None:
        digests = {WHOLE: key.of_digests(contents.digests.items())}
    else:
        digests = {
            name: contents.digests[name] for name in sorted(use.keys) if name in contents.digests
        }
    return {**digests, VERSION: contents.resource_version}


def _summary(part: Part, key: DigestKey) -> str:
    if WHOLE in part:
        return part[WHOLE]
    return key.of_digests((name, digest) for name, digest in part.items() if name != VERSION)


def _is_pending(workload: Workload, digest: str, key: DigestKey) -> bool:
    """Return whether the template carries another digest of ours, and the record is lost.

    That says nothing while a source that pods need is not known: the digest is not one of all
    contents then.
    """
    mark = workload.template_annotations.get(DIGEST, "")
    return mark.startswith(f"{key.id}.") and mark != digest


def _is_by_pods(ref: SourceRef) -> bool:
    """Return whether the contents of a source are known by the pods that mount it only."""
    return ref.kind is SourceKind.PROVIDER_CLASS


def _same(found: ContentRecord, record: ContentRecord) -> bool:
    return found.sources.keys() == record.sources.keys() and all(
        part is found.sources[name] or part == found.sources[name]
        for name, part in record.sources.items()
    )


def _is_older(version: str, other: str) -> bool:
    return version.isdecimal() and other.isdecimal() and int(version) < int(other)
