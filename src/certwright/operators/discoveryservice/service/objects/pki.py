"""The certificates of a control plane, as objects that another controller issues for."""

from typing import Any

from certwright.api.discoverydefaults import CLIENT_LIFETIME, CLIENT_SECRET, PROPAGATION
from certwright.api.discoveryservices import DiscoveryServiceCertificate
from certwright.apply import ObjectRef
from certwright.kube import JsonObject
from certwright.operators.discoveryservice.service.plane import DiscoveryPlane

_RESOURCE = DiscoveryServiceCertificate.resource


def authority(plane: DiscoveryPlane) -> JsonObject:
    """Return the certificate of the authority, which signs itself."""
    made = _certificate(
        plane,
        plane.ca_secret,
        plane.namespace,
        commonName=f"marin3r-ca-{plane.name}",
        isCA=True,
        validFor=int(plane.ca_lifetime.total_seconds()),
        signer={"selfSigned": {}},
    )
    if plane.propagation:
        made["metadata"]["annotations"] = {PROPAGATION: plane.propagation}
    return made


def server(plane: DiscoveryPlane) -> JsonObject:
    """Return the certificate of the server, for the name of its Service."""
    return _certificate(
        plane,
        plane.server_secret,
        plane.namespace,
        commonName=f"marin3r-server-{plane.name}",
        server=True,
        validFor=int(plane.server_lifetime.total_seconds()),
        hosts=[plane.host],
        signer=_signer(plane),
    )


def client(plane: DiscoveryPlane, namespace: str) -> JsonObject:
    """Return the certificate that the Envoys of a namespace show."""
    return _certificate(
        plane,
        CLIENT_SECRET,
        namespace,
        commonName=f"marin3r-{plane.name}-client",
        validFor=int(CLIENT_LIFETIME.total_seconds()),
        signer=_signer(plane),
    )


def authority_ref(plane: DiscoveryPlane) -> ObjectRef:
    """Return which object the authority is."""
    return ObjectRef(_RESOURCE.api_version, _RESOURCE.kind, plane.namespace, plane.ca_secret)


def server_ref(plane: DiscoveryPlane) -> ObjectRef:
    """Return which object the certificate of the server is."""
    return ObjectRef(_RESOURCE.api_version, _RESOURCE.kind, plane.namespace, plane.server_secret)


def _certificate(plane: DiscoveryPlane, name: str, namespace: str, **spec: Any) -> JsonObject:
    secret = {"name": name, "namespace": namespace}
    return plane.obj(
        _RESOURCE.api_version,
        _RESOURCE.kind,
        name,
        namespace,
        spec={**spec, "secretRef": secret},
    )


def _signer(plane: DiscoveryPlane) -> JsonObject:
    secret = {"name": plane.ca_secret, "namespace": plane.namespace}
    return {"caSigned": {"caSecretRef": secret}}
