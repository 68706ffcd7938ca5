"""The kinds of an app: a namespaced and a cluster one, generated from its spec type."""

from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct, field

from certwright.kube import (
    Column,
    ConditionStatus,
    Key,
    Object,
    Resource,
    custom_resource,
    list_map,
)

_READY = '.status.conditions[?(@.type=="Ready")]'

COLUMNS = (
    Column("Ready", f"{_READY}.status", "string"),
    Column("Reason", f"{_READY}.reason", "string"),
    Column("Message", f"{_READY}.message", "string"),
    Column("LastTransition", f"{_READY}.lastTransitionTime", "string", priority=1),
    Column("ObservedGeneration", f"{_READY}.observedGeneration", "integer", priority=1),
    Column("Generation", ".metadata.generation", "integer", priority=1),
    Column("Age", ".metadata.creationTimestamp", "date"),
)


class IssuerKey(NamedTuple):
    """Which issuer is meant, whether it exists or not."""

    kind: Resource
    key: Key


class IssuerCondition(Struct, frozen=True, rename="camel", kw_only=True):
    """What is known about the issuer. ``Ready`` says whether it can sign."""

    type: Annotated[str, Meta(max_length=316, min_length=1)]
    status: ConditionStatus
    reason: Annotated[
        str, Meta(max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
    ]
    message: Annotated[str, Meta(max_length=32768)]
    last_transition_time: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    observed_generation: Annotated[int, Meta(ge=0, extra_json_schema={"format": "int64"})] = 0


class IssuerStatus(Struct, frozen=True):
    """Whether the issuer can sign, and why not."""

    conditions: Annotated[list[IssuerCondition], list_map("type")] = field(default_factory=list)


def cluster_kind_of(kind: str) -> str:
    """Return what the cluster-wide sibling of a kind is called: DemoIssuer, DemoClusterIssuer."""
    stem = kind.removesuffix("Issuer")
    return f"{stem}ClusterIssuer" if stem != kind else f"Cluster{kind}"


def issuer_kind(
    group: str, version: str, kind: str, spec: type[Struct], *, namespaced: bool, doc: str
) -> type[Object]:
    """Declare one kind of issuer; `ValueError` for a bad name, `SchemaError` for a bad spec."""
    fields: list[Any] = [
        ("spec", spec),
        ("status", IssuerStatus, msgspec.field(default_factory=IssuerStatus)),
    ]
    declared: Any = msgspec.defstruct(
        kind,
        fields,
        bases=(Object,),
        namespace={"__doc__": doc},
        rename="camel",
        omit_defaults=True,
        kw_only=True,
    )
    decorate = custom_resource(
        group,
        version,
        scope="Namespaced" if namespaced else "Cluster",
        categories=["cert-manager"],
        columns=COLUMNS,
    )
    kind_type: type[Object] = decorate(declared)
    return kind_type
