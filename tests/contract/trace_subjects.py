"""The kinds that random traces are played on, as pieces to make objects and patches of.

There are few values on purpose: writers must meet each other, conflict, and repeat themselves.
Pieces in ``odd`` are refused, or change something that may not change.
"""

from dataclasses import dataclass
from typing import Any, Final

Json = dict[str, Any]

GROUP: Final = "traces.example.com"
_FINALIZER: Final = "example.com/a"


@dataclass(frozen=True)
class Subject:
    """A kind, and what is written to it."""

    api_version: str
    kind: str
    plural: str
    base: Json
    """What every object needs."""
    pieces: tuple[Json, ...]
    odd: tuple[Json, ...]
    removals: tuple[Json, ...]
    """Patches with nulls."""
    edits: tuple[list[Json], ...]
    """JSON patches."""
    strategic: tuple[Json, ...] = ()
    """Patches with directives; none for kinds that have no strategic merge."""
    statuses: tuple[Json, ...] = ()
    scale: bool = False
    selectors: tuple[str, ...] = ("", "labelSelector=tier=a", "labelSelector=tier,color!=red")
    ours: str = ""
    """A field selector that leaves out what controllers keep in every namespace."""

    @property
    def path(self) -> str:
        root = "/apis/" if "/" in self.api_version else "/api/"
        return f"{root}{self.api_version}/namespaces/{{ns}}/{self.plural}"

    def __repr__(self) -> str:
        return self.kind


def _meta(**metadata: Any) -> Json:
    return {"metadata": metadata}


_METADATA = (
    _meta(labels={"tier": "a"}),
    _meta(labels={"tier": "b"}),
    _meta(labels={"color": "red"}),
    _meta(annotations={"note": "x"}),
    _meta(finalizers=[_FINALIZER]),
)
_ODD_METADATA = (
    _meta(labels={"tier": "-no-"}),
    _meta(finalizers=["unqualified"]),
    _meta(annotations={"note": 1}),
)
_METADATA_REMOVALS = (
    _meta(labels=None),
    _meta(labels={"tier": None, "color": "red"}),
    _meta(annotations={"note": None}),
    _meta(finalizers=None),
    _meta(finalizers=None),
    _meta(finalizers=None),
)
_METADATA_EDITS: tuple[list[Json], ...] = (
    [{"op": "add", "path": "/metadata/labels", "value": {"tier": "a"}}],
    [{"op": "replace", "path": "/metadata/labels/tier", "value": "b"}],
    [{"op": "remove", "path": "/metadata/labels/tier"}],
    [{"op": "add", "path": "/metadata/finalizers", "value": [_FINALIZER, "example.com/b"]}],
    [{"op": "remove", "path": "/metadata/finalizers"}],
    [{"op": "remove", "path": "/metadata/finalizers/0"}],
    [
        {"op": "test", "path": "/metadata/labels/tier", "value": "a"},
        {"op": "add", "path": "/metadata/labels/color", "value": "red"},
    ],
)
_DELETE_FINALIZER = _meta(**{"$deleteFromPrimitiveList/finalizers": [_FINALIZER]})


CONFIG_MAPS = Subject(
    "v1",
    "ConfigMap",
    "configmaps",
    {},
    (
        *_METADATA,
        _meta(finalizers=[]),
        {"data": {"x": "1"}},
        {"data": {"x": "2"}},
        {"data": {"y": "1"}},
        {"data": {}},
        {"binaryData": {"z": "AAE="}},
        {"immutable": True},
    ),
    (
        *_ODD_METADATA,
        {"data": {"no good": "1"}},
        {"data": {"x": 5}},
        {"data": "x"},
        {"binaryData": {"x": "AAE="}},
        {"binaryData": {"z": "%"}},
        {"extra": {"deep": 1}},
        {"immutable": False},
    ),
    (*_METADATA_REMOVALS, {"data": {"x": None}}, {"data": None}, {"immutable": None}),
    (
        *_METADATA_EDITS,
        [{"op": "add", "path": "/data/x", "value": "1"}],
        [{"op": "remove", "path": "/data"}],
        [{"op": "replace", "path": "/data/y", "value": 7}],
    ),
    strategic=(_DELETE_FINALIZER, {"data": {"$patch": "replace", "y": "1"}}),
    ours="metadata.name!=kube-root-ca.crt",
)

