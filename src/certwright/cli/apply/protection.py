"""Objects that take others or data along when they go, and are not deleted unless asked for."""

from collections.abc import Callable, Collection, Sequence
from typing import Final

from certwright.apply import Action, Change, ObjectRef
from certwright.cli.options import Protected

_KINDS: Final = {
    ("", "Namespace"): (Protected.NAMESPACES, "everything in it"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): (
        Protected.CRDS,
        "all objects of its kind",
    ),
    ("", "PersistentVolumeClaim"): (Protected.PVCS, "its data"),
}


def protection(asked: Collection[Protected]) -> Callable[[ObjectRef], str]:
    """Return what tells why an object is not deleted, and how to; empty if it may go."""

    def reason(ref: ObjectRef) -> str:
        kind, along = _KINDS.get((ref.group, ref.kind), (Protected.ALL, ""))
        if not along or kind in asked or Protected.ALL in asked:
            return ""
        return f"it is protected: {along} would go with it; add --delete-protected {kind}"

    return reason


def split(
    refs: Sequence[ObjectRef], protected: Callable[[ObjectRef], str]
) -> tuple[list[ObjectRef], list[Change]]:
    """Return what may be deleted, and what is kept with the reason for each."""
    kept = [Change(ref, Action.KEPT, why) for ref in refs if (why := protected(ref))]
    return [ref for ref in refs if not protected(ref)], kept
