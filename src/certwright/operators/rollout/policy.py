"""What a dialect says about a workload: the value the engine works with.

A dialect is a pure function from a workload to a `RolloutPolicy`, or None if the workload does not
ask for restarts in this dialect. It reads no cluster. The engine asks the dialects in their order,
and the first policy counts::

    class OurDialect:
        name = "certwright"
        sources = frozenset(SourceKind)

        def covers(self, namespace: NamespaceFacts) -> bool: ...
        def policy(self, workload: Workload) -> RolloutPolicy | None: ...
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol, TypeAlias

from certwright.kube import JsonObject
from certwright.operators.rollout.decision.window import MaintenanceWindow
from certwright.operators.rollout.patterns import NamePattern
from certwright.operators.rollout.workload import (
    SourceKind,
    SourceRef,
    SourceUse,
    UsePath,
    Workload,
    WorkloadKind,
)

DOMAIN: Final = "rollout.certwright.dev"
RECORD: Final = f"{DOMAIN}/consumed"
"""The annotation of a workload that records the digests of what its pods consume."""
DIGEST: Final = f"{DOMAIN}/digest"
"""The annotation of the pod template whose change restarts the pods."""
RESTARTED_AT: Final = f"{DOMAIN}/restarted-at"
"""The annotation of a workload that says when it was restarted last; RFC 3339, UTC."""


# Which sources count


@dataclass(frozen=True, slots=True)
class SourceCondition:
    """What the metadata of a source must say for it to count, so that the dialect stays data.

    *name* is a key of its annotations (of its labels, if *label*), and *alternative* one that will
    do as well. With *value* None, any value will do. With *negated* it counts unless that is so.
    """

    name: str
    value: str | None = None
    label: bool = False
    negated: bool = False
    alternative: str = ""

    def holds(self, labels: Mapping[str, str], annotations: Mapping[str, str]) -> bool:
        """Return whether a source with these labels and annotations counts."""
        given = labels if self.label else annotations
        found = given.get(self.name, given.get(self.alternative))
        said = found is not None and self.value in (None, found)
        return said is not self.negated


@dataclass(frozen=True, slots=True)
class CandidateSource:
    """A source that may trigger a restart, and on which conditions."""

    use: SourceUse
    conditions: tuple[SourceCondition, ...] = ()
    """All of them must hold."""


@dataclass(frozen=True, slots=True)
class CandidatePattern:
    """All sources of a kind in a namespace whose names match."""

    kind: SourceKind
    namespace: str
    pattern: NamePattern
    conditions: tuple[SourceCondition, ...] = ()
    excluded: frozenset[str] = frozenset()
    """Names that do not count although they match."""

    def matches(self, name: str) -> bool:
        """Return whether a source of this name may trigger a restart."""
        return name not in self.excluded and self.pattern.matches(name)


# What a restart leaves behind


@dataclass(frozen=True, slots=True)
class ConsumedSource:
    """A source as it is now, for bookkeeping."""

    use: SourceUse
    resource_version: str
    digest: str
    """Keyed, over what is consumed of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartFacts:
    """What the marks of a restart, or of a record, may be made of."""

    workload: Workload
    now: datetime
    digest: str
    """Keyed, over everything the pods consume."""
    changed: tuple[ConsumedSource, ...] = ()
    """What the restart is for; empty when contents are only recorded."""
    consumed: tuple[ConsumedSource, ...] = ()
    """Everything that counts and exists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartMarks:
    """What is written into a workload in one patch; None as a value removes a key."""

    labels: Mapping[str, str | None] = field(default_factory=dict)
    annotations: Mapping[str, str | None] = field(default_factory=dict)
    template_labels: Mapping[str, str | None] = field(default_factory=dict)
    template_annotations: Mapping[str, str | None] = field(default_factory=dict)
    environment: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By container: variables to set. Kinds of the API only, not of CRDs."""
    spec: JsonObject = field(default_factory=dict)
    """Fields merged into the spec, such as ``paused``."""


NO_MARKS: Final = RestartMarks()
MarksFunction: TypeAlias = Callable[[RestartFacts], RestartMarks]


def no_marks(_facts: RestartFacts) -> RestartMarks:
    """Leave nothing behind but what the engine itself writes."""
    return NO_MARKS


