"""What the specs of ``operator.marin3r.3scale.net`` mean: old names, defaults, and identities.

Everything here is a pure function of a spec, so all that read one agree.
"""

from datetime import timedelta
from typing import Final, TypeVar
from urllib.parse import urlsplit

from msgspec import UNSET, UnsetType

from certwright.api.discoveryservices import (
    GROUP,
    CertificateSettings,
    DiscoveryServiceCertificateSpec,
    DiscoveryServiceSpec,
    PkiSettings,
    ServiceSettings,
)
from certwright.kube.durations import parse_duration

CA_LIFETIME: Final = timedelta(hours=26280)
SERVER_LIFETIME: Final = timedelta(hours=2160)
CLIENT_LIFETIME: Final = timedelta(hours=48)
CLIENT_SECRET: Final = "envoy-sidecar-client-cert"  # noqa: S105 - a name
PROPAGATION: Final = f"{GROUP}/propagation"
"""Annotation of an authority: a duration that counts instead of the operator's setting."""
XDS_PORT: Final = 18000
WEBHOOK_PORT: Final = 8443
METRICS_PORT: Final = 8383
PROBE_PORT: Final = 8384

T = TypeVar("T")
_TRUST_DOMAIN: Final = ".discoveryservice.marin3r.3scale.net"


def pki_settings(spec: DiscoveryServiceSpec) -> PkiSettings:
    """Return the settings of certificates, under whichever name they are given."""
    return _first(spec.pki_config, spec.old_pki_config) or PkiSettings()


def service_settings(spec: DiscoveryServiceSpec) -> ServiceSettings:
    """Return the settings of the Service, under whichever name they are given."""
    return _first(spec.service_config, spec.old_service_config) or ServiceSettings()


def xds_port(spec: DiscoveryServiceSpec) -> int:
    """Return the port where Envoys connect."""
    return _first(spec.xds_server_port, spec.old_xds_port) or XDS_PORT


def ca_secret_name(name: str, spec: DiscoveryServiceSpec) -> str:
    """Return the name of the Secret, and of the certificate, of the authority."""
    return _secret_name(pki_settings(spec).root_certificate_authority) or f"marin3r-ca-cert-{name}"


def server_secret_name(name: str, spec: DiscoveryServiceSpec) -> str:
    """Return the name of the Secret, and of the certificate, of the server."""
    return _secret_name(pki_settings(spec).server_certificate) or f"marin3r-server-cert-{name}"


def ca_lifetime(spec: DiscoveryServiceSpec) -> timedelta:
    """Return how long the authority is valid."""
    return _lifetime(pki_settings(spec).root_certificate_authority, CA_LIFETIME)


def server_lifetime(spec: DiscoveryServiceSpec) -> timedelta:
    """Return how long the certificate of the server is valid."""
    return _lifetime(pki_settings(spec).server_certificate, SERVER_LIFETIME)


def propagation(spec: DiscoveryServiceSpec) -> str:
    """Return how long a change of a Secret may take, as it is written; empty if it is not set."""
    found = pki_settings(spec).propagation
    return "" if found is UNSET else found


def is_renewed(spec: DiscoveryServiceCertificateSpec) -> bool:
    """Return whether a certificate is renewed, under whichever name that is given."""
    renewal = _first(spec.certificate_renewal, spec.old_certificate_renewal)
    return renewal is None or renewal.enabled


def deprecated_service_fields(spec: DiscoveryServiceSpec) -> list[str]:
    """Return the fields of a DiscoveryService that are used under an old name."""
    names = {
        "spec.pkiConfg": spec.old_pki_config,
        "spec.xdsPort": spec.old_xds_port,
        "spec.ServiceConfig": spec.old_service_config,
    }
    return [name for name, value in names.items() if value is not UNSET]


def deprecated_certificate_fields(spec: DiscoveryServiceCertificateSpec) -> list[str]:
    """Return the fields of a certificate that are used under an old name."""
    used = spec.old_certificate_renewal is not UNSET
    return ["spec.certificateRenewalNotification"] if used else []


def client_identity(discovery_service: str, namespace: str) -> str:
    """Return the URI by which certificates name a DiscoveryService and a namespace.

    The namespace is the one of the certificate's object, so it cannot be chosen by its spec.
    """
    return f"spiffe://{discovery_service}{_TRUST_DOMAIN}/ns/{namespace}"


def parse_client_identity(uri: str) -> tuple[str, str] | None:
    """Return the DiscoveryService and the namespace that a URI names; None for other URIs."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    steps = parts.path.split("/")
    if parts.scheme != "spiffe" or not parts.netloc.endswith(_TRUST_DOMAIN):
        return None
    service = parts.netloc.removesuffix(_TRUST_DOMAIN)
    whole = len(steps) == 3 and steps[:2] == ["", "ns"] and bool(service) and bool(steps[2])
    # Written again and compared: one text per identity, whatever else a URI may hold.
    return (service, steps[2]) if whole and client_identity(service, steps[2]) == uri else None


def _first(new: T | UnsetType, old: T | UnsetType) -> T | None:
    chosen = old if new is UNSET else new
    return None if chosen is UNSET else chosen


def _secret_name(settings: CertificateSettings | UnsetType) -> str:
    return "" if settings is UNSET or settings.secret_name is UNSET else settings.secret_name


def _lifetime(settings: CertificateSettings | UnsetType, usual: timedelta) -> timedelta:
    if settings is UNSET or settings.duration is UNSET:
        return usual
    return parse_duration(settings.duration)
