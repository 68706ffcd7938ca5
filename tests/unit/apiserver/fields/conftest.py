from dataclasses import replace

import pytest

from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.schema.schema import ListType, Schema
from certwright.kube.objects import Resource

STRING = Schema("string")
INTEGER = Schema("integer")


def struct(**properties: Schema) -> Schema:
    return Schema("object", properties=properties)


def keyed(*keys: str, **properties: Schema) -> Schema:
    return Schema("array", items=struct(**properties), list_type=ListType.MAP, list_keys=keys)


def strings(list_type: ListType) -> Schema:
    return Schema("array", items=STRING, list_type=list_type)


METADATA = struct(
    name=STRING,
    namespace=STRING,
    labels=Schema("object", additional=STRING),
    annotations=Schema("object", additional=STRING),
    finalizers=strings(ListType.SET),
)
SPEC = struct(
    replicas=INTEGER,
    title=STRING,
    paused=Schema("boolean"),
    port=Schema("string", format="int-or-string", int_or_string=True),
    labels=Schema("object", additional=STRING),
    selector=Schema("object", additional=STRING, atomic_map=True),
    nested=struct(x=INTEGER, y=struct(z=STRING)),
    items=keyed("name", name=STRING, image=STRING, args=strings(ListType.ATOMIC)),
    ports=keyed(
        "port", "protocol", port=INTEGER, protocol=Schema("string", default="TCP"), note=STRING
    ),
    tags=strings(ListType.SET),
    args=strings(ListType.ATOMIC),
    free=Schema("object", preserve_unknown=True),
)


@pytest.fixture
def thing() -> ServedKind:
    """A custom resource with a field of every sort."""
    schema = struct(
        apiVersion=STRING,
        kind=STRING,
        metadata=METADATA,
        spec=SPEC,
        status=struct(phase=STRING, conditions=keyed("type", type=STRING, status=STRING)),
    )
    return ServedKind(
        Resource("example.dev", "v1", "Thing", "things"),
        schema,
        "thing",
        "ThingList",
        custom=True,
        subresources=frozenset({"status", "scale"}),
        scale_paths=(".spec.replicas", ".status.replicas", ""),
    )


@pytest.fixture
def config_map() -> ServedKind:
    """A built-in kind: its objects begin with metadata in place."""
    schema = struct(
        apiVersion=STRING,
        kind=STRING,
        metadata=replace(METADATA, default={}),
        data=Schema("object", additional=STRING),
    )
    return ServedKind(
        Resource("", "v1", "ConfigMap", "configmaps"), schema, "configmap", "ConfigMapList"
    )
