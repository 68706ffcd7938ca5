"""What of a request stays in memory."""

import orjson
import pytest

from certwright.issuer.requests.transform import Slim

GROUP = "pki.example.com"
SLIM = Slim(GROUP)


def request(group=GROUP, **status):
    spec = {"request": "LS0t", "issuerRef": {"name": "ca", "group": group}, "groups": ["a"]}
    return {"metadata": {"name": "a"}, "spec": spec, "status": status}


def signing(signer=f"demoissuers.{GROUP}/ca", **status):
    spec = {"request": "LS0t", "signerName": signer}
    return {"metadata": {"name": "a"}, "spec": spec, "status": status}


def ready(status, reason="X"):
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
def test_what_may_still_be_signed_is_kept_whole(obj):
    raw = orjson.dumps(obj)
    assert SLIM(raw) is raw


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
def test_of_the_rest_the_texts_go(obj):
    slim = orjson.loads(SLIM(orjson.dumps(obj)))
    assert slim["spec"]["request"] == ""
    assert "groups" not in slim["spec"]
    assert bool(slim["status"].get("certificate")) is bool(obj["status"].get("certificate"))
    assert len(orjson.dumps(slim)) <= len(orjson.dumps(obj))
    assert slim["metadata"] == obj["metadata"]
