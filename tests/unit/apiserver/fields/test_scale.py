"""Writes through scale; what is expected here was read off a real server."""

from typing import Any

import pytest

from certwright.apiserver.fields import manager as fieldmanager
from certwright.apiserver.kinds.kind import ServedKind
from certwright.kube import JsonObject

EARLIER = "2026-01-01T00:00:00Z"
NOW = "2026-01-01T00:00:05Z"
REPLICAS: JsonObject = {"f:spec": {"f:replicas": {}}}
TITLE: JsonObject = {"f:spec": {"f:title": {}}}
BOTH: JsonObject = {"f:spec": {"f:replicas": {}, "f:title": {}}}


def a_thing(replicas: int, *owners: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.dev/v1",
        "kind": "Thing",
        "metadata": {"name": "t", "managedFields": list(owners)},
        "spec": {"replicas": replicas, "title": "a"},
    }


def entry(operation: str, fields: Any, manager: str = "one", **more: str) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "example.dev/v1",
        **({"time": EARLIER} if "time" not in more else {}),
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **{name: text for name, text in more.items() if text},
    }


SCALED = entry("Update", REPLICAS, "two", time="", subresource="scale")
CASES: dict[str, tuple[list[Any], int, list[Any]]] = {
    "an applier loses the replicas": (
        [entry("Apply", BOTH)],
        2,
        [entry("Apply", TITLE), SCALED],
    ),
    "an updater that owned nothing else disappears": ([entry("Update", REPLICAS)], 2, [SCALED]),
    "scaling again": (
        [entry("Update", REPLICAS, "two", time="", subresource="scale")],
        3,
        [SCALED],
    ),
    "nobody owned the replicas": ([entry("Apply", TITLE)], 2, [entry("Apply", TITLE)]),
    "the same number takes nothing from an applier": (
        [entry("Apply", BOTH)],
        1,
        [entry("Apply", BOTH)],
    ),
    "the same number splits the entry of an updater": (
        [entry("Update", BOTH)],
        1,
        [entry("Update", REPLICAS, time=""), entry("Update", TITLE)],
    ),
}


@pytest.mark.parametrize("situation", CASES)
def test_scaling(thing: ServedKind, situation: str) -> None:
    before, replicas, after = CASES[situation]

    scaled = fieldmanager.update(
        a_thing(1, *before),
        a_thing(replicas, *before),
        kind=thing,
        manager="two",
        time=NOW,
        subresource="scale",
    )

    assert scaled["metadata"]["managedFields"] == after