SECRETS = Subject(
    "v1",
    "Secret",
    "secrets",
    {},
    (
        *_METADATA,
        _meta(finalizers=[]),
        {"data": {"x": "MQ=="}},
        {"data": {"y": "MQ=="}},
        {"stringData": {"x": "1"}},
        {"stringData": {"x": "2"}},
        {"type": "Opaque"},
        {"immutable": True},
    ),
    (
        *_ODD_METADATA,
        {"type": "kubernetes.io/tls"},
        {"type": "example.com/other"},
        {"data": {"x": "!"}},
        {"data": {"no good": "MQ=="}},
        {"stringData": {"x": True}},
        {"extra": 1},
    ),
    (*_METADATA_REMOVALS, {"data": {"x": None}}, {"data": None}, {"type": None}),
    (
        *_METADATA_EDITS,
        [{"op": "add", "path": "/data/x", "value": "MQ=="}],
        [{"op": "add", "path": "/stringData", "value": {"y": "2"}}],
        [{"op": "remove", "path": "/data/x"}],
    ),
    strategic=(_DELETE_FINALIZER, {"data": {"$patch": "delete"}}),
    selectors=(*CONFIG_MAPS.selectors, "fieldSelector=type=Opaque"),
)

_PORT = {"name": "web", "port": 80}
_OTHER_PORT = {"name": "admin", "port": 81, "protocol": "UDP", "targetPort": "admin"}

SERVICES = Subject(
    "v1",
    "Service",
    "services",
    {"spec": {"ports": [_PORT]}},
    (
        *_METADATA,
        {"spec": {"selector": {"app": "a"}}},
        {"spec": {"selector": {"app": "b"}}},
        {"spec": {"ports": [_PORT, _OTHER_PORT]}},
        {"spec": {"ports": [{**_PORT, "targetPort": 8080}]}},
        {"spec": {"sessionAffinity": "ClientIP"}},
        {"spec": {"sessionAffinity": "None"}},
        {"spec": {"clusterIP": "None"}},
        {"spec": {"publishNotReadyAddresses": True}},
    ),
    (
        *_ODD_METADATA,
        {"spec": {"ports": [{"port": 0}]}},
        {"spec": {"ports": [_PORT, {"port": 82}]}},
        {"spec": {"ports": []}},
        {"spec": {"type": "Elsewhere"}},
        {"spec": {"clusterIP": "bad"}},
        {"spec": {"selector": {"app": "not ok"}}},
        {"spec": {"ports": "80"}},
        {"spec": {"extra": 1}},
    ),
    (
        *_METADATA_REMOVALS,
        {"spec": {"selector": None}},
        {"spec": {"ports": None}},
        {"spec": {"sessionAffinity": None}},
    ),
    (
        *_METADATA_EDITS,
        [{"op": "add", "path": "/spec/ports/-", "value": _OTHER_PORT}],
        [{"op": "remove", "path": "/spec/ports/1"}],
        [{"op": "replace", "path": "/spec/ports/0/targetPort", "value": "web"}],
    ),
    strategic=(
        _DELETE_FINALIZER,
        {"spec": {"ports": [_OTHER_PORT]}},
        {"spec": {"ports": [{"port": 80, "$patch": "delete"}]}},
        {"spec": {"ports": [{"$patch": "replace"}, _OTHER_PORT]}},
        {"spec": {"selector": {"$patch": "replace", "app": "c"}}},
    ),
)  # fmt: skip


