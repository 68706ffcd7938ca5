"""Every faulty issuer is caught, by the case that is for it and under the right name.

Those that differ in their certificates alone are judged without a cluster here; with the option
for the real control plane they answer requests in a cluster as well.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.component.issuer.conformance.bare import Bare, BareClusterIssuer, BareIssuer
from tests.component.issuer.conformance.catalogue import item, judged, only_signs
from tests.component.issuer.conformance.faulty import (
    certificates,
    chains,
    conditions,
    conduct,
    encodings,
    signingrequests,
)
from tests.component.issuer.conformance.faulty.fault import FAULTS, Fault

from certwright.issuer.conformance.cases.case import Case
from certwright.issuer.conformance.results import CaseStatus
from certwright.issuer.conformance.runner import run_item
from certwright.testkit import EmbeddedCluster

SHORT = timedelta(seconds=5)
MODULES = (certificates, chains, conditions, conduct, encodings, signingrequests)
SIGNING = [
    one for one in FAULTS if isinstance(item(one.suite, one.case), Case) and only_signs(one.issuer)
]
ANSWERING = [
    one if one not in SIGNING else pytest.param(one, marks=pytest.mark.real) for one in FAULTS
]


@pytest.fixture
def cluster(embedded_cluster: EmbeddedCluster) -> EmbeddedCluster:
    """What is wrong with an answer does not depend on the server; the sound issuer runs on both."""
    return embedded_cluster


@pytest.mark.parametrize("fault", SIGNING, ids=lambda fault: fault.name)
def test_a_wrong_certificate_is_caught(fault: Fault) -> None:
    case = item(fault.suite, fault.case)
    assert isinstance(case, Case)
    assert fault.caught in {violation.name for violation in judged(fault.issuer(), case)}
    assert judged(Bare(), case) == [], "it is the fault that is caught"


@pytest.mark.parametrize("fault", ANSWERING, ids=lambda fault: fault.name)
async def test_a_faulty_issuer_is_caught(
    fault: Fault, put_to_work: Callable[..., Awaitable[Any]]
) -> None:
    kind = (
        BareClusterIssuer if "Kubernetes" in fault.suite or "Signing" in fault.suite else BareIssuer
    )
    subject = await put_to_work(fault.issuer(), kind, patience=SHORT)
    result = await run_item(subject, item(fault.suite, fault.case))
    assert result.status is CaseStatus.FAILED
    assert fault.caught in {violation.name for violation in result.violations}


def test_there_are_enough_of_them_and_no_two_of_one_name() -> None:
    names = [one.name for one in FAULTS]
    assert len(set(names)) == len(names) >= 60
    assert {one.issuer.__module__ for one in FAULTS} == {module.__name__ for module in MODULES}


def test_every_name_of_a_violation_has_a_faulty_issuer() -> None:
    """But for those that name what is in the way of a test, and what only bytes by hand show."""
    caught = {one.caught for one in FAULTS}
    assert caught >= {
        "AnnotationAdded", "AnswerChanged", "BadRequestSigned", "BadRequestUnanswered",
        "BrokenChain", "CANotRoot", "CaMismatch", "CertificateWithoutReady", "CommonNameCopied",
        "DeniedSigned", "DeniedTouched", "DeniedUnanswered", "DurationMismatch", "Expired",
        "ExtraName", "ExtraUsage", "FailedWithoutIssuer", "FailureTimeMissing",
        "FailureTimeWithoutReady", "ForeignBlock", "ForeignTouched", "InvalidSigned",
        "IssuerNotReady", "IssuerOutdated", "KeyIdentifierMismatch", "KeyIdentifierMissing", "KeyMismatch",
        "LiteralSubjectMismatch", "MetadataTouched", "MissingCA", "MissingName", "MissingUsage",
        "NameRepeated", "NameRespelled", "NotAnswered", "NotCritical", "NotIssued", "NotYetValid",
        "PathLengthAdded", "ReadyWithoutCertificate", "ReasonMismatch", "RepeatedCertificate",
        "RequestDeleted", "RootInChain", "SelfApproved", "SerialPredictable", "SerialRepeated",
        "SilentWithoutIssuer", "SpecTouched", "SubjectMismatch", "TransitionTimeMoved",
        "UnapprovedTouched", "UnknownReason", "Unparsable", "Untrusted", "VerdictTouched",
        "WeakSignature", "WrongOrder",
    }  # fmt: skip
