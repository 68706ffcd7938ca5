"""What a pod of a control plane goes by: the certificates that its Envoys are to show; pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from certwright.api.discoverydefaults import CLIENT_SECRET
from certwright.api.discoveryservices import DiscoveryService
from certwright.kube import JsonObject, Key, key_of
from certwright.operators.discoveryservice.certificates.contents import controller_name
from certwright.operators.discoveryservice.certificates.status import recorded_serial
from certwright.pki.rotation import RotationPhase


@dataclass(frozen=True, slots=True)
class AskedCertificates:
    """Whether an authority is being replaced, and what Envoys are to show."""

    rotating: bool = False
    serials: Mapping[str, str] = field(default_factory=dict)
    """The serial number of the certificate of each enabled namespace."""


def asked_certificates(service: Key, certificates: Iterable[JsonObject]) -> AskedCertificates:
    """Return what follows from the certificates of a DiscoveryService.

    *service* has its name and the namespace of its control plane. Labels can be written by anyone
    who may create certificates, so only those count whose controller the DiscoveryService is.
    """
    rotating = False
    serials: dict[str, str] = {}
    for one in certificates:
        key, spec = key_of(one), one.get("spec") or {}
        if controller_name(one, DiscoveryService.resource.kind) != service.name:
            continue
        if spec.get("isCA") is True and key.namespace == service.namespace:
            rotating = rotating or _phase(one) not in {"", RotationPhase.STABLE.value}
        elif key.name == CLIENT_SECRET and (serial := recorded_serial(one)):
            serials[key.namespace] = serial
    return AskedCertificates(rotating, serials)


def _phase(authority: JsonObject) -> str:
    rotation = (authority.get("status") or {}).get("rotation") or {}
    phase = rotation.get("phase") if isinstance(rotation, dict) else ""
    return phase if isinstance(phase, str) else ""
