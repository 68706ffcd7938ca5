"""Annotations, labels and finalizers: what they are called, and when they mean yes.

Some annotations are read as Go reads a boolean (`truthy`), others only as the word ``true``
(`literally`). Which is which is part of the interface; each name below states it.
"""

from typing import Any, Final

from certwright.api.managedresources import GROUP
from certwright.kube import JsonObject

_OURS: Final = "resources.certwright.dev"

# On a ManagedResource

OPERATION: Final = "gardener.cloud/operation"
"""``reconcile`` forces a pass and is removed, ``wait-for-state`` stops everything."""
CONFIRM_PRUNE: Final = f"{_OURS}/confirm-prune"
"""``true``, or how many objects may be deleted at once."""
FORCE_DELETE: Final = f"{_OURS}/force-delete"
"""``true`` clears the finalizers of objects that hold up a deletion."""
FORGET_INVENTORY: Final = f"{_OURS}/forget-inventory"
"""The name of a companion that is lost and will not come back."""
SUSPEND: Final = f"{_OURS}/suspend"
"""Literal. The same as ``spec.suspend``, which Gardener's definition does not have."""
DEPENDS_ON: Final = f"{_OURS}/depends-on"
"""Names, separated by commas. Others besides ``spec.dependsOn``, which it does not have either."""
INTENT: Final = f"{_OURS}/intent"
"""The first inventory, written before the first object; see `inventory`."""

# On a ManagedResource or an object

IGNORE: Final = f"{GROUP}/ignore"
"""Truthy. A ManagedResource is left alone; an object is created once and never updated."""
TAKE_OVER: Final = f"{_OURS}/take-over"
"""Literal. Objects that belong to another ManagedResource become ours."""
ADOPT: Final = f"{_OURS}/adopt"
"""What happens to an object that exists and has no owner: `apply.Adopt`. An object's
annotation counts more than that of its ManagedResource."""
IGNORE_FIELDS: Final = f"{_OURS}/ignore-fields"
"""JSON pointers, separated by commas or white space: fields that others may own. Those of a
ManagedResource hold for all its objects."""

# On objects, in the manifest

MODE: Final = f"{GROUP}/mode"
"""See `desired.Mode`."""
PRESERVE_REPLICAS: Final = f"{GROUP}/preserve-replicas"
"""Literal."""
PRESERVE_RESOURCES: Final = f"{GROUP}/preserve-resources"
"""Literal."""
DELETE_ON_INVALID_UPDATE: Final = f"{GROUP}/delete-on-invalid-update"
"""Truthy."""
DELETION_PROPAGATION: Final = f"{GROUP}/deletion-propagation-on-invalid-update"
"""``Background``, ``Foreground`` or ``Orphan``."""

# On objects, in the cluster

KEEP_OBJECT: Final = f"{GROUP}/keep-object"
"""Truthy."""
FINALIZE_DELETION_AFTER: Final = f"{GROUP}/finalize-deletion-after"
"""A Go duration."""
ORIGIN: Final = f"{GROUP}/origin"
"""Which ManagedResource the object belongs to; see `origin`."""
DESCRIPTION: Final = f"{GROUP}/description"
DESCRIPTION_TEXT: Final = (
    "This object is managed by a ManagedResource. Changes made to it by others are reverted."
)
DIGEST: Final = f"{_OURS}/digest"
"""Of what was declared when the object was last written: a restart then writes nothing."""
MANAGED_BY: Final = f"{GROUP}/managed-by"
"""A label: which installation keeps the object. What carries it is watched."""
INVENTORY: Final = f"{_OURS}/inventory"
"""A label on companions, with the same value. What carries it is watched, too."""
HAND_OVER_TO: Final = f"{_OURS}/hand-over-to"
"""Which ManagedResources of other namespaces may take the object over: ``namespace/name,…``, with
``*`` for any part of it."""

# In an inventory

OBSOLETE: Final = f"{_OURS}/obsolete"
"""On a shard that does not count any more and is about to be deleted."""
REMOVED_FROM: Final = f"{_OURS}/removed-from"
"""On an object that is not declared any more: how many there were before it was removed."""

REFERENCE_PREFIX: Final = f"reference.{GROUP}/"

FINALIZER: Final = f"{GROUP}/gardener-resource-manager"
"""That of the class ``resources``; others append ``-<class>``."""

_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})


def truthy(value: Any) -> bool:
    """Return whether Go's ``ParseBool`` returns true; ``yes`` and the like do not count."""
    return value in _TRUE if isinstance(value, str) else False


def literally(value: Any) -> bool:
    """Return whether a value is the word ``true``."""
    return bool(value == "true")


def annotations_of(obj: JsonObject) -> dict[str, Any]:
    """Return the annotations of an object, none if they are not a mapping."""
    return _mapping(obj, "annotations")


def labels_of(obj: JsonObject) -> dict[str, Any]:
    """Return the labels of an object, none if they are not a mapping."""
    return _mapping(obj, "labels")


def _mapping(obj: JsonObject, name: str) -> dict[str, Any]:
    metadata = obj.get("metadata")
    found = metadata.get(name) if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}
