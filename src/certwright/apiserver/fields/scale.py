"""Field ownership of writes through the scale subresource.

The server tracks them on the Scale object, a kind of its own, and carries the result over to
the scaled object. The detour shows: such entries have no time, no manager becomes owner of replicas
that had none nor of zero replicas, which are not written out, and an updater's claim to them
moves to an entry by itself.
"""

from certwright.apiserver.fields.fieldset import difference, field_set, is_subset
from certwright.apiserver.fields.managedfields import (
    FieldManager,
    ManagedFieldsEntry,
    read,
    with_entries,
    without_entries,
    write,
)
from certwright.apiserver.fields.merge import compare
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.kinds.scalepaths import value_at
from certwright.kube.objects import JsonObject

_SCALE_VERSION = "autoscaling/v1"


def scaled(old: JsonObject, new: JsonObject, *, kind: ServedKind, manager: str) -> JsonObject:
    """Record in *new* that *manager* set its replicas through scale."""
    replicas = field_set(kind.scale_paths[0].removeprefix("."))
    fresh = without_entries(new)
    managed = read(old)
    owners = [owner for owner, entry in managed.items() if is_subset(replicas, entry.fields)]
    changes = compare(without_entries(old), fresh, kind.schema)
    for owner in owners:
        entry = managed[owner]
        if owner.operation == "Apply" and not changes.set:
            continue
        del managed[owner]
        rest = difference(entry.fields, replicas)
        if rest:
            managed[owner] = ManagedFieldsEntry(rest, entry.api_version, entry.time)
        if not changes.set:
            moved = owner._replace(api_version=_SCALE_VERSION)
            managed[moved] = ManagedFieldsEntry(replicas, kind.resource.api_version)
    if owners and changes.set and value_at(fresh, kind.scale_paths[0]):
        me = FieldManager.updater(manager, _SCALE_VERSION, "scale")
        managed[me] = ManagedFieldsEntry(replicas, kind.resource.api_version)
    return with_entries(fresh, write(managed))
