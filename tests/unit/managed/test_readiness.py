"""When a ManagedResource counts as healthy, and what is said when it does not."""

from typing import Any

import pytest

from certwright.kube import JsonObject
from certwright.managed import readiness
from certwright.managed.readiness import deletion_blockers

GOOD = {"ResourcesApplied": "True", "ResourcesHealthy": "True", "ResourcesProgressing": "False"}


def managed(
    statuses: dict[str, str] | None = None,
    *,
    generation: int = 2,
    observed: int = 2,
    objects: list[dict[str, str]] | tuple[Any, ...] = (),
    **metadata: str,
) -> JsonObject:
    conditions = [
        {"type": type_, "status": status, "reason": f"Why{status}", "message": f"{type_} says so"}
        for type_, status in {**GOOD, **(statuses or {})}.items()
        if status
    ]
    return {
        "metadata": {"generation": generation, **metadata},
        "status": {
            "observedGeneration": observed,
            "conditions": conditions,
            "objects": list(objects),
        },
    }


def test_applied_and_healthy_at_the_present_generation_is_ready() -> None:
    assert readiness(managed()).ready
    assert readiness(managed(), rolled_out=True).ready
    assert str(readiness(managed())) == "ready"


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (managed(observed=1), "generation 2 is not applied yet (observed: 1)"),
        (managed({"ResourcesApplied": "Progressing"}), "ResourcesApplied is Progressing"),
        (
            managed({"ResourcesApplied": "False"}),
            "ResourcesApplied is False (WhyFalse): ResourcesApplied says so",
        ),
        (managed({"ResourcesApplied": ""}), "ResourcesApplied is not known yet"),
        (managed({"ResourcesHealthy": "Unknown"}), "ResourcesHealthy is Unknown"),
        (managed({"ResourcesHealthy": ""}), "ResourcesHealthy is not known yet"),
        (managed(deletionTimestamp="2026-01-01T00:00:00Z"), "it is being deleted"),
        ({"metadata": {"generation": 1}}, "generation 1 is not applied yet (observed: 0)"),
    ],
)
def test_what_is_in_the_way(state: JsonObject, said: str) -> None:
    verdict = readiness(state)
    assert not verdict.ready
    assert said in str(verdict)


def test_progress_counts_only_when_asked_for() -> None:
    state = managed({"ResourcesProgressing": "True"})
    assert readiness(state).ready
    assert "ResourcesProgressing is True" in str(readiness(state, rolled_out=True))


def test_objects_that_are_not_as_they_should_be_are_named() -> None:
    objects = [{"kind": "Deployment", "namespace": "ns", "name": "web", "message": "no replicas"}]
    state = managed({"ResourcesHealthy": "False"}, objects=objects)
    assert "Deployment ns/web: no replicas" in str(readiness(state))
    assert readiness(managed(objects=objects)).ready


def test_an_object_in_a_condition_is_not_named_again() -> None:
    state = managed({"ResourcesHealthy": "False"})
    state["status"]["conditions"][1] |= {"message": "Pod x is unhealthy: so."}
    state["status"]["objects"] = [
        {"kind": "Pod", "name": "x", "message": "Pod x is unhealthy: so."}
    ]
    assert str(readiness(state)).count("Pod x is unhealthy") == 1


def test_that_all_is_applied_keeps_nothing_from_going() -> None:
    assert deletion_blockers(managed()) == ""


@pytest.mark.parametrize("reason", ["DeletionPending", "DeletionFailed"])
def test_a_deletion_that_hangs_names_what_it_waits_for(reason: str) -> None:
    state = {
        "metadata": {"finalizers": ["resources.gardener.cloud/gardener-resource-manager"]},
        "status": {
            "conditions": [
                {
                    "type": "ResourcesApplied",
                    "status": "Progressing",
                    "reason": reason,
                    "message": 'deletion of old resource "v1/Secret/ns/stuck" is still pending',
                }
            ]
        },
    }
    said = deletion_blockers(state)
    assert reason in said
    assert "v1/Secret/ns/stuck" in said
    assert "finalizers: resources.gardener.cloud/gardener-resource-manager" in said
