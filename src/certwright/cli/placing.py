"""Objects of files into the namespaces where the server will have them."""

from collections.abc import Callable, Iterable, Sequence

from certwright.apply import Manifest
from certwright.cli.errors import UsageError
from certwright.client import Client
from certwright.kube import GroupVersionKind, JsonObject, NotFound

Scope = Callable[[GroupVersionKind], bool | None]
"""Says whether a kind is namespaced; None if nobody knows it (yet)."""


def place(manifests: Iterable[Manifest], scope: Scope, namespace: str) -> list[JsonObject]:
    """Return the objects; those of namespaced kinds that name no namespace get this one.

    Kinds that are defined by the manifests themselves are known from there.

    Raises:
        ExceptionGroup: of a `UsageError` for each manifest that is no object.
    """
    given = list(manifests)
    wrong = [UsageError(f"{m.origin}: {why}") for m in given if (why := _problem(m.obj))]
    if wrong:
        raise ExceptionGroup("manifests that are no objects", wrong)
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


async def known_scope(client: Client, manifests: Sequence[Manifest]) -> Scope:
    """Ask the server about the kinds of manifests."""
    found: dict[GroupVersionKind, bool] = {}
    for manifest in manifests:
        try:
            gvk = GroupVersionKind.parse(manifest.obj["apiVersion"], manifest.obj["kind"])
            if gvk not in found:
                found[gvk] = (await client.discovery.resource_for(gvk)).namespaced
        except (KeyError, ValueError, TypeError, AttributeError, NotFound):
            continue  # `place` says what is wrong, or a definition comes along
    return found.get


def _problem(obj: JsonObject) -> str:
    """Say what keeps a manifest from being an object; empty if nothing does."""
    for name in ("apiVersion", "kind"):
        if not isinstance(obj.get(name), str) or not obj[name]:
            return f"no {name}; every object has one"
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return "no metadata.name; what is applied has a name (generateName is for kubectl create)"
    try:
        GroupVersionKind.parse(obj["apiVersion"], obj["kind"])
    except ValueError as error:
        return str(error)
    return ""


def _defines(obj: JsonObject) -> tuple[tuple[str, str], bool] | None:
    if obj["kind"] != "CustomResourceDefinition":
        return None
    spec = obj.get("spec") or {}
    kind = (spec.get("names") or {}).get("kind")
    return (str(spec.get("group")), str(kind)), spec.get("scope") == "Namespaced"
