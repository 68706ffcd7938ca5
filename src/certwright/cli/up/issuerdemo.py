"""The demo of an issuer: an authority, its issuer and a request to it."""

from base64 import b64encode
from datetime import datetime, timedelta
from typing import Final

from certwright import pki
from certwright.api.certmanager import CertificateRequest
from certwright.issuers.ca import app
from certwright.kube import JsonObject

NAME: Final = "sample"
NAMESPACE: Final = "default"


def issuer_sample(now: datetime) -> list[JsonObject]:
    """Return a Secret with a new authority, the issuer that signs with it, and a request."""
    metadata = {"namespace": NAMESPACE, "name": NAME}
    name, key = pki.parse_name("CN=Sample CA"), pki.generate_key(pki.KeySpec())
    root = pki.create_root(name, key, timedelta(days=365), now)
    authority = {
        "tls.crt": _encoded(pki.write_certificates(root.certificate)),
        "tls.key": _encoded(pki.write_key(key)),
    }
    assert app.namespaced_kind is not None
    kind = app.namespaced_kind.resource
    secret = {"namespace": NAMESPACE, "name": f"{NAME}-ca"}
    return [
        {"apiVersion": "v1", "kind": "Secret", "metadata": secret, "data": authority},
        {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": metadata,
            "spec": {"authorities": [{"name": secret["name"]}]},
        },
        {
            "apiVersion": CertificateRequest.resource.api_version,
            "kind": CertificateRequest.resource.kind,
            "metadata": metadata,
            "spec": {
                "request": _encoded(_signing_request()),
                "issuerRef": {"name": NAME, "kind": kind.kind, "group": kind.group},
                "usages": ["digital signature", "server auth"],
            },
        },
    ]


def suggestions(kubectl: str, certwright: str = "certwright") -> list[str]:
    """Return commands to look at the certificate."""
    assert app.namespaced_kind is not None
    issuers = app.namespaced_kind.resource.plural
    return [
        f"{kubectl} get {issuers},certificaterequests   # an issuer, and what it signed",
        f"{certwright} cert inspect cr/{NAME}   # the certificate, its chain, does it match",
        f"{kubectl} delete secret {NAME}-ca   # the issuer reports what is missing",
    ]


def _signing_request() -> bytes:
    names = pki.AlternativeNames.of_hosts("sample.default.svc")
    key = pki.generate_key(pki.KeySpec())
    return pki.write_request(pki.build_request(key, pki.parse_name("CN=sample"), names))


def _encoded(data: bytes) -> str:
    return b64encode(data).decode()
