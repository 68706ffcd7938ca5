"""What of a request stays in memory."""

from typing import Any

import orjson
import pytest

from certwright.issuer.requests.certificaterequest import CertificateRequestKind
from certwright.issuer.requests.kind import RequestKind
from certwright.issuer.requests.signingrequest import SigningRequestKind
from certwright.issuer.settings import IssuerSettings
from certwright.kube import JsonObject

GROUP = "pki.example.com"
SETTINGS = IssuerSettings(group=GROUP)


def kind_of(obj: Any) -> RequestKind:
    is_signing = "signerName" in obj.get("spec", {})
    return (SigningRequestKind if is_signing else CertificateRequestKind)((), SETTINGS)


def request(group: str = GROUP, **status: Any) -> JsonObject:
    spec = {"request": "LS0t", "issuerRef": {"name": "ca", "group": group}, "groups": ["a"]}
    return {"metadata": {"name": "a"}, "spec": spec, "status": status}


def signing(signer: str = f"demoissuers.{GROUP}/ca", **status: Any) -> JsonObject:
    spec = {"request": "LS0t", "signerName": signer}
    return {"metadata": {"name": "a"}, "spec": spec, "status": status}


def ready(status: str, reason: str = "X") -> list[dict[str, str]]:
    return [{"type": "Ready", "status": status, "reason": reason}]


@pytest.mark.parametrize(
    "obj",
    [
        request(),
        request(conditions=ready("False", "Pending")),
        request(conditions=[{"type": "Failed", "status": "True"}]),
        signing(),
        signing(conditions=[{"type": "Approved", "status": "True"}]),
        {"metadata": {"name": "a"}},
    ],
)
def test_what_may_still_be_signed_is_kept_whole(obj: JsonObject) -> None:
    raw = orjson.dumps(obj)
    assert kind_of(obj).reduce(raw) is raw


@pytest.mark.parametrize(
    "obj",
    [
        request("other.example.com"),
        request(conditions=ready("True"), certificate="LS0t", ca="LS0t"),
        request(conditions=ready("False", "Failed")),
        request(conditions=ready("False", "Denied")),
        signing("kubernetes.io/kube-apiserver-client"),
        signing(certificate="LS0t"),
        signing(conditions=[{"type": "Denied", "status": "True"}]),
    ],
)
def test_of_the_rest_the_texts_go(obj: JsonObject) -> None:
    reduced = orjson.loads(kind_of(obj).reduce(orjson.dumps(obj)))
    assert reduced["spec"]["request"] == ""
    assert "groups" not in reduced["spec"]
    assert bool(reduced["status"].get("certificate")) is bool(obj["status"].get("certificate"))
    assert len(orjson.dumps(reduced)) <= len(orjson.dumps(obj))
    assert reduced["metadata"] == obj["metadata"]