def _template(*containers: Json, **more: Any) -> Json:
    labels = {"app": "a", **more.pop("labels", {})}
    return {
        "spec": {
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [*containers]}}
        }
    }


_MAIN = {"name": "main", "image": "main:1"}
_SIDE = {"name": "side", "image": "side:1"}
_ENV = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]


def _condition(status: str) -> Json:
    return {
        "type": "Available",
        "status": status,
        "lastUpdateTime": "2026-01-01T00:00:00Z",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


DEPLOYMENTS = Subject(
    "apps/v1",
    "Deployment",
    "deployments",
    {"spec": {"selector": {"matchLabels": {"app": "a"}}, **_template(_MAIN)["spec"]}},
    (
        *_METADATA,
        {"spec": {"replicas": 0}},
        {"spec": {"replicas": 1}},
        {"spec": {"replicas": 2}},
        _template({**_MAIN, "image": "main:2"}),
        _template(_MAIN, _SIDE),
        _template({**_MAIN, "env": _ENV, "ports": [{"containerPort": 80}]}),
        _template({**_MAIN, "env": _ENV[:1], "args": ["-v"]}, labels={"new": "1"}),
        {"spec": {"strategy": {"type": "Recreate"}}},
        {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 2}}}},
        {"spec": {"paused": True}},
    ),
    (
        *_ODD_METADATA,
        {"spec": {"replicas": -1}},
        {"spec": {"replicas": "1"}},
        {"spec": {"selector": {"matchLabels": {"app": "b"}}}},
        {"spec": {"selector": None}},
        _template(),
        _template({"name": "main"}),
        _template(_MAIN, _MAIN),
        {"spec": {"minReadySeconds": -1, "strategy": {"type": "Elsewhere"}}},
        {"spec": {"extra": [1]}},
    ),
    (
        *_METADATA_REMOVALS,
        {"spec": {"replicas": None}},
        {"spec": {"strategy": None}},
        {"spec": {"paused": None}},
        {"spec": {"strategy": {"rollingUpdate": None, "type": "Recreate"}}},
    ),
    (
        *_METADATA_EDITS,
        [{"op": "replace", "path": "/spec/replicas", "value": 2}],
        [{"op": "add", "path": "/spec/template/spec/containers/-", "value": _SIDE}],
        [{"op": "remove", "path": "/spec/template/spec/containers/1"}],
        [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "main:2"}],
        [{"op": "copy", "from": "/metadata/labels", "path": "/spec/template/metadata/labels"}],
    ),
    strategic=(
        _DELETE_FINALIZER,
        {"spec": {"template": {"spec": {"containers": [_SIDE]}}}},
        {"spec": {"template": {"spec": {"containers": [{"name": "side", "$patch": "delete"}]}}}},
        {"spec": {"template": {"spec": {"containers": [{"name": "main", "env": _ENV[1:]}]}}}},
        {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
        {
            "spec": {
                "template": {
                    "spec": {
                        "$setElementOrder/containers": [{"name": "side"}, {"name": "main"}],
                        "containers": [{"name": "main", "image": "main:3"}],
                    }
                }
            }
        },
    ),
    statuses=(
        {"replicas": 1, "observedGeneration": 1},
        {"replicas": 2, "readyReplicas": 1},
        {"conditions": [_condition("True")]},
        {"conditions": [_condition("False")]},
        {"replicas": -1},
        {"replicas": "x"},
        {},
    ),
    scale=True,
)

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
        *_METADATA,
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
        *_ODD_METADATA,
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
        *_METADATA_REMOVALS,
        _spec(size=None),
        _spec(limit=None, mode=None),
        _spec(ports=None, tags=None),
        _spec(labels={"k": None}),
        _spec(free={"any": None, "more": 1}),
        _spec(nothing=None),
        {"spec": None},
    ),
    (
        *_METADATA_EDITS,
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

SUBJECTS: Final = (CONFIG_MAPS, SECRETS, SERVICES, DEPLOYMENTS, GADGETS)
