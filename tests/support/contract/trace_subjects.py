"""The kinds that random traces are played on, as pieces to make objects and patches of.

There are few values on purpose: writers must meet each other, conflict, and repeat themselves.
Pieces in ``odd`` are refused, or change something that may not change.
"""

from dataclasses import dataclass
from typing import Any, Final

Json = dict[str, Any]

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


def meta(**metadata: Any) -> Json:
    return {"metadata": metadata}


METADATA = (
    meta(labels={"tier": "a"}),
    meta(labels={"tier": "b"}),
    meta(labels={"color": "red"}),
    meta(annotations={"note": "x"}),
    meta(finalizers=[_FINALIZER]),
)
ODD_METADATA = (
    meta(labels={"tier": "-no-"}),
    meta(finalizers=["unqualified"]),
    meta(annotations={"note": 1}),
)
METADATA_REMOVALS = (
    meta(labels=None),
    meta(labels={"tier": None, "color": "red"}),
    meta(annotations={"note": None}),
    meta(finalizers=None),
    meta(finalizers=None),
    meta(finalizers=None),
)
METADATA_EDITS: tuple[list[Json], ...] = (
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
DELETE_FINALIZER = meta(**{"$deleteFromPrimitiveList/finalizers": [_FINALIZER]})


CONFIG_MAPS = Subject(
    "v1",
    "ConfigMap",
    "configmaps",
    {},
    (
        *METADATA,
        meta(finalizers=[]),
        {"data": {"x": "1"}},
        {"data": {"x": "2"}},
        {"data": {"y": "1"}},
        {"data": {}},
        {"binaryData": {"z": "AAE="}},
        {"immutable": True},
    ),
    (
        *ODD_METADATA,
        {"data": {"no good": "1"}},
        {"data": {"x": 5}},
        {"data": "x"},
        {"binaryData": {"x": "AAE="}},
        {"binaryData": {"z": "%"}},
        {"extra": {"deep": 1}},
        {"immutable": False},
    ),
    (*METADATA_REMOVALS, {"data": {"x": None}}, {"data": None}, {"immutable": None}),
    (
        *METADATA_EDITS,
        [{"op": "add", "path": "/data/x", "value": "1"}],
        [{"op": "remove", "path": "/data"}],
        [{"op": "replace", "path": "/data/y", "value": 7}],
    ),
    strategic=(DELETE_FINALIZER, {"data": {"$patch": "replace", "y": "1"}}),
    ours="metadata.name!=kube-root-ca.crt",
)

SECRETS = Subject(
    "v1",
    "Secret",
    "secrets",
    {},
    (
        *METADATA,
        meta(finalizers=[]),
        {"data": {"x": "MQ=="}},
        {"data": {"y": "MQ=="}},
        {"stringData": {"x": "1"}},
        {"stringData": {"x": "2"}},
        {"type": "Opaque"},
        {"immutable": True},
    ),
    (
        *ODD_METADATA,
        {"type": "kubernetes.io/tls"},
        {"type": "example.com/other"},
        {"data": {"x": "!"}},
        {"data": {"no good": "MQ=="}},
        {"stringData": {"x": True}},
        {"extra": 1},
    ),
    (*METADATA_REMOVALS, {"data": {"x": None}}, {"data": None}, {"type": None}),
    (
        *METADATA_EDITS,
        [{"op": "add", "path": "/data/x", "value": "MQ=="}],
        [{"op": "add", "path": "/stringData", "value": {"y": "2"}}],
        [{"op": "remove", "path": "/data/x"}],
    ),
    strategic=(DELETE_FINALIZER, {"data": {"$patch": "delete"}}),
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
        *METADATA,
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
        *ODD_METADATA,
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
        *METADATA_REMOVALS,
        {"spec": {"selector": None}},
        {"spec": {"ports": None}},
        {"spec": {"sessionAffinity": None}},
    ),
    (
        *METADATA_EDITS,
        [{"op": "add", "path": "/spec/ports/-", "value": _OTHER_PORT}],
        [{"op": "remove", "path": "/spec/ports/1"}],
        [{"op": "replace", "path": "/spec/ports/0/targetPort", "value": "web"}],
    ),
    strategic=(
        DELETE_FINALIZER,
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
        *METADATA,
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
        *ODD_METADATA,
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
        *METADATA_REMOVALS,
        {"spec": {"replicas": None}},
        {"spec": {"strategy": None}},
        {"spec": {"paused": None}},
        {"spec": {"strategy": {"rollingUpdate": None, "type": "Recreate"}}},
    ),
    (
        *METADATA_EDITS,
        [{"op": "replace", "path": "/spec/replicas", "value": 2}],
        [{"op": "add", "path": "/spec/template/spec/containers/-", "value": _SIDE}],
        [{"op": "remove", "path": "/spec/template/spec/containers/1"}],
        [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "main:2"}],
        [{"op": "copy", "from": "/metadata/labels", "path": "/spec/template/metadata/labels"}],
    ),
    strategic=(
        DELETE_FINALIZER,
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
