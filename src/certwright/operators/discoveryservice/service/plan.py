"""All objects of a control plane that follow from what was asked for and what was found; pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from certwright.apply import Declared, ObjectRef, Rules
from certwright.kube import JsonObject
from certwright.operators.discoveryservice.service.namespaces import (
    FoundNamespace,
    NamespacePlan,
    namespace_objects,
    plan_namespaces,
)
from certwright.operators.discoveryservice.service.objects import pki
from certwright.operators.discoveryservice.service.objects.access import access_objects
from certwright.operators.discoveryservice.service.objects.registration import (
    config_configuration,
    trust_config_map,
    webhook_configuration,
)
from certwright.operators.discoveryservice.service.objects.workload import (
    deployment,
    disruption_budget,
    service,
)
from certwright.operators.discoveryservice.service.plane import DiscoveryPlane, ServerCertificate

_RECREATED: Final = Rules(recreate=True)
"""The address of a Service cannot be changed to none, and back."""


@dataclass(frozen=True, slots=True)
class FoundPlane:
    """What a pass found."""

    namespaces: Mapping[str, FoundNamespace]
    others: Collection[str]
    """Names of other DiscoveryServices."""
    certificate: ServerCertificate | None
    """Of the server; None while it cannot be used."""


@dataclass(frozen=True, slots=True)
class PlanePlan:
    """What a pass brings to the cluster."""

    objects: tuple[JsonObject | Declared, ...]
    later: tuple[ObjectRef, ...]
    """What is not among them yet, because something has to be found before."""
    namespaces: NamespacePlan
    bundle: bytes = b""
    """The authorities that the API server shall trust."""

    @property
    def complete(self) -> bool:
        """Whether nothing is left out, so that what is not declared can go."""
        return not self.later

    @property
    def refs(self) -> list[ObjectRef]:
        """All objects, also those that come later."""
        return [*map(_ref, self.objects), *self.later]


def make_plan(plane: DiscoveryPlane, found: FoundPlane) -> PlanePlan:
    """Return the objects and labels that are wanted now.

    Until the certificate of the server is there, neither the pods, which could not start, nor the
    webhook configuration, for which the API server would know no authority, is written. Those that
    exist stay as they are meanwhile.
    """
    namespaces = plan_namespaces(plane, found.namespaces, found.others)
    budget = disruption_budget(plane)
    objects: list[JsonObject | Declared] = [
        pki.authority(plane),
        pki.server(plane),
        *access_objects(plane),
        Declared(service(plane), _RECREATED),
        *([budget] if budget is not None else []),
    ]
    for name in namespaces.served:
        objects += namespace_objects(plane, name)
    waiting = certified_objects(plane, found.certificate or ServerCertificate(b"", ""))
    if found.certificate is None:
        return PlanePlan(tuple(objects), tuple(map(_ref, waiting)), namespaces)
    return PlanePlan((*objects, *waiting), (), namespaces, found.certificate.bundle)


def certified_objects(plane: DiscoveryPlane, certificate: ServerCertificate) -> list[JsonObject]:
    """Return what needs the certificate of the server."""
    return [
        trust_config_map(plane, certificate.bundle),
        deployment(plane, certificate.hash),
        webhook_configuration(plane, certificate.bundle),
        config_configuration(plane, certificate.bundle),
    ]


def _ref(one: JsonObject | Declared) -> ObjectRef:
    return one.ref if isinstance(one, Declared) else ObjectRef.of(one)
