"""What a custom resource contributes to the engine, and the report it gets from a pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from certwright.apply import Change, ObjectRef
from certwright.kube import JsonObject, Object
from certwright.operators.certmanager.engine.gates import TOLD_BY_EVENTS, Finding
from certwright.operators.certmanager.engine.observed import ComponentState, DefinitionState
from certwright.operators.certmanager.engine.preflight import Obstacle
from certwright.operators.certmanager.engine.pullsecret import PullSecretDecision
from certwright.operators.certmanager.engine.steps import Wanted
from certwright.operators.certmanager.render import InstallStep
from certwright.operators.certmanager.request import InstallRequest, Management
from certwright.runtime.writes.events import EventType


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a whole pass could not be made: a reason for conditions, and what to do."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class StepProgress:
    """The step that is not finished: which, towards which version, and since when."""

    step: str
    version: str
    since: datetime
    left: Sequence[str] = ()
    """The other versions whose pods may run until all steps are finished."""


@dataclass(frozen=True, slots=True)
class Previous:
    """What the status of a custom resource said when it was read."""

    inventory: Sequence[str] = ()
    installed: str = ""
    progress: StepProgress | None = None
    failed_version: str = ""
    """The version from which the installation was rolled back; empty if it was not."""

    @property
    def left(self) -> Sequence[str]:
        """The versions that are being left, also if another one is requested meanwhile."""
        return self.progress.left if self.progress is not None else ()


@dataclass(frozen=True, slots=True)
class Remains:
    """What a removal has not done yet, and what it leaves on purpose."""

    pending: tuple[Change, ...] = ()
    """Objects that are not gone yet, or cannot be deleted."""
    challenges: tuple[str, ...] = ()
    """Challenges that are under way."""
    certificates: tuple[str, ...] = ()
    """Certificates that would be lost with their definition."""
    namespace_used_by: tuple[str, ...] = ()
    """Objects of others because of which the namespace stays."""

    @property
    def blocked(self) -> bool:
        """Whether something has to be done by others first."""
        return bool(self.certificates)

    @property
    def done(self) -> bool:
        """Whether all is gone that was to go."""
        return not self.pending and not self.blocked


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallReport:
    """What one pass found and did."""

    request: InstallRequest | None = None
    asked: str = ""
    """The version that is requested."""
    version: str = ""
    """The version this pass worked towards: another one if that must not be installed."""
    installed: str = ""
    """The version that all components run, and that works; empty if there is none."""
    was_installed: str = ""
    """The version that was last installed completely."""
    management: Management = Management.MANAGED
    components: tuple[ComponentState, ...] = ()
    definitions: tuple[DefinitionState, ...] = ()
    expected_components: int = 0
    expected_definitions: int = 0
    findings: tuple[Finding, ...] = ()
    """What the gates found, those that were reached."""
    serving: bool = False
    """Whether what ran before still issues certificates while another version is on its way."""
    progress: StepProgress | None = None
    overdue: bool = False
    """Whether the step has taken longer than it may."""
    troubles: tuple[Trouble, ...] = ()
    """What is wrong with the request or its bundle."""
    obstacles: tuple[Obstacle, ...] = ()
    unmigrated: tuple[str, ...] = ()
    """Objects that could not be stored anew, each with the reason."""
    failed: tuple[Change, ...] = ()
    """Objects that could not be written or deleted, or wait."""
    holder: str = ""
    """Who else holds the installation; empty if we do."""
    helpers: tuple[ComponentState, ...] = ()
    """What runs besides the three components."""
    pull_secret: PullSecretDecision | None = None
    """What was decided about the Secret with which images are pulled."""
    left_alone: tuple[ObjectRef, ...] = ()
    """Objects that are wanted and that others provide."""
    namespace_labels: Mapping[str, str] | None = None
    """The labels of the namespace, if others provide it."""
    remains: Remains | None = None
    """What a removal has not done yet; None if nothing is removed."""
    inventory: Sequence[str] = ()
    failed_version: str = ""

    @property
    def available(self) -> bool:
        """Whether certificates can be issued: all gates were reached, and passed.

        While another version is on its way, the one that runs counts.
        """
        if self.serving:
            return True
        reached = {finding.step for finding in self.findings}
        return reached == set(InstallStep) and all(finding.passed for finding in self.findings)

    @property
    def announced(self) -> bool:
        """Whether an event tells when what is waited for has happened."""
        late = {finding.reason for finding in self.findings if not finding.passed}
        return bool(late) and late <= TOLD_BY_EVENTS

    @property
    def settled(self) -> bool:
        """Whether nothing is left to do: all is as wanted and works."""
        trouble = self.troubles or self.obstacles or self.failed or self.unmigrated
        return self.available and not trouble and self.progress is None


class SourceError(Exception):
    """What is requested cannot be had: no such version, a bundle is missing or damaged, and so on.

    *reason* is that of a condition.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Source(Protocol):
    """Where the objects of versions come from."""

    @property
    def default(self) -> str:
        """The version that is installed if none is asked for."""
        ...

    @property
    def versions(self) -> Sequence[str]:
        """The versions that can be installed."""
        ...

    def window(self, version: str) -> tuple[str, str] | None:
        """Return the oldest and newest Kubernetes a version supports; None if not known."""
        ...

    def wanted(self, request: InstallRequest) -> Wanted:
        """Return the objects of a request; `SourceError` if they cannot be had."""
        ...


class Events(Protocol):
    """Which events tell about a pass."""

    def changed(self, change: Change, *, repaired: bool) -> Sequence[tuple[EventType, str, str]]:
        """Return type, reason and note of the events about an object that was written.

        *repaired*: nothing else is wanted than before, and others had changed it.
        """
        ...

    def removed(self, change: Change) -> None:
        """Take note of an object that goes with the installation."""
        ...

    def reported(
        self, before: Previous, report: InstallReport
    ) -> Sequence[tuple[EventType, str, str]]:
        """Return those about the installation as a whole."""
        ...


T = TypeVar("T", bound=Object)


class InstallKind(Protocol[T]):
    """A custom resource that asks for an installation."""

    @property
    def kind(self) -> type[T]:
        """Its type."""
        ...

    @property
    def events(self) -> Events:
        """The events that its users know."""
        ...

    def rejected(self, obj: T) -> Trouble | None:
        """Return why an object is not acted on at all, such as for its name."""
        ...

    def request(self, obj: T, default_version: str) -> InstallRequest:
        """Return what an object asks for; `SourceError` if that cannot be told."""
        ...

    def previous(self, obj: T) -> Previous:
        """Return what its status says."""
        ...

    def status(self, obj: T, report: InstallReport, now: datetime) -> JsonObject:
        """Return the whole status that tells a report; equal to the old one if nothing changed."""
        ...

    def is_urgent(self, before: JsonObject, after: JsonObject) -> bool:
        """Return whether two statuses differ in more than counts that change all the time."""
        ...


def holder_name(obj: Object) -> str:
    """Return how the claim names a custom resource: kind, name and uid."""
    return f"{type(obj).resource.kind}/{obj.key}/{obj.metadata.uid}"


def refs_of(listed: Sequence[str]) -> list[ObjectRef]:
    """Return the objects of an inventory; what cannot be read is left out."""
    found = []
    for text in listed:
        try:
            found.append(ObjectRef.parse(text))
        except ValueError:
            continue
    return found
