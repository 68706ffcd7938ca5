"""How built-in kinds differ in what the verbs do; custom resources are all alike."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from certwright.apiserver.kinds.kind import ServedKind
from certwright.kube.objects import JsonObject


def _of_client(new: JsonObject, _old: JsonObject) -> JsonObject:
    return new


def _of_server(new: JsonObject, old: JsonObject) -> JsonObject:
    """Keep the stored metadata; only the version the client names is its own."""
    merged = dict(old)
    for field in ("resourceVersion", "managedFields"):
        if field in new:
            merged[field] = new[field]
    return merged


def _restored(new: JsonObject, old: JsonObject, field: str) -> JsonObject:
    kept = {name: value for name, value in new.items() if name != field}
    return {**kept, field: old[field]} if field in old else kept


@dataclass(frozen=True, slots=True)
class Traits:
    """What a kind's strategy decides in kube-apiserver."""

    returns_deleted: bool = False
    """A delete is answered with the object, not with a Status."""
    create_on_update: bool = False
    """A PUT of an object that does not exist creates it."""
    unconditional_update: bool = True
    """A PUT need not name the resourceVersion it replaces."""
    collects_garbage: bool = True
    """Propagation policies mean something."""
    orphans_by_default: bool = False
    checks_metadata_twice: bool = False
    """Updates are validated like new objects besides, so that some causes are repeated."""
    graceful: bool = False
    """A delete first sets a deadline, and is done when asked for again with none."""
    counts_annotations: bool = False
    """Changes of annotations raise ``metadata.generation``, too."""
    status_metadata: Callable[[JsonObject, JsonObject], JsonObject] = _of_client
    """The metadata to keep of a write to the status subresource."""


_STATUS_METADATA: Final = {
    "deployments.apps": partial(_restored, field="labels"),
    "pods": partial(_restored, field="ownerReferences"),
}

_CUSTOM: Final = Traits(unconditional_update=False, status_metadata=_of_server)


def traits_of(kind: ServedKind) -> Traits:
    """Return how a kind behaves."""
    if kind.custom:
        return _CUSTOM
    marks = kind.marks
    return Traits(
        returns_deleted="returns-deleted" in marks,
        create_on_update="create-on-update" in marks,
        unconditional_update="needs-version" not in marks,
        collects_garbage="no-garbage" not in marks,
        orphans_by_default="orphans-by-default" in marks,
        checks_metadata_twice="checks-twice" in marks,
        graceful="graceful" in marks,
        counts_annotations="counts-annotations" in marks,
        status_metadata=_STATUS_METADATA.get(kind.resource.qualified, _of_client),
    )