class RestartMode(StrEnum):
    """How the pods get to read the new contents."""

    TEMPLATE = "template"
    """The digest in the pod template changes, and the controller of the workload replaces pods."""
    ENVIRONMENT = "environment"
    """Only the variables of `RestartMarks.environment` change in the template."""
    RESTART_AT = "restartAt"
    """Of Argo Rollouts: pods are restarted, and there is no new revision."""
    INSTANTIATE = "instantiate"
    """Of CronJobs: a Job is made now, besides the digest in its template."""
    RECREATE = "recreate"
    """Of Jobs, and the only way for them: one with the new contents takes its place."""


@dataclass(frozen=True, slots=True)
class PausePeriod:
    """A Deployment is paused with each restart for a while, so that further changes join."""

    duration: timedelta
    annotation: str
    """Which says when it was paused; RFC 3339."""


@dataclass(frozen=True, slots=True)
class EventWords:
    """The reasons of the events on a workload, and their source."""

    source: str = "certwright-rollout"
    restarted: str = "Restarted"
    failed: str = "RestartFailed"
    stalled: str = "RolloutStalled"
    waiting: str = "RestartPending"
    invalid: str = "InvalidRolloutSettings"
    missing: str = "SourceMissing"
    restarted_kinds: frozenset[str] | None = None
    """The kinds of workloads that get the event `restarted`; all if None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutPolicy:
    """How one workload is to be treated."""

    dialect: str
    candidates: tuple[CandidateSource, ...] = ()
    patterns: tuple[CandidatePattern, ...] = ()
    enabled: bool = True
    """False if it asks to be left alone: contents are not even recorded."""
    restart_on_create: bool = False
    """Whether a source that appears restarts pods that were started without it."""
    restart_on_delete: bool = False
    """Whether pods restart when a source is deleted."""
    mode: RestartMode = RestartMode.TEMPLATE
    record_annotation: str = RECORD
    restart_marks: MarksFunction = no_marks
    """What a restart writes besides the record, the digest and the time."""
    record_marks: MarksFunction = no_marks
    """What is written when contents are only recorded: nothing in the template."""
    quiet: timedelta | None = None
    """How long contents must be unchanged before a restart; the engine's setting if None."""
    minimum_interval: timedelta = timedelta()
    """How long after a restart the next one may follow."""
    window: MaintenanceWindow | None = None
    """When it may restart; at any time if None."""
    paused: str = ""
    """Why it must not restart at present, such as the name of an annotation; empty if it may."""
    pause_period: PausePeriod | None = None
    check_certificates: bool = True
    """Whether an expired, not yet valid or mismatching certificate holds the restart back."""
    events: EventWords = EventWords()
    problems: tuple[str, ...] = ()
    """What is wrong with the annotations, in words for users. Contents are recorded, and there is
    no restart until it is corrected."""


@dataclass(frozen=True, slots=True)
class NamespaceFacts:
    """What is known about a namespace."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)


class Dialect(Protocol):
    """The annotations and marks of one family of tools."""

    @property
    def name(self) -> str:
        """The name it is known by in settings, logs and metrics."""
        ...

    @property
    def sources(self) -> frozenset[SourceKind]:
        """Which kinds have to be watched for it."""
        ...

    @property
    def reads_namespaces(self) -> bool:
        """Whether `covers` reads labels, so that namespaces have to be watched."""
        ...

    def covers(self, namespace: NamespaceFacts) -> bool:
        """Return whether workloads of a namespace are treated at all."""
        ...

    def policy(self, workload: Workload) -> RolloutPolicy | None:
        """Return how a workload is to be treated; None if it does not ask in this dialect."""
        ...


def policy_of(dialect: Dialect, workload: Workload) -> RolloutPolicy | None:
    """Return how a dialect treats a workload; None if it does not, or the kind does not allow it.

    Jobs can only be recreated, and those of CronJobs are left to these.
    """
    is_job = workload.ref.kind is WorkloadKind.JOB
    policy = None if is_job and workload.controlled else dialect.policy(workload)
    if policy is None or (policy.mode is RestartMode.RECREATE) is not is_job:
        return None
    return policy


def candidates_of(
    uses: Sequence[SourceUse],
    *conditions: SourceCondition,
    kinds: frozenset[SourceKind] | None = None,
) -> tuple[CandidateSource, ...]:
    """Return uses as candidates on the same conditions, of some kinds or of all."""
    return tuple(
        CandidateSource(use, conditions) for use in uses if kinds is None or use.ref.kind in kinds
    )


def named_use(uses: Sequence[SourceUse], ref: SourceRef) -> SourceUse:
    """Return the use of a source that an annotation names: that of the template, or a whole one."""
    whole = SourceUse(ref, None, frozenset({UsePath.NAMED}))
    return next((use for use in uses if use.ref == ref), whole)
