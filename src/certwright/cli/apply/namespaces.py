"""The namespaces of objects whose manifests name none."""

from collections.abc import Callable, Iterable, Sequence

from certwright.apply import Manifest
from certwright.cli.connection import Session
from certwright.client import Client
from certwright.kube import GroupVersionKind, JsonObject, NotFound

Scope = Callable[[GroupVersionKind], bool | None]
"""Returns whether a kind is namespaced; None if the server does not know it (yet)."""


async def placed(session: Session, manifests: Sequence[Manifest]) -> list[JsonObject]:
    """Return the objects, each with the namespace in which this server will store it."""
    return place(manifests, await _known_scope(session.client, manifests), session.namespace)


def place(manifests: Iterable[Manifest], scope: Scope, namespace: str) -> list[JsonObject]:
    """Return the objects, those of namespaced kinds that name no namespace with this one."""
    given = list(manifests)
    defined = dict(found for m in given if (found := _defines(m.obj)))
    placed = []
    for manifest in given:
        obj = manifest.obj
        gvk = GroupVersionKind.parse(obj["apiVersion"], obj["kind"])
        namespaced = defined.get((gvk.group, gvk.kind), scope(gvk))
        metadata = {k: v for k, v in obj["metadata"].items() if k != "namespace"}
        if namespaced or (namespaced is None and obj["metadata"].get("namespace")):
            metadata["namespace"] = obj["metadata"].get("namespace") or namespace
        placed.append({**obj, "metadata": metadata})
    return placed


async def _known_scope(client: Client, manifests: Sequence[Manifest]) -> Scope:
    """Ask the server about the kinds of manifests."""
    found: dict[GroupVersionKind, bool] = {}
    for manifest in manifests:
        gvk = GroupVersionKind.parse(manifest.obj["apiVersion"], manifest.obj["kind"])
        try:
            if gvk not in found:
                found[gvk] = (await client.discovery.resource_for(gvk)).namespaced
        except NotFound:
            continue  # its definition may come along
    return found.get


def _defines(obj: JsonObject) -> tuple[tuple[str, str], bool] | None:
    spec = obj.get("spec")
    if obj["kind"] != "CustomResourceDefinition" or not isinstance(spec, dict):
        return None
    names = spec.get("names")
    kind = names.get("kind") if isinstance(names, dict) else None
    return (str(spec.get("group")), str(kind)), spec.get("scope") == "Namespaced"
