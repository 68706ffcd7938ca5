"""What stands in the way of an installation or an upgrade: all of it at once; pure.

Nothing is written while there is an obstacle, and what runs goes on as it is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from certwright.apply import ObjectRef
from certwright.bundles.versions import Minor
from certwright.kube import JsonObject
from certwright.operators.certmanager.engine.observed import DefinitionState
from certwright.operators.certmanager.engine.steps import StepOrder, Wanted, parsed, path
from certwright.operators.certmanager.request import InstallRequest

FORBIDDEN_NAMESPACES: Final = frozenset({"kube-system", "kube-public", "kube-node-lease"})
"""Namespaces that belong to Kubernetes: nothing is installed there."""
FORBIDDEN_PREFIXES: Final = ("kube-", "openshift-")


class Hindrance(StrEnum):
    """Why nothing is installed; also the reason of a condition."""

    FORBIDDEN_NAMESPACE = "ForbiddenNamespace"
    NAMESPACE_TERMINATING = "NamespaceTerminating"
    NAMESPACE_CHANGED = "NamespaceChanged"
    FOREIGN_INSTALLATION = "ForeignInstallation"
    KUBERNETES_VERSION = "UnsupportedKubernetesVersion"
    VERSIONS_SKIPPED = "VersionsSkipped"
    DOWNGRADE_REFUSED = "DowngradeRefused"
    FLAGS_INVALID = "InvalidOverride"
    STORED_VERSIONS = "StoredVersions"

    @property
    def concerns_version(self) -> bool:
        """Whether another version would not meet it, such as the one that runs."""
        return self in _OF_VERSION


_OF_VERSION: Final = frozenset(
    {
        Hindrance.KUBERNETES_VERSION,
        Hindrance.VERSIONS_SKIPPED,
        Hindrance.DOWNGRADE_REFUSED,
        Hindrance.FLAGS_INVALID,
        Hindrance.STORED_VERSIONS,
    }
)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One thing that stands in the way."""

    reason: Hindrance
    subjects: tuple[str, ...] = ()
    """Objects, namespaces, versions or flags it is about."""
    found: str = ""
    allowed: str = ""
    refs: tuple[ObjectRef, ...] = ()
    """The objects it is about, where it is about some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What preflight has to know about the cluster."""

    kubernetes: str = ""
    """Its minor version, such as ``1.36``; empty if that is not known."""
    window: tuple[str, str] | None = None
    """The oldest and the newest Kubernetes that the wanted version supports."""
    foreign: tuple[ObjectRef, ...] = ()
    """Objects that are wanted, exist, and are not ours."""
    others: tuple[ObjectRef, ...] = ()
    """Deployments of another cert-manager, elsewhere."""
    left_alone: tuple[ObjectRef, ...] = ()
    """Objects that are wanted and that others provide, which is fine."""
    namespace: JsonObject | None = None
    """The namespace, if others provide it."""
    namespace_terminating: bool = False
    installed_in: str = ""
    """The namespace of the installation that is there; empty if there is none."""
    installed: str = ""
    """The version that was last installed completely; the way back to it is always open."""
    known_versions: Sequence[str] = ()
    definitions: Mapping[str, DefinitionState] = field(default_factory=dict)


def preflight(
    request: InstallRequest, wanted: Wanted, course: StepOrder, around: Surroundings
) -> tuple[Obstacle, ...]:
    """Return everything that stands in the way."""
    checks: tuple[Callable[[], Iterator[Obstacle]], ...] = (
        lambda: _namespaces(request, around),
        lambda: _foreign(request, around),
        lambda: _kubernetes(around),
        lambda: _versions(request, course, around),
        lambda: _flags(wanted, course),
        lambda: _stored(wanted, around),
    )
    return tuple(found for check in checks for found in check())


def is_forbidden(namespace: str) -> bool:
    """Return whether nothing is installed in a namespace."""
    return namespace in FORBIDDEN_NAMESPACES or namespace.startswith(FORBIDDEN_PREFIXES)


def _namespaces(request: InstallRequest, around: Surroundings) -> Iterator[Obstacle]:
    if is_forbidden(request.namespace):
        yield Obstacle(Hindrance.FORBIDDEN_NAMESPACE, (request.namespace,))
    if around.namespace_terminating:
        yield Obstacle(Hindrance.NAMESPACE_TERMINATING, (request.namespace,))
    if around.installed_in not in {"", request.namespace}:
        yield Obstacle(
            Hindrance.NAMESPACE_CHANGED, (request.namespace,), allowed=around.installed_in
        )


def _foreign(request: InstallRequest, around: Surroundings) -> Iterator[Obstacle]:
    found = around.others if request.adopt else (*around.foreign, *around.others)
    if found:
        named = tuple(map(str, found))
        yield Obstacle(Hindrance.FOREIGN_INSTALLATION, named, refs=tuple(found))


def _kubernetes(around: Surroundings) -> Iterator[Obstacle]:
    """Refuse a Kubernetes that is too old; on one that is too new, versions usually work."""
    if around.window is None or not around.kubernetes:
        return
    oldest, newest = map(Minor.parse, around.window)
    if Minor.parse(around.kubernetes) < oldest:
        allowed = f"{oldest} to {newest}"
        yield Obstacle(Hindrance.KUBERNETES_VERSION, (), around.kubernetes, allowed)


def _versions(
    request: InstallRequest, course: StepOrder, around: Surroundings
) -> Iterator[Obstacle]:
    older, newer = parsed(course.older), parsed(request.version)
    if not course.staged or not older.major or request.version == around.installed:
        return
    if older > newer:
        if not request.upgrade.allow_downgrade:
            yield Obstacle(Hindrance.DOWNGRADE_REFUSED, (request.version,), found=course.older)
        return
    skipped = newer.number - older.number > 1 or newer.major != older.major
    if skipped and not request.upgrade.allow_skip:
        steps = tuple(path(course.older, request.version, around.known_versions))
        yield Obstacle(Hindrance.VERSIONS_SKIPPED, steps, found=course.older)


def _flags(wanted: Wanted, course: StepOrder) -> Iterator[Obstacle]:
    """Refuse an upgrade, and not what keeps an installation, over what cannot be rendered."""
    if course.staged and wanted.problems:
        named = tuple(problem.message for problem in wanted.problems)
        yield Obstacle(Hindrance.FLAGS_INVALID, named, found=course.older)


def _stored(wanted: Wanted, around: Surroundings) -> Iterator[Obstacle]:
    """Refuse definitions that lack the version in which objects are stored from now on.

    Objects stored in other versions are migrated; see `migration`.
    """
    versions = wanted.versions
    for name, state in around.definitions.items():
        if state.found and state.storage and state.storage not in versions.get(name, state.storage):
            allowed = ", ".join(sorted(versions[name]))
            yield Obstacle(Hindrance.STORED_VERSIONS, (name,), state.storage, allowed)
