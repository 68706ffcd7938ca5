"""The history of a request against the rules, version by version."""

import pytest

from certwright.issuer.conformance.protocol import protocol_violations
from certwright.kube import JsonObject

APPROVED = {
    "type": "Approved",
    "status": "True",
    "reason": "x",
    "lastTransitionTime": "2031-01-01T00:00:00Z",
}


def ready(status: str, reason: str, at: str = "2031-01-01T00:00:01Z") -> JsonObject:
    return {"type": "Ready", "status": status, "reason": reason, "lastTransitionTime": at}


def version(
    *conditions: JsonObject,
    spec: str = "s",
    labels: str = "l",
    annotations: dict[str, str] | None = None,
    **status: str,
) -> JsonObject:
    metadata = {"labels": {"l": labels}, "annotations": annotations or {}}
    return {
        "kind": "CertificateRequest",
        "metadata": metadata,
        "spec": {"request": spec},
        "status": {"conditions": list(conditions), **status},
    }


ISSUED = version(APPROVED, ready("True", "Issued"), certificate="Y2VydA==")
FAILED = version(APPROVED, ready("False", "Failed"), failureTime="2031-01-01T00:00:01Z")
START = version()
WAITING = version(APPROVED, ready("False", "Pending"))


@pytest.mark.parametrize(
    "versions",
    [
        [START, version(APPROVED), ISSUED],
        [START, version(APPROVED), WAITING, ISSUED],
        [START, version(APPROVED), FAILED, FAILED],
        [START, version({**APPROVED, "type": "Denied"}), version(
            {**APPROVED, "type": "Denied"}, ready("False", "Denied"), failureTime="2031-01-01T00:00:02Z")],
        [ISSUED, version(*ISSUED["status"]["conditions"], certificate="Y2VydA==",
                         annotations={"example.com/poke": "1"})],
        [START, version(APPROVED), version(APPROVED, ready("Unknown", "Initializing")), ISSUED],
    ],
)  # fmt: skip
def test_a_good_history_has_no_violations(versions: list[JsonObject]) -> None:
    assert protocol_violations(versions) == []


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ([START, version(spec="other")], "SpecTouched"),
        ([START, version(labels="other")], "MetadataTouched"),
        ([START, version(annotations={"cert-manager.io/certificate-name": "x"})], "MetadataTouched"),
        ([version(APPROVED), version()], "VerdictTouched"),
        ([version(APPROVED), version({**APPROVED, "reason": "y"})], "VerdictTouched"),
        ([ISSUED, WAITING], "AnswerChanged"),
        ([ISSUED, FAILED], "AnswerChanged"),
        ([FAILED, WAITING], "AnswerChanged"),
        ([FAILED, version(APPROVED, ready("False", "Failed", "2031-01-01T00:00:02Z"), failureTime="2031-01-01T00:00:02Z")], "AnswerChanged"),
        ([version(APPROVED, certificate="Y2VydA==")], "CertificateWithoutReady"),
        ([version(APPROVED, failureTime="2031-01-01T00:00:01Z")], "FailureTimeWithoutReady"),
        ([version(APPROVED, ready("False", "Failed"))], "FailureTimeMissing"),
        ([version(APPROVED, ready("False", "Oops"))], "UnknownReason"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_named(versions: list[JsonObject], expected: str) -> None:
    assert expected in {one.name for one in protocol_violations(versions)}


def test_each_rule_is_named_once() -> None:
    broken = version(APPROVED, failureTime="2031-01-01T00:00:01Z")
    assert [one.name for one in protocol_violations([broken, broken, broken])] == [
        "FailureTimeWithoutReady"
    ]


def test_another_answer_to_a_kubernetes_csr_is_a_change() -> None:
    def csr(certificate: str) -> JsonObject:
        return {
            "kind": "CertificateSigningRequest",
            "metadata": {},
            "spec": {},
            "status": {"conditions": [APPROVED], "certificate": certificate},
        }

    found = protocol_violations([csr("Y2VydA=="), csr("Y2VydDI=")])
    assert [one.name for one in found] == ["AnswerChanged"]
