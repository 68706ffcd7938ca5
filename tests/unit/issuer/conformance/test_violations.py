"""Answers against what was asked, without a cluster: exactly what is wrong is named."""

import base64
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest

from certwright import pki
from certwright.api.certmanager import IssuerRef
from certwright.issuer.conformance.cases.case import Case
from certwright.issuer.conformance.cases.certificaterequests import CERTIFICATE_CASES
from certwright.issuer.conformance.cases.features import Feature
from certwright.issuer.conformance.cases.objects import (
    CaseRequest,
    certificate_request,
    key_secret,
    make_case_request,
    signing_request,
    with_key_secret,
)
from certwright.issuer.conformance.cases.signingrequests import SIGNING_CASES
from certwright.issuer.conformance.violations import answer_violations, is_issued, is_refused
from certwright.kube import JsonObject
from certwright.pki import Violation
from certwright.pki.keys import public_key_bytes

NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
KEY = pki.generate_key(pki.KeySpec())
ROOT = pki.create_root(pki.distinguished_name("root"), KEY, timedelta(days=3650), NOW)
ISSUER = IssuerRef("mine", "Mine", "example.com")
PLAIN = Case("CertificateRequest", "plain", names=pki.AlternativeNames(dns=("a.example",)))


def encoded(pem: bytes) -> str:
    return base64.b64encode(pem).decode()


def ready(status: str, reason: str = "") -> JsonObject:
    return {"type": "Ready", "status": status, "reason": reason}


def answered(case: Case = PLAIN, **status: Any) -> tuple[CaseRequest, JsonObject]:
    asked = make_case_request(case, KEY)
    leaf = ROOT.issue(pki.request_template(asked.request, asked.terms), NOW)
    good = {
        "conditions": [ready("True", "Issued")],
        "certificate": encoded(pki.write_certificates(leaf)),
        "ca": encoded(pki.write_certificates(ROOT.certificate)),
    }
    return asked, {"kind": case.suite, "status": {**good, **status}}


def names(found: list[Violation]) -> list[str]:
    return [one.name for one in found]


@pytest.mark.parametrize("case", [*CERTIFICATE_CASES, *SIGNING_CASES], ids=lambda case: case.slug)
def test_a_certificate_as_asked_has_no_violations(case: Case) -> None:
    asked, answer = answered(case)
    assert answer_violations(asked, answer, (), NOW) == []


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"conditions": []}, "NotAnswered"),
        ({"conditions": [ready("False", "Pending")]}, "NotAnswered"),
        ({"certificate": ""}, "NotAnswered"),
        ({"conditions": [ready("False", "Failed")]}, "NotIssued"),
        ({"conditions": [ready("False", "Denied")]}, "NotIssued"),
        ({"certificate": encoded(b"cert")}, "Unparsable"),
        ({"certificate": "no base64!"}, "Unparsable"),
        ({"ca": ""}, "MissingCA"),
        ({"ca": encoded(b"cert")}, "Unparsable"),
    ],
)
def test_an_answer_that_is_none_is_named(status: JsonObject, expected: str) -> None:
    asked, answer = answered(**status)
    assert names(answer_violations(asked, answer, (), NOW)) == [expected]


def test_what_the_request_says_is_quoted() -> None:
    condition = {**ready("False", "Pending"), "message": "Waiting for it to be created."}
    asked, answer = answered(conditions=[condition])
    (found,) = answer_violations(asked, answer, (), NOW)
    assert "Ready=False Pending: Waiting for it to be created." in found.message


