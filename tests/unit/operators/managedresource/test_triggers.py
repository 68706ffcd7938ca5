from typing import Any

import pytest
from tests.unit.operators.managedresource.conftest import Make

from certwright.kube import JsonObject
from certwright.operators.managedresource.decision import (
    ResourceClass,
    cleanup_completed,
    worth_a_look,
    worth_a_pass,
)

BASE = "resources.gardener.cloud/gardener-resource-manager"
IGNORE = "resources.gardener.cloud/ignore"
OPERATION = "gardener.cloud/operation"
OURS = ResourceClass()
NOW = "2026-01-01T00:00:00Z"


def condition(type_: str, status: str | None) -> dict[str, Any]:
    return {"conditions": [] if status is None else [{"type": type_, "status": status}]}


def healthy(status: str | None) -> dict[str, Any]:
    return {"status": condition("ResourcesHealthy", status)}


def applied(status: str | None) -> dict[str, Any]:
    return {"status": condition("ResourcesApplied", status)}


IGNORED = {"annotations": {IGNORE: "true"}}
PASSES: dict[str, tuple[JsonObject | None, JsonObject, bool]] = {
    "appears": (None, {}, True),
    "appears with another class": (None, {"class_": "seed"}, False),
    "appears with another class and our finalizer": (
        None,
        {"class_": "seed", "finalizers": [BASE]},
        True,
    ),
    "appears ignored": (None, IGNORED, True),
    "nothing changed": ({}, {}, False),
    "the spec changed": ({"generation": 1}, {"generation": 2}, True),
    "the spec changed while ignored": (
        {**IGNORED, "generation": 1},
        {**IGNORED, "generation": 2},
        False,
    ),
    "ignored": ({}, IGNORED, True),
    "no longer ignored": (IGNORED, {}, True),
    "deleted": ({}, {"deletionTimestamp": NOW}, True),
    "deleted while ignored": (IGNORED, {**IGNORED, "deletionTimestamp": NOW}, True),
    "asked for": ({}, {"annotations": {OPERATION: "reconcile"}}, True),
    "migrated": ({}, {"annotations": {OPERATION: "migrate"}}, True),
    "restored": ({}, {"annotations": {OPERATION: "restore"}}, True),
    "told to wait": ({}, {"annotations": {OPERATION: "wait-for-state"}}, False),
    "some annotation": ({}, {"annotations": {"a": "b"}}, False),
    "suspended": ({}, {"annotations": {"resources.certwright.dev/suspend": "true"}}, True),
    "dependent": ({}, {"annotations": {"resources.certwright.dev/depends-on": "a"}}, True),
    "an answer": ({}, {"annotations": {"resources.certwright.dev/confirm-prune": "true"}}, True),
    "unhealthy": (healthy("True"), healthy("False"), True),
    "unhealthy at first sight": (healthy(None), healthy("False"), True),
    "still unhealthy": (healthy("False"), healthy("False"), False),
    "unhealthy after unknown": (healthy("Unknown"), healthy("False"), False),
    "healthy again": (healthy("False"), healthy("True"), False),
    "another instance is done": ({"finalizers": [f"{BASE}-seed"]}, {"finalizers": []}, True),
    "our finalizer was removed": ({"finalizers": [BASE]}, {"finalizers": []}, True),
    "our finalizer was added": ({"finalizers": []}, {"finalizers": [BASE]}, False),
    "some finalizer was removed": ({"finalizers": [BASE, "a/b"]}, {"finalizers": [BASE]}, False),
    "applied": (applied("Progressing"), applied("True"), False),
}


@pytest.mark.parametrize("name", PASSES)
def test_what_is_worth_a_pass(make: Make, name: str) -> None:
    old, new, worth = PASSES[name]
    assert worth_a_pass(None if old is None else make(**old), make(**new), OURS) is worth


LOOKS: dict[str, tuple[JsonObject | None, JsonObject, bool]] = {
    "appears": (None, {}, True),
    "appears ignored": (None, IGNORED, False),
    "appears with another class": (None, {"class_": "seed"}, False),
    "nothing changed": ({}, {}, False),
    "class changed to ours": ({"class_": "seed"}, {}, True),
    "class named": ({}, {"class_": "resources"}, False),
    "applied added": (applied(None), applied("True"), True),
    "applied removed": (applied("True"), applied(None), True),
    "applied changed": (applied("Progressing"), applied("True"), True),
    "applied the same": (applied("True"), applied("True"), False),
    "ignored": ({}, IGNORED, False),
    "no longer ignored": (IGNORED, {}, True),
    "healthy changed": (healthy("True"), healthy("False"), False),
}


@pytest.mark.parametrize("name", LOOKS)
def test_what_is_worth_a_look(make: Make, name: str) -> None:
    old, new, worth = LOOKS[name]
    assert worth_a_look(None if old is None else make(**old), make(**new), OURS) is worth


@pytest.mark.parametrize(
    ("old", "new", "class_", "completed"),
    [
        ([f"{BASE}-seed"], [], None, True),
        ([f"{BASE}-seed"], [f"{BASE}-seed"], None, False),
        ([], [], None, False),
        ([BASE], [], None, False),
        ([f"{BASE}-seed"], [], "seed", False),
        ([f"{BASE}-seed"], [BASE], None, True),
    ],
)
def test_when_a_cleanup_is_completed(
    make: Make, old: list[str], new: list[str], class_: str | None, *, completed: bool
) -> None:
    before, after = make(finalizers=old, class_=class_), make(finalizers=new, class_=class_)
    assert cleanup_completed(before, after, OURS) is completed
