"""The health of custom kinds that have rules of their own.

Embedded: their definitions are cluster-wide, and a real server is shared by all tests.
"""

from typing import Any

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.kube import JsonObject, Resource
from certwright.kube.kinds import CustomResourceDefinition

SKIP = "resources.gardener.cloud/skip-health-check"
MONITORING = "monitoring.coreos.com/v1"
CERTIFICATES = "cert.gardener.cloud/v1alpha1"


def resource_of(api_version: str, kind: str) -> Resource:
    group, version = api_version.split("/")
    return Resource(group, version, kind, f"{kind.lower()}s")


def definition(api_version: str, kind: str) -> JsonObject:
    resource = resource_of(api_version, kind)
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": anything},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "names": {"kind": kind, "plural": resource.plural, "singular": kind.lower()},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def obj(api_version: str, kind: str, annotations: Any = None, **spec: int) -> JsonObject:
    metadata = {"name": "x", "annotations": annotations or {}}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def condition(
    type_: str, status: str, reason: str = "Why", message: str = "because", observed: int = 1
) -> JsonObject:
    said = {"type": type_, "status": status, "reason": reason, "message": message}
    return {**said, "observedGeneration": observed}


def monitoring(available: int = 2, updated: int = 2, reconciled: int = 1) -> JsonObject:
    conditions = [
        condition("Available", "True"),
        condition("Reconciled", "True", observed=reconciled),
    ]
    counts = {"replicas": 2, "availableReplicas": available, "updatedReplicas": updated}
    return {**counts, "conditions": conditions}


def in_state(state: str = "Ready", observed: int = 1) -> JsonObject:
    return {"state": state, "observedGeneration": observed}


async def settled_with(keeping: Keeping, wanted: JsonObject, status: JsonObject) -> None:
    """Keep an object whose controller says something about it."""
    api_version, kind = wanted["apiVersion"], wanted["kind"]
    await keeping.cluster.install(definition(api_version, kind))
    await keeping.declare("web", wanted)
    await keeping.settle()
    resource = resource_of(api_version, kind)
    await keeping.cluster.patch(resource, "x", {"status": status}, subresource="status")
    await keeping.settle()


UNHEALTHY = [
    (
        obj(MONITORING, "Prometheus", replicas=2),
        monitoring(available=1),
        "not enough available replicas (1/2)",
    ),
    (
        obj(MONITORING, "Alertmanager", replicas=2),
        {"conditions": [condition("Available", "False", "Down", "no pods")]},
        'condition "Available" has invalid status False (expected True) due to Down: no pods',
    ),
    (
        obj(CERTIFICATES, "Certificate"),
        in_state("Pending"),
        'certificate state is "Pending" ("Ready" expected)',
    ),
    (obj(CERTIFICATES, "Issuer"), in_state("Error"), 'issuer state is "Error" ("Ready" expected)'),
    (
        obj("autoscaling.k8s.io/v1", "VerticalPodAutoscaler"),
        {"conditions": [condition("ConfigUnsupported", "True", "NoTarget", "no such thing")]},
        (
            'condition "ConfigUnsupported" has invalid status True (expected False) '
            "due to NoTarget: no such thing"
        ),
    ),
]


@pytest.mark.scenario("MR-73")
@pytest.mark.parametrize(
    ("wanted", "status", "problem"), UNHEALTHY, ids=[case[0]["kind"] for case in UNHEALTHY]
)
async def test_each_kind_is_judged_by_its_own_rules(
    embedded_keeping: Keeping,
    healthy: dict[str, str],
    wanted: JsonObject,
    status: JsonObject,
    problem: str,
) -> None:
    keeping, kind = embedded_keeping, wanted["kind"]
    await settled_with(keeping, wanted, status)
    assert (await keeping.conditions("web"))["Healthy"] == f"False/{kind}Unhealthy"
    message = await keeping.message("web", "Healthy")
    assert message == f'{kind} "{keeping.namespace}/x" is unhealthy: {problem}'
    skipped = {**wanted, "metadata": {"name": "x", "annotations": {SKIP: "true"}}}
    await keeping.rewrite("web", skipped)
    await keeping.settle()
    assert await keeping.conditions("web") == healthy


PROGRESSING = [
    (
        obj(MONITORING, "Prometheus", replicas=2),
        monitoring(updated=1),
        "1 of 2 replica(s) have been updated",
    ),
    (
        obj(MONITORING, "Alertmanager", replicas=2),
        monitoring(reconciled=0),
        "observed generation outdated (0/1)",
    ),
    (
        obj(CERTIFICATES, "Certificate"),
        in_state(observed=0),
        "observed generation outdated (0/1)",
    ),
    (obj(CERTIFICATES, "Issuer"), in_state(observed=0), "observed generation outdated (0/1)"),
]


@pytest.mark.scenario("MR-73")
@pytest.mark.parametrize(
    ("wanted", "status", "what"), PROGRESSING, ids=[case[0]["kind"] for case in PROGRESSING]
)
async def test_each_kind_arrives_by_its_own_rules(
    embedded_keeping: Keeping,
    healthy: dict[str, str],
    wanted: JsonObject,
    status: JsonObject,
    what: str,
) -> None:
    keeping, kind = embedded_keeping, wanted["kind"]
    await settled_with(keeping, wanted, status)
    conditions = await keeping.conditions("web")
    assert conditions["Healthy"] == "True/ResourcesHealthy"
    assert conditions["Progressing"] == f"True/{kind}Progressing"
    text = f'{kind} "{keeping.namespace}/x" is progressing: {what}'
    assert await keeping.message("web", "Progressing") == text
    skipped = {**wanted, "metadata": {"name": "x", "annotations": {SKIP: "true"}}}
    await keeping.rewrite("web", skipped)
    await keeping.settle()
    assert await keeping.conditions("web") == healthy


@pytest.mark.scenario("MR-73")
async def test_a_definition_whose_names_are_taken_is_unhealthy(embedded_keeping: Keeping) -> None:
    keeping = embedded_keeping
    first, second = (
        definition("toys.example.com/v1", "Toy"),
        definition("toys.example.com/v1", "Toy"),
    )
    second["metadata"]["name"] = "others.toys.example.com"
    second["spec"]["names"]["plural"] = "others"
    await keeping.cluster.install(first)
    await keeping.declare("web", second)
    await keeping.settle()
    assert (await keeping.conditions("web"))["Healthy"] == "False/CustomResourceDefinitionUnhealthy"
    assert 'condition "NamesAccepted"' in await keeping.message("web", "Healthy")
    assert await keeping.exists(CustomResourceDefinition, "others.toys.example.com")
