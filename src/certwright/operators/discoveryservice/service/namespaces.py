"""Which namespaces are served, which labels they need, and what each of them gets."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from certwright.kube import JsonObject
from certwright.operators.discoveryservice.injection.bootstrap import Bootstrap, bootstrap_files
from certwright.operators.discoveryservice.injection.review import (
    ENABLED,
    OWNER_LABEL,
    STATUS_LABEL,
)
from certwright.operators.discoveryservice.service.objects.access import namespace_access
from certwright.operators.discoveryservice.service.objects.pki import client
from certwright.operators.discoveryservice.service.plane import KUBE_SYSTEM, DiscoveryPlane

CONFIG_MAP: Final = "envoy-sidecar-bootstrap"
_WITHOUT: Final[Mapping[str, str | None]] = {OWNER_LABEL: None, STATUS_LABEL: None}


class NamespaceProblem(StrEnum):
    """Why a namespace is not served."""

    MISSING = "NamespaceNotFound"
    TERMINATING = "NamespaceTerminating"
    OWNED = "OwnedByOther"
    EXCLUDED = "NotEligible"
    FAILED = "ApplyFailed"


@dataclass(frozen=True, slots=True)
class FoundNamespace:
    """A namespace as it is."""

    labels: Mapping[str, str]
    terminating: bool = False


@dataclass(frozen=True, slots=True)
class Unserved:
    """A namespace that was enabled and is not served."""

    name: str
    problem: NamespaceProblem
    detail: str = ""
    """The DiscoveryService that owns it, or what the server said."""


@dataclass(frozen=True, slots=True)
class NamespacePlan:
    """What is to be done about namespaces."""

    served: tuple[str, ...] = ()
    unserved: tuple[Unserved, ...] = ()
    labels: tuple[tuple[str, Mapping[str, str | None]], ...] = ()
    """Labels that are missing, by namespace."""
    unlabelled: tuple[tuple[str, Mapping[str, str | None]], ...] = ()
    """Labels to take away from namespaces that are not enabled any more."""


def plan_namespaces(
    plane: DiscoveryPlane, found: Mapping[str, FoundNamespace], others: Collection[str]
) -> NamespacePlan:
    """Return what is to be done; *others* are the names of other DiscoveryServices there are.

    A label that names one which does not exist was left behind: it does not count.
    """
    served: list[str] = []
    unserved: list[Unserved] = []
    for name in plane.enabled:
        problem = _problem(plane, name, found.get(name), others)
        if problem is None:
            served.append(name)
        else:
            unserved.append(problem)
    wanted = {OWNER_LABEL: plane.name, STATUS_LABEL: ENABLED}
    labels = []
    for name in served:
        missing = {
            key: value for key, value in wanted.items() if found[name].labels.get(key) != value
        }
        if missing:
            labels.append((name, missing))
    return NamespacePlan(
        tuple(served), tuple(unserved), tuple(labels), labels_to_remove(plane.name, found, served)
    )


def labels_to_remove(
    owner: str, found: Mapping[str, FoundNamespace], served: Collection[str] = ()
) -> tuple[tuple[str, Mapping[str, str | None]], ...]:
    """Return the namespaces that have labels of a DiscoveryService and are not served by it."""
    return tuple(
        (name, {key: None for key in _WITHOUT if key in one.labels})
        for name, one in sorted(found.items())
        if one.labels.get(OWNER_LABEL) == owner and name not in set(served)
    )


def namespace_objects(plane: DiscoveryPlane, namespace: str) -> list[JsonObject]:
    """Return what an enabled namespace gets: a certificate, a bootstrap, and a Role."""
    files = bootstrap_files(Bootstrap(plane.host, plane.xds_port))
    return [
        client(plane, namespace),
        plane.obj("v1", "ConfigMap", CONFIG_MAP, namespace, data=files),
        *namespace_access(plane, namespace),
    ]


def _problem(
    plane: DiscoveryPlane, name: str, found: FoundNamespace | None, others: Collection[str]
) -> Unserved | None:
    if name in {KUBE_SYSTEM, plane.namespace}:
        return Unserved(name, NamespaceProblem.EXCLUDED)
    if found is None:
        return Unserved(name, NamespaceProblem.MISSING)
    if found.terminating:
        return Unserved(name, NamespaceProblem.TERMINATING)
    owner = found.labels.get(OWNER_LABEL, plane.name)
    if owner != plane.name and owner in others:
        return Unserved(name, NamespaceProblem.OWNED, owner)
    return None
