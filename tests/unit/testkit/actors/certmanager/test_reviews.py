"""What the played webhook answers."""

import base64

import orjson
import pytest

from certwright.kube import JsonObject
from certwright.testkit.actors.certmanager.reviews import converted, mutated, validated
from certwright.testkit.actors.certmanager.validation import refusal

GOOD: JsonObject = {"secretName": "s", "dnsNames": ["a.example"], "issuerRef": {"name": "i"}}


def review(kind: str, spec: JsonObject, operation: str = "CREATE") -> JsonObject:
    request = {
        "uid": "7", "kind": {"kind": kind}, "operation": operation,
        "object": {"kind": kind, "spec": spec},
        "userInfo": {"username": "jane", "groups": ["a", "b"], "uid": ""},
    }  # fmt: skip
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


@pytest.mark.parametrize(
    ("kind", "spec", "message"),
    [
        ("Certificate", GOOD, ""),
        ("Certificate", {**GOOD, "dnsNames": [], "commonName": "a"}, ""),
        ("Certificate", {**GOOD, "dnsNames": []}, "spec: Invalid value"),
        ("Certificate", {**GOOD, "issuerRef": {"name": "i", "kind": "X"}}, "must be one of Issuer"),
        ("Certificate", {**GOOD, "issuerRef": {"name": "i", "kind": "X", "group": "g"}}, ""),
        ("Certificate", {}, "[spec.secretName"),
        ("CertificateRequest", {"request": "x", "issuerRef": {"name": "i"}}, ""),
        ("CertificateRequest", {"issuerRef": {"name": "i"}}, "spec.request: Required value"),
        ("Issuer", {"selfSigned": {}}, ""),
        ("ClusterIssuer", {}, "at least one issuer must be configured"),
        ("Issuer", {"ca": {}, "selfSigned": {}}, "may not specify more than one issuer type"),
        ("Order", {}, ""),
    ],
)
def test_senseless_objects_are_refused(kind: str, spec: JsonObject, message: str) -> None:
    found = refusal({"kind": kind, "spec": spec})
    assert message in found
    assert bool(message) == bool(found)
    response = validated(review(kind, spec))["response"]
    assert response["uid"] == "7"
    assert response["allowed"] is not bool(message)
    assert response.get("status", {}).get("message", "") == found


def test_deletions_are_accepted() -> None:
    gone = review("Certificate", {}, "DELETE")
    assert validated(gone)["response"]["allowed"] is True


def test_new_requests_are_given_their_author() -> None:
    response = mutated(review("CertificateRequest", {}))["response"]
    patch = orjson.loads(base64.b64decode(response["patch"]))
    assert {each["path"]: each["value"] for each in patch} == {
        "/spec/username": "jane",
        "/spec/groups": ["a", "b"],
    }
    for other in (review("CertificateRequest", {}, "UPDATE"), review("Certificate", GOOD)):
        assert "patch" not in mutated(other)["response"]


def test_conversions_change_the_version_alone() -> None:
    old = {"apiVersion": "cert-manager.io/v1alpha2", "kind": "Issuer", "spec": {"ca": {}}}
    request = {"uid": "7", "desiredAPIVersion": "cert-manager.io/v1", "objects": [old]}
    asked = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": request,
    }
    answer = converted(asked)
    assert answer["kind"] == "ConversionReview"
    assert answer["response"]["convertedObjects"] == [{**old, "apiVersion": "cert-manager.io/v1"}]
    assert answer["response"]["result"] == {"status": "Success"}
