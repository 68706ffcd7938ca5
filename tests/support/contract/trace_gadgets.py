"""A custom kind for random traces, with one field of every sort that writers treat apart."""

from typing import Any, Final

from tests.support.contract.trace_subjects import (
    CONFIG_MAPS,
    METADATA,
    METADATA_EDITS,
    METADATA_REMOVALS,
    ODD_METADATA,
    Json,
    Subject,
)

GROUP: Final = "traces.example.com"

_STRING: Final = {"type": "string"}
_GADGET_SPEC: Final = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "minimum": 0, "maximum": 10, "default": 1},
        "limit": {"type": "integer"},
        "title": {"type": "string", "maxLength": 5},
        "mode": {
            "type": "string",
            "enum": ["fast", "slow"],
            "default": "fast",
            "x-kubernetes-validations": [
                {"rule": "oldSelf != 'slow' || self == 'slow'", "message": "slow is for ever"}
            ],
        },
        "ports": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": {
                "type": "object",
                "required": ["port"],
                "properties": {
                    "port": {"type": "integer"},
                    "protocol": {"type": "string", "default": "TCP"},
                    "note": _STRING,
                },
            },
        },
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": _STRING},
        "steps": {"type": "array", "items": _STRING},
        "labels": {"type": "object", "additionalProperties": _STRING},
        "whole": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "additionalProperties": {"x-kubernetes-int-or-string": True},
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "nothing": {"type": "string", "nullable": True},
    },
    "x-kubernetes-validations": [
        {"rule": "!has(self.limit) || self.size <= self.limit", "message": "size over limit"}
    ],
}
_GADGET_STATUS: Final = {
    "type": "object",
    "properties": {
        "phase": {"type": "string", "enum": ["Up", "Down"]},
        "size": {"type": "integer"},
        "conditions": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            "items": {
                "type": "object",
                "required": ["type", "status"],
                "properties": {"type": _STRING, "status": _STRING, "note": _STRING},
            },
        },
    },
}

DEFINITION: Final = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"gadgets.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {
            "plural": "gadgets",
            "singular": "gadget",
            "kind": "Gadget",
            "listKind": "GadgetList",
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": _GADGET_SPEC, "status": _GADGET_STATUS},
                    }
                },
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.size",
                        "statusReplicasPath": ".status.size",
                    },
                },
                "selectableFields": [{"jsonPath": ".spec.mode"}],
            }
        ],
    },
}


def _spec(**spec: Any) -> Json:
    return {"spec": spec}


GADGETS = Subject(
    f"{GROUP}/v1",
    "Gadget",
    "gadgets",
    {},
    (
        *METADATA,
        _spec(),
        _spec(size=2),
        _spec(size=3),
        _spec(limit=2),
        _spec(title="one"),
        _spec(title="two"),
        _spec(mode="slow"),
        _spec(ports=[{"port": 1, "note": "x"}]),
        _spec(ports=[{"port": 2}, {"port": 1, "protocol": "UDP"}]),
        _spec(ports=[{"port": 1, "protocol": "TCP", "note": "y"}]),
        _spec(tags=["a", "b"]),
        _spec(tags=["c", "a"]),
        _spec(steps=["a", "a"]),
        _spec(steps=["b"]),
        _spec(labels={"k": "1"}),
        _spec(labels={"l": "1"}),
        _spec(whole={"k": "1"}),
        _spec(whole={"l": 2}),
        _spec(free={"any": {"thing": [1, 2.5, None]}}),
        _spec(nothing=None),
        _spec(nothing="x"),
    ),
    (
        *ODD_METADATA,
        _spec(size=11),
        _spec(size="2"),
        _spec(title="too long"),
        _spec(title=None),
        _spec(mode="odd"),
        _spec(ports=[{"note": "x"}]),
        _spec(ports=[{"port": 1}, {"port": 1}]),
        _spec(tags=["a", "a"]),
        _spec(labels={"k": 1}),
        _spec(extra={"deep": 1}),
        _spec(mode=None),
        {"extra": 1},
        {"spec": []},
        {"spec": None},
    ),
    (
        *METADATA_REMOVALS,
        _spec(size=None),
        _spec(limit=None, mode=None),
        _spec(ports=None, tags=None),
        _spec(labels={"k": None}),
        _spec(free={"any": None, "more": 1}),
        _spec(nothing=None),
        {"spec": None},
    ),
    (
        *METADATA_EDITS,
        [{"op": "add", "path": "/spec/tags/-", "value": "z"}],
        [{"op": "replace", "path": "/spec/size", "value": 2}],
        [{"op": "remove", "path": "/spec/ports/0"}],
        [{"op": "add", "path": "/spec/extra", "value": 1}],
        [{"op": "remove", "path": "/spec"}],
    ),
    statuses=(
        {"phase": "Up"},
        {"phase": "Down", "size": 2},
        {"conditions": [{"type": "Ready", "status": "True"}]},
        {"conditions": [{"type": "Ready", "status": "False", "note": "x"}]},
        {"conditions": [{"type": "Ready"}]},
        {"phase": "Odd"},
        {"phase": 1},
        {"extra": 1},
        {},
    ),
    scale=True,
    selectors=(*CONFIG_MAPS.selectors, "fieldSelector=spec.mode=slow"),
)
