"""Which objects a workload controls: by its reference in them, and by its selector.

An object without a controller that the selector matches is adopted; one whose labels no longer
match is released. Both are writes to the object, so two workloads cannot adopt it at once.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from certwright.kube import JsonObject, LabelSelector, Resource, key_of
from certwright.runtime import Context
from certwright.runtime.cache.entries import Entry
from certwright.runtime.writes.writer import controller_reference
from certwright.testkit.workloads.podstate import is_deleting


@dataclass(frozen=True, slots=True)
class Adoption:
    """What becomes of the objects that belong to an owner, or might."""

    kept: Sequence[JsonObject]
    adopted: Sequence[JsonObject]
    released: Sequence[JsonObject]


def decide_adoption(owner: JsonObject, candidates: Iterable[JsonObject]) -> Adoption:
    """Decide which objects an owner keeps, adopts and releases."""
    selector = LabelSelector.from_spec(owner["spec"].get("selector"))
    uid, leaving = owner["metadata"]["uid"], is_deleting(owner)
    kept: list[JsonObject] = []
    adopted: list[JsonObject] = []
    released: list[JsonObject] = []
    for obj in candidates:
        controller = controller_of(obj)
        matches = selector.matches(obj["metadata"].get("labels") or {})
        if controller is not None and controller.get("uid") == uid:
            if matches:
                kept.append(obj)
            elif not leaving:
                released.append(obj)
        elif controller is None and matches and not leaving and not is_deleting(obj):
            adopted.append(obj)
    return Adoption(kept, adopted, released)


async def claim(
    ctx: Context,
    kind: Resource,
    owner: JsonObject,
    counts: Callable[[JsonObject], bool] = lambda _: True,
) -> list[JsonObject]:
    """Adopt and release objects; return those the owner controls and that *counts* accepts."""
    decided = decide_adoption(owner, filter(counts, candidates_of(ctx, kind, owner)))
    for obj in decided.released:
        others = [each for each in _owners(obj) if each["uid"] != owner["metadata"]["uid"]]
        await ctx.patch(obj, {"metadata": {"ownerReferences": others or None}})
    adopted = []
    for obj in decided.adopted:
        owners = [*_owners(obj), controller_reference(owner)]
        await ctx.patch(obj, {"metadata": {"ownerReferences": owners}})
        found = ctx.get(kind, key_of(obj))
        adopted += [found] if found is not None else []
    return [*decided.kept, *adopted]


def candidates_of(ctx: Context, kind: Resource, owner: JsonObject) -> list[JsonObject]:
    """Return the objects an owner controls, and those it selects that have no controller."""
    store = ctx.store(kind)
    uid, namespace = owner["metadata"]["uid"], owner["metadata"]["namespace"]
    selector = LabelSelector.from_spec(owner["spec"].get("selector"))
    orphans = [
        entry
        for entry in store.by_namespace(namespace)
        if _is_orphan(entry) and selector.matches(entry.meta.labels)
    ]
    owned = [entry for entry in store.by_owner(uid) if not _is_orphan(entry)]
    return [entry.obj() for entry in (*owned, *orphans)]


def controller_of(obj: JsonObject) -> JsonObject | None:
    """Return the reference to the controller of an object, or None."""
    return next((each for each in _owners(obj) if each.get("controller")), None)


def _owners(obj: JsonObject) -> list[JsonObject]:
    return obj["metadata"].get("ownerReferences") or []


def _is_orphan(entry: Entry) -> bool:
    return entry.meta.controller is None
