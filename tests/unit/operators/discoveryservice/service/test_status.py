"""What is reported, and how soon."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace as with_fields
from tests.unit.operators.discoveryservice.service.test_render import plane

from certwright.api.discoveryservices import (
    DiscoveryCondition,
    DiscoveryServiceCertificateStatus,
    DiscoveryServiceStatus,
    NamespaceStatus,
)
from certwright.kube import Key
from certwright.operators.discoveryservice.service.namespaces import NamespaceProblem, Unserved
from certwright.operators.discoveryservice.service.observed import (
    DeploymentState,
    deployment_state,
    server_certificate,
)
from certwright.operators.discoveryservice.service.probe import ProbeFinding, ProbeResult
from certwright.operators.discoveryservice.service.sidecars import without_sidecar
from certwright.operators.discoveryservice.service.status import (
    PlaneReport,
    degraded_condition,
    is_urgent,
    ready_condition,
    ready_events,
)

NOW = datetime(2030, 1, 1, tzinfo=UTC)
PODS = DeploymentState({"availableReplicas": 2}, 1, rolled_out=True)
GOOD = PlaneReport(
    plane=plane("a"),
    first="x",
    certified=True,
    deployment=PODS,
    probe=ProbeFinding(ProbeResult.INJECTED, "a"),
)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "Serving"),
        ({"removed": ("v1/ConfigMap/a/b",)}, "Deleting"),
        ({"first": "older", "others": ("older",)}, "Conflict"),
        ({"homeless": True}, "NamespaceNotFound"),
        ({"failed": ("Deployment infra/x: refused",)}, "ApplyFailed"),
        ({"certified": False}, "CertificatePending"),
        ({"deployment": None}, "DeploymentNotAvailable"),
        ({"probe": ProbeFinding(ProbeResult.UNREACHED, "a", "x509")}, "WebhookNotReached"),
        ({"probe": ProbeFinding(ProbeResult.NOT_INJECTED, "a")}, "NotInjected"),
        ({"unserved": (Unserved("b", NamespaceProblem.MISSING),), "plane": plane("a", "b")},
         "NamespacesNotServed"),
    ],
)  # fmt: skip
def test_the_first_thing_in_the_way_is_the_reason(changes: Any, reason: str) -> None:
    found = ready_condition(replace(GOOD, **changes), was_ready=False)
    assert found.reason == reason
    assert (found.status == "True") == (reason == "Serving")


def test_what_served_goes_on_serving_with_one_pod() -> None:
    fewer = replace(GOOD, deployment=DeploymentState({"availableReplicas": 1}, 2, rolled_out=False))
    assert ready_condition(fewer, was_ready=False).reason == "DeploymentNotAvailable"
    assert ready_condition(fewer, was_ready=True).status == "True"


def test_what_a_certificate_says_is_passed_on() -> None:
    said = DiscoveryCondition(type="Ready", status="False", message="issuer expired")
    waiting = DiscoveryServiceCertificateStatus(conditions=[said])
    report = replace(GOOD, certified=False, certificate=waiting)
    assert "issuer expired" in ready_condition(report, was_ready=False).message


def test_an_emergency_of_the_authority_and_bare_pods_are_degraded() -> None:
    emergency = DiscoveryCondition(type="Degraded", status="True", reason="EmergencyCARotation")
    authority = DiscoveryServiceCertificateStatus(conditions=[emergency])
    bare = replace(GOOD, bare_pods=tuple(Key("a", f"p{n}") for n in range(7)))
    assert degraded_condition(replace(bare, authority=authority)).reason == "EmergencyCARotation"
    found = degraded_condition(bare)
    assert found.reason == "PodsWithoutSidecar"
    assert "7 labelled Pods" in found.message
    assert "a/p4 and 2 more" in found.message


def told(status: str, reason: str, **fields: Any) -> DiscoveryServiceStatus:
    ready = DiscoveryCondition(type="Ready", status=status, reason=reason, message="…")
    return DiscoveryServiceStatus(conditions=[ready], observed_generation=1, **fields)


@pytest.mark.parametrize(
    ("before", "after", "urgent"),
    [
        (DiscoveryServiceStatus(), told("False", "CertificatePending"), True),
        (told("False", "CertificatePending"), told("False", "DeploymentNotAvailable"), False),
        (told("False", "DeploymentNotAvailable"), told("True", "Serving"), True),
        (told("True", "Serving"), told("False", "DeploymentNotAvailable"), True),
        (told("True", "Serving"), told("True", "Serving", pods_without_sidecar=3), False),
        (told("True", "Serving"), with_fields(told("True", "Serving"), observed_generation=2), True),
        (told("False", "NamespacesNotServed"),
         told("False", "NamespacesNotServed", namespaces=[NamespaceStatus(name="b")]), True),
    ],
)  # fmt: skip
def test_progress_and_counts_can_wait(
    before: DiscoveryServiceStatus, after: DiscoveryServiceStatus, urgent: object
) -> None:
    assert is_urgent(before, after) is urgent


@pytest.mark.parametrize(
    ("before", "after", "events"),
    [
        (DiscoveryServiceStatus(), told("False", "CertificatePending"), []),
        (told("False", "CertificatePending"), told("True", "Serving"), [("Normal", "Serving")]),
        (told("True", "Serving"), told("False", "DeploymentNotAvailable"),
         [("Warning", "DeploymentNotAvailable")]),
        (told("False", "ApplyFailed"), told("False", "ApplyFailed"), []),
        (DiscoveryServiceStatus(), told("False", "ApplyFailed"), [("Warning", "ApplyFailed")]),
    ],
)  # fmt: skip
def test_events_tell_what_does_not_go_by_itself(
    before: DiscoveryServiceStatus, after: DiscoveryServiceStatus, events: list[tuple[str, str]]
) -> None:
    assert [(kind, reason) for kind, reason, _ in ready_events(before, after)] == events


def test_a_rollout_is_over_when_all_pods_are_new_and_available() -> None:
    counts = {"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}
    obj: Any = {"metadata": {"generation": 2}, "spec": {"replicas": 2}, "status": counts}
    assert deployment_state(obj).rolled_out
    for name, value in {"observedGeneration": 1, "replicas": 3, "availableReplicas": 1}.items():
        other = {**obj, "status": {**counts, name: value}}
        assert not deployment_state(other).rolled_out, name


def test_a_certificate_can_be_used_when_all_parts_are_there() -> None:
    server = {"data": {"tls.crt": "YWJj", "tls.key": "eA==", "ca.crt": "eQ=="}}
    authority = {"data": {"ca.crt": "eg=="}}
    found = server_certificate(server, authority)
    assert found is not None
    assert (found.bundle, found.hash) == (b"z", "d689b6bf9")
    assert server_certificate(None, authority) is None
    assert server_certificate(server, None) is None
    for name in ("tls.crt", "tls.key", "ca.crt"):
        assert server_certificate({"data": {**server["data"], name: ""}}, authority) is None
    assert server_certificate({"data": {**server["data"], "tls.crt": "?"}}, authority) is None


def test_finished_pods_and_those_of_others_need_no_sidecar() -> None:
    def pod(namespace: str, name: str, phase: str = "Running", *containers: str) -> Any:
        names = [{"name": one} for one in ("app", *containers)]
        metadata = {"namespace": namespace, "name": name}
        return {"metadata": metadata, "spec": {"containers": names}, "status": {"phase": phase}}

    pods = [
        pod("a", "bare"),
        pod("a", "done", "Succeeded"),
        pod("a", "fine", "Running", "envoy-sidecar"),
        pod("b", "other"),
    ]
    assert without_sidecar(pods, ["a"]) == [Key("a", "bare")]
