"""Which built-in kinds are served, and how: ``kinds.ini``, with shapes and rules joined on."""

from collections.abc import Mapping
from typing import Final

from certwright.apiserver.builtins.columns import COLUMNS
from certwright.apiserver.builtins.decode import decoder
from certwright.apiserver.builtins.notation import CORE, definitions
from certwright.apiserver.builtins.rules.kinds import rules_for
from certwright.apiserver.builtins.rules.services import ServiceAllocator
from certwright.apiserver.datafiles import read_sections
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.schema.schema import Schema
from certwright.kube import kinds
from certwright.kube.objects import Resource

_REPLICAS: Final = ("spec.replicas", "status.replicas", "spec.selector")
_ENTRIES: Final[dict[Resource, dict[str, str]]] = {
    getattr(kinds, name): entry for name, entry in read_sections(__package__, "kinds.ini").items()
}

_PREFIXES: Final = {
    "": CORE,
    "apiextensions.k8s.io": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
    "apiregistration.k8s.io": "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1",
}


def served_kinds(services: ServiceAllocator | None = None) -> list[ServedKind]:
    """Return every built-in kind, in the order of discovery.

    *services* hands out cluster IPs and node ports; a fresh one by default.
    """
    shapes = definitions()
    allocator = services or ServiceAllocator()
    return [_served(resource, shapes, allocator) for resource in _ENTRIES]


def definition_name(resource: Resource) -> str:
    """Return the OpenAPI name of a built-in kind, such as io.k8s.api.apps.v1.Deployment."""
    group = resource.group.partition(".")[0]
    prefix = _PREFIXES.get(resource.group) or f"io.k8s.api.{group}.{resource.version}"
    return f"{prefix}.{resource.kind}"


def descriptions() -> dict[str, str]:
    """Return a sentence about each built-in kind, by the OpenAPI names."""
    return {definition_name(resource): entry["about"] for resource, entry in _ENTRIES.items()}


def _served(
    resource: Resource, shapes: Mapping[str, Schema], allocator: ServiceAllocator
) -> ServedKind:
    entry = _ENTRIES[resource]
    marks = frozenset(entry.get("marks", "").split())
    schema = shapes[definition_name(resource)]
    subresources = frozenset(entry.get("subresources", "").split())
    rules = rules_for(resource, allocator)
    every = ServedKind(resource, schema, "", "").verbs
    if resource.qualified == "namespaces":
        every = tuple(verb for verb in every if verb != "deletecollection")
    return ServedKind(
        resource=resource,
        schema=schema,
        singular=resource.kind.lower(),
        list_kind=f"{resource.kind}List",
        short_names=tuple(entry.get("short", "").split()),
        categories=tuple(entry.get("category", "").split()),
        verbs=("create",) if "create-only" in marks else every,
        subresources=subresources,
        scale_paths=_REPLICAS if "scale" in subresources else ("", "", ""),
        counts_generation="generation" in marks,
        selectable_fields=tuple(entry.get("fields", "").split()),
        columns=COLUMNS.get(resource.qualified, ()),
        marks=marks,
        always_printed=entry.get("printed", "{}"),
        decode=decoder(schema, resource.kind, resource.version),
        complete=rules.complete,
        admit=rules.admit,
        prepare=rules.prepare,
        validate=rules.validate,
        warnings=rules.warnings,
    )
