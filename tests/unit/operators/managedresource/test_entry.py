from typing import Any

import pytest
from tests.unit.operators.managedresource.conftest import Make

from certwright.operators.managedresource.decision import (
    Decision,
    ResourceClass,
    Step,
    decide,
    is_ignored,
)

BASE = "resources.gardener.cloud/gardener-resource-manager"
IGNORE = "resources.gardener.cloud/ignore"
OPERATION = "gardener.cloud/operation"
NOW = "2026-01-01T00:00:00Z"

CASES: dict[str, tuple[dict[str, Any], Step]] = {
    "new": ({}, Step.RECONCILE),
    "known": ({"finalizers": [BASE]}, Step.RECONCILE),
    "another class": ({"class_": "seed"}, Step.NOTHING),
    "another class now": ({"class_": "seed", "finalizers": [BASE]}, Step.DELETE),
    "another class before": ({"finalizers": [f"{BASE}-seed"]}, Step.WAIT_FOR_HANDOVER),
    "being deleted": ({"finalizers": [BASE], "deletionTimestamp": NOW}, Step.DELETE),
    "being deleted and held by somebody else": (
        {"finalizers": ["example.com/x"], "deletionTimestamp": NOW},
        Step.DELETE,
    ),
    "being deleted, with objects in another target": (
        {"finalizers": [f"{BASE}-seed"], "deletionTimestamp": NOW},
        Step.WAIT_FOR_HANDOVER,
    ),
    "ignored": ({"annotations": {IGNORE: "true"}, "finalizers": [BASE]}, Step.REPORT_IGNORED),
    "ignored by a word that means nothing": ({"annotations": {IGNORE: "yes"}}, Step.RECONCILE),
    "ignored, and another class now": (
        {"annotations": {IGNORE: "true"}, "class_": "seed", "finalizers": [BASE]},
        Step.REPORT_IGNORED,
    ),
    "ignored and being deleted": (
        {"annotations": {IGNORE: "true"}, "finalizers": [BASE], "deletionTimestamp": NOW},
        Step.DELETE,
    ),
    "suspended": ({"spec": {"suspend": True}}, Step.JUDGE),
    "suspended and being deleted": (
        {"spec": {"suspend": True}, "finalizers": [BASE], "deletionTimestamp": NOW},
        Step.DELETE,
    ),
    "told to wait": ({"annotations": {OPERATION: "wait-for-state"}}, Step.NOTHING),
    "told to wait while being deleted": (
        {
            "annotations": {OPERATION: "wait-for-state"},
            "finalizers": [BASE],
            "deletionTimestamp": NOW,
        },
        Step.NOTHING,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_to_do(make: Make, name: str) -> None:
    parts, step = CASES[name]
    assert decide(make(**parts), ResourceClass()).step is step


def test_what_is_gone() -> None:
    assert decide(None, ResourceClass()) == Decision(Step.NOTHING, clear_operation=False)


@pytest.mark.parametrize(
    ("operation", "cleared"), [("reconcile", True), ("migrate", False), ("restore", False)]
)
def test_the_operation_annotation(make: Make, operation: str, *, cleared: bool) -> None:
    decision = decide(make(annotations={OPERATION: operation}), ResourceClass())
    assert decision == Decision(Step.RECONCILE, clear_operation=cleared)


def test_who_cares_for_all_begins_although_a_class_left_its_finalizer(make: Make) -> None:
    resource = make(class_="seed", finalizers=[f"{BASE}-seed"])
    assert decide(resource, ResourceClass("*")).step is Step.RECONCILE


@pytest.mark.parametrize("value", ["true", "TRUE", "T", "1"])
def test_values_that_ignore(make: Make, value: str) -> None:
    assert is_ignored(make(annotations={IGNORE: value}))
