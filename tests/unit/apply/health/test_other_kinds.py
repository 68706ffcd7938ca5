"""Pods, Jobs, Services, definitions, monitoring, certificates, nested resources, unknown kinds."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.apply.health import Health, check_health, check_progress
from certwright.kube import JsonObject

pytestmark = pytest.mark.scenario("MR-73")


def obj(
    api_version: str,
    kind: str,
    status: JsonObject | None = None,
    spec: JsonObject | None = None,
    annotations: dict[str, str] | None = None,
    **metadata: str,
) -> JsonObject:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "x", "namespace": "ns", "generation": 2, "annotations": annotations or {}} | metadata,
        "spec": spec or {},
        "status": status or {},
    }  # fmt: skip


def condition(type_: str, status: str, observed: int | None = None) -> JsonObject:
    made = {"type": type_, "status": status, "reason": "Why", "message": "because"}
    return made if observed is None else made | {"observedGeneration": observed}


def wrong(type_: str, status: str, expected: str) -> str:
    return (
        f'condition "{type_}" has invalid status {status} (expected {expected}) due to Why: because'
    )


def conditions(*pairs: tuple[Any, ...]) -> JsonObject:
    return {"conditions": [condition(*pair) for pair in pairs]}


CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
PROMETHEUS = ("monitoring.coreos.com/v1", "Prometheus")
ALERTMANAGER = ("monitoring.coreos.com/v1", "Alertmanager")
CERTIFICATE = ("cert.gardener.cloud/v1alpha1", "Certificate")
ISSUER = ("cert.gardener.cloud/v1alpha1", "Issuer")
VPA = ("autoscaling.k8s.io/v1", "VerticalPodAutoscaler")
MR = ("resources.gardener.cloud/v1alpha1", "ManagedResource")
SERVED = (("NamesAccepted", "True"), ("Established", "True"))


@pytest.mark.parametrize(
    ("kind", "status", "problem"),
    [
        (("v1", "Pod"), {"phase": "Running"}, ""),
        (("v1", "Pod"), {"phase": "Running", **conditions(("Ready", "False"))}, ""),
        (("v1", "Pod"), {"phase": "Succeeded"}, ""),
        (("v1", "Pod"), {"phase": "Pending"}, 'pod is in invalid phase "Pending" (expected one of ["Running" "Succeeded"])'),
        (("v1", "Pod"), {"phase": "Failed"}, 'pod is in invalid phase "Failed" (expected one of ["Running" "Succeeded"])'),
        (("batch/v1", "Job"), {}, ""),
        (("batch/v1", "Job"), conditions(("Failed", "False")), ""),
        (("batch/v1", "Job"), conditions(("Failed", "True")), wrong("Failed", "True", "False")),
        (CRD, conditions(*SERVED), ""),
        (CRD, conditions(*SERVED, ("Terminating", "False")), ""),
        (CRD, conditions(*SERVED, ("Terminating", "True")), wrong("Terminating", "True", "False")),
        (CRD, {}, 'condition "NamesAccepted" is missing'),
        (CRD, conditions(("NamesAccepted", "True")), 'condition "Established" is missing'),
        (CRD, conditions(("NamesAccepted", "False"), ("Established", "True")), wrong("NamesAccepted", "False", "True")),
        (VPA, {}, ""),
        (VPA, conditions(("ConfigUnsupported", "True")), wrong("ConfigUnsupported", "True", "False")),
        (PROMETHEUS, {}, 'condition "Available" is missing'),
        (PROMETHEUS, conditions(("Available", "True", 1)), "observed generation outdated (1/2)"),
        (PROMETHEUS, conditions(("Available", "Degraded", 2)), wrong("Available", "Degraded", "True")),
        (PROMETHEUS, conditions(("Available", "True", 2)), "not enough available replicas (0/1)"),
        (ALERTMANAGER, {"availableReplicas": 1, **conditions(("Available", "True", 2))}, ""),
        (CERTIFICATE, {"state": "Ready"}, ""),
        (CERTIFICATE, {"state": "Ready", **conditions(("Ready", "True"))}, ""),
        (CERTIFICATE, {"state": "Ready", **conditions(("Ready", "False"))}, wrong("Ready", "False", "True")),
        (CERTIFICATE, {"state": "Pending"}, 'certificate state is "Pending" ("Ready" expected)'),
        (ISSUER, {"state": "Ready"}, ""),
        (ISSUER, {}, 'issuer state is "" ("Ready" expected)'),
        (MR, {"observedGeneration": 2, **conditions(("ResourcesApplied", "True"), ("ResourcesHealthy", "True"))}, ""),
        (MR, {"observedGeneration": 1}, "observed generation outdated (1/2)"),
        (MR, {"observedGeneration": 2, **conditions(("ResourcesApplied", "Progressing"))}, wrong("ResourcesApplied", "Progressing", "True")),
        (MR, {"observedGeneration": 2, **conditions(("ResourcesApplied", "True"))}, 'condition "ResourcesHealthy" is missing'),
        (("v1", "Namespace"), {"phase": "Terminating"}, ""),
        (("v1", "ConfigMap"), {}, ""),
    ],
)  # fmt: skip
def test_health(kind: tuple[str, str], status: JsonObject, problem: str) -> None:
    verdict = check_health(obj(*kind, status))
    assert verdict.message.partition(": ")[2] == problem
    assert verdict.reason == (f"{kind[1]}Unhealthy" if problem else "")


def test_services_with_load_balancers_need_an_address() -> None:
    def judged(type_: str, status: JsonObject) -> str:
        return check_health(obj("v1", "Service", status, {"type": type_})).message

    assert judged("ClusterIP", {}) == ""
    assert judged("LoadBalancer", {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}) == ""
    expected = 'Service "ns/x" is unhealthy: service is missing ingress status'
    assert judged("LoadBalancer", {}) == expected
    assert judged("LoadBalancer", {"loadBalancer": {"ingress": []}}) == expected


@pytest.mark.parametrize(
    ("kind", "status", "description"),
    [
        (PROMETHEUS, {}, 'condition "Reconciled" is missing'),
        (PROMETHEUS, conditions(("Reconciled", "True", 1)), "observed generation outdated (1/2)"),
        (PROMETHEUS, conditions(("Reconciled", "False", 2)), wrong("Reconciled", "False", "True")),
        (PROMETHEUS, conditions(("Reconciled", "True", 2)), "0 of 1 replica(s) have been updated"),
        (ALERTMANAGER, {"updatedReplicas": 1, **conditions(("Reconciled", "True", 2))}, ""),
        (CERTIFICATE, {"observedGeneration": 2}, ""),
        (CERTIFICATE, {"observedGeneration": 1}, "observed generation outdated (1/2)"),
        (ISSUER, {"observedGeneration": 1}, "observed generation outdated (1/2)"),
        (MR, {"observedGeneration": 2, **conditions(("ResourcesProgressing", "True"))}, "because"),
        (MR, {"observedGeneration": 2, **conditions(("ResourcesProgressing", "False"))}, ""),
        (MR, {"observedGeneration": 1}, "observed generation outdated (1/2)"),
        (("v1", "Pod"), {"phase": "Pending"}, ""),
        (("batch/v1", "Job"), {}, ""),
        (CRD, conditions(("Reconciling", "True")), ""),
    ],
)
def test_progress(kind: tuple[str, str], status: JsonObject, description: str) -> None:
    assert check_progress(obj(*kind, status)).message.partition(": ")[2] == description


# ---- kinds nobody told us about

CUSTOM = ("example.com/v1", "Widget")


@pytest.mark.parametrize(
    ("status", "problem", "description"),
    [
        ({}, "", ""),
        ({"observedGeneration": 2}, "", ""),
        ({"observedGeneration": 1}, "", "observed generation outdated (1/2)"),
        (conditions(("Ready", "True")), "", ""),
        (conditions(("Ready", "False")), wrong("Ready", "False", "True"), ""),
        (conditions(("Ready", "Unknown")), wrong("Ready", "Unknown", "True"), ""),
        (conditions(("Stalled", "True"), ("Ready", "True")), wrong("Stalled", "True", "False"), ""),
        (conditions(("Failed", "True")), wrong("Failed", "True", "False"), ""),
        (conditions(("Available", "False")), wrong("Available", "False", "True"), ""),
        (conditions(("Available", "False"), ("Ready", "True")), "", ""),
        (conditions(("Reconciling", "True"), ("Ready", "True")), "", "because"),
        (conditions(("Synced", "False")), "", ""),
    ],
)
def test_unknown_kinds_are_judged_by_convention(
    status: JsonObject, problem: str, description: str
) -> None:
    one = obj(*CUSTOM, status)
    assert check_health(one).message.partition(": ")[2] == problem
    assert check_progress(one).message.partition(": ")[2] == description


def test_an_object_on_its_way_out_is_progressing() -> None:
    one = obj(*CUSTOM, deletionTimestamp="2026-11-15T07:00:00Z")
    assert check_progress(one).health is Health.PROGRESSING


def test_the_same_kind_in_another_group_is_another_kind() -> None:
    assert check_health(obj("example.com/v1", "Deployment"))
    assert not check_health(obj("apps/v1", "Deployment"))


# ---- exemptions and junk


@pytest.mark.scenario("MR-74")
@pytest.mark.parametrize(
    ("value", "exempt"), [("true", True), ("1", False), ("True", False), ("", False)]
)
def test_only_the_literal_true_exempts(value: str, *, exempt: bool) -> None:
    marked = {"resources.gardener.cloud/skip-health-check": value}
    one = obj("apps/v1", "Deployment", annotations=marked)
    assert bool(check_health(one)) is exempt
    assert bool(check_progress(one)) is exempt


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["conditions", "type", "status", "replicas", "phase", "x"]), inner
        )
    ),
    max_leaves=10,
)
KINDS = [
    CRD,
    PROMETHEUS,
    CERTIFICATE,
    ISSUER,
    VPA,
    MR,
    CUSTOM,
    ("v1", "Pod"),
    ("v1", "Service"),
    ("batch/v1", "Job"),
]
KINDS += [("apps/v1", kind) for kind in ("Deployment", "DaemonSet", "StatefulSet", "ReplicaSet")]


@given(st.sampled_from(KINDS), JUNK, JUNK, JUNK)
def test_no_status_can_break_a_check(
    kind: tuple[str, str],
    spec: int | JsonObject | list[bool | str] | None,
    status: str | JsonObject | list[None] | None,
    metadata: str | list[JsonObject | list[bool | list[str] | None] | None] | None,
) -> None:
    one = {
        "apiVersion": kind[0],
        "kind": kind[1],
        "spec": spec,
        "status": status,
        "metadata": metadata,
    }
    assert check_health(one).health in {Health.HEALTHY, Health.UNHEALTHY}
    assert check_progress(one).health in {Health.HEALTHY, Health.PROGRESSING}
