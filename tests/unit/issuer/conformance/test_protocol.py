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
                         annotations={"conformance.certwright.dev/poke": "1"})],
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
        ([START, version(annotations={"example.com/ticket": "7"})], "AnnotationAdded"),
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
        ([version(APPROVED, ready("True", "Issued"))], "ReadyWithoutCertificate"),
        ([version(APPROVED, ready("True", "Pending"), certificate="Y2VydA==")], "ReasonMismatch"),
        ([version(APPROVED, ready("False", "Issued"))], "ReasonMismatch"),
        ([version(APPROVED, ready("Unknown", "Failed"))], "ReasonMismatch"),
        ([WAITING, version(APPROVED, ready("False", "Pending", "2031-01-01T00:00:02Z"))], "TransitionTimeMoved"),
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


def written_by(reason: str, **managers: str) -> JsonObject:
    """Return an issued request whose conditions were written by these field managers."""
    approved = {**APPROVED, "reason": reason}
    made = version(approved, ready("True", "Issued"), certificate="Y2VydA==")
    made["metadata"]["managedFields"] = [
        {
            "manager": manager,
            "fieldsV1": {"f:status": {"f:conditions": {f'k:{{"type":"{condition}"}}': {}}}},
        }
        for condition, manager in managers.items()
    ]
    return made


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (written_by("mine", Approved="issuer", Ready="issuer"), ["SelfApproved"]),
        (written_by("cert-manager.io", Approved="approver", Ready="issuer"), []),
        (written_by("Conformance", Approved="certwright", Ready="certwright"), []),
        (written_by("mine", Ready="issuer"), []),
    ],
)
def test_an_approval_by_the_issuer_itself_is_told_by_its_field_manager(
    made: JsonObject, expected: list[str]
) -> None:
    assert [one.name for one in protocol_violations([made])] == expected


@pytest.mark.parametrize("name", ["labels", "ownerReferences", "finalizers"])
def test_what_others_rely_on_in_the_metadata_is_compared(name: str) -> None:
    after = version()
    after["metadata"][name] = ["other"]
    assert [one.name for one in protocol_violations([START, after])] == ["MetadataTouched"]