def test_a_certificate_of_yesterday_is_expired() -> None:
    asked, answer = answered()
    later = NOW + timedelta(days=100)
    assert set(names(answer_violations(asked, answer, (), later))) == {"Expired", "Untrusted"}


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(-31, ["DurationMismatch"]), (-30, []), (30, []), (31, ["DurationMismatch"]),
     (300, ["DurationMismatch"]), (330, ["DurationMismatch"])],
)  # fmt: skip
def test_the_lifetime_may_differ_by_30_seconds(seconds: int, expected: list[str]) -> None:
    asked = make_case_request(PLAIN, KEY)
    template = pki.request_template(asked.request, asked.terms)
    longer = replace(template, lifetime=template.lifetime + timedelta(seconds=seconds))
    given = encoded(pki.write_certificates(ROOT.issue(longer, NOW)))
    _, answer = answered(certificate=given)
    assert names(answer_violations(asked, answer, (), NOW)) == expected


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        (pki.write_key(KEY), ["ForeignBlock"]),
        (b"a comment\r\n", []),
    ],
)
def test_the_text_of_a_chain_holds_certificates_only(added: bytes, expected: list[str]) -> None:
    asked, answer = answered()
    text = added + base64.b64decode(answer["status"]["certificate"])
    answer["status"]["certificate"] = encoded(text)
    assert names(answer_violations(asked, answer, (), NOW)) == expected


def test_forgiveness_is_for_what_was_declared_only() -> None:
    asked, answer = answered(ca="")
    assert answer_violations(asked, answer, {Feature.SAVE_CA: "so"}, NOW) == []
    assert names(answer_violations(asked, answer, {Feature.DURATION: "so"}, NOW)) == ["MissingCA"]


def test_a_kubernetes_csr_is_issued_by_its_certificate_and_refused_by_failed() -> None:
    csr = {"kind": "CertificateSigningRequest", "status": {"certificate": encoded(b"x")}}
    failed = {"type": "Failed", "status": "True", "reason": "Failed", "message": ""}
    assert is_issued(csr)
    assert not is_refused(csr)
    assert is_refused({**csr, "status": {"conditions": [failed]}})


def test_a_request_asks_for_all_that_its_case_does() -> None:
    case = Case(
        "CertificateRequest",
        "all",
        usages=("server auth",),
        lifetime=timedelta(hours=5),
        is_ca=True,
    )
    spec = certificate_request(case, b"csr", ISSUER, "here")["spec"]
    assert spec == {
        "request": encoded(b"csr"),
        "issuerRef": {"name": "mine", "kind": "Mine", "group": "example.com"},
        "duration": "5h0m0s",
        "usages": ["server auth"],
        "isCA": True,
    }


def test_a_kubernetes_csr_asks_for_a_lifetime_in_either_way() -> None:
    case = Case(
        "CertificateSigningRequest",
        "all",
        lifetime=timedelta(hours=5),
        expiration_seconds=900,
        is_ca=True,
    )
    made = signing_request(case, b"csr", "mines.example.com/mine")
    assert made["spec"]["expirationSeconds"] == 900
    assert made["metadata"]["annotations"] == {
        "experimental.cert-manager.io/request-duration": "5h0m0s",
        "experimental.cert-manager.io/request-is-ca": "true",
    }
    assert case.asked_lifetime == timedelta(hours=5), "the annotation wins"


def test_a_private_key_is_put_where_the_request_says() -> None:
    asked = make_case_request(PLAIN, KEY)
    request = certificate_request(PLAIN, asked.csr, ISSUER, "here")
    secret = key_secret(asked, request)
    assert secret["metadata"]["namespace"] == "here"
    held = pki.read_key(base64.b64decode(secret["data"]["tls.key"]))
    assert public_key_bytes(held.public_key()) == public_key_bytes(KEY.public_key())
    named = with_key_secret(request, "made-up")["metadata"]["annotations"]
    assert named == {"cert-manager.io/private-key-secret-name": "made-up"}


@pytest.mark.parametrize(
    ("suite", "usages"),
    [
        ("CertificateRequest", {"digital signature", "key encipherment", "cert sign"}),
        ("CertificateSigningRequest", {"digital signature", "key encipherment"}),
    ],
)
def test_an_authority_signs_certificates_by_itself_only_for_cert_manager(
    suite: Literal["CertificateRequest", "CertificateSigningRequest"], usages: set[str]
) -> None:
    asked = make_case_request(Case(suite, "authority", common_name="ca", is_ca=True), KEY)
    assert asked.terms.usages.key == usages
