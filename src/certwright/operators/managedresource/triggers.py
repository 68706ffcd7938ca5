"""Which changes of a ManagedResource are worth a pass, and which a look at its health."""

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import ManagedResource
from certwright.operators.managedresource.conditions import APPLIED, HEALTHY
from certwright.operators.managedresource.entry import is_deleting, is_ignored
from certwright.operators.managedresource.responsibility import ResourceClass, class_of

_OPERATIONS = frozenset({"reconcile", "migrate", "restore"})
_WAIT = "wait-for-state"
_ANSWERS = (
    keys.CONFIRM_PRUNE,
    keys.TAKE_OVER,
    keys.ADOPT,
    keys.FORCE_DELETE,
    keys.FORGET_INVENTORY,
)
"""Annotations by which people answer what a condition asks."""


def worth_a_pass(
    old: ManagedResource | None, new: ManagedResource, our_class: ResourceClass
) -> bool:
    """Say whether a change may need objects to be written; *old* is None for a new one."""
    if not our_class.concerns(new):
        return False
    if is_ignored(new) and old is not None and is_ignored(old):
        return False
    return old is None or (
        old.metadata.generation != new.metadata.generation
        or is_deleting(old) != is_deleting(new)
        or is_ignored(old) != is_ignored(new)
        or asks_for_operation(new)
        or (_annotation(old, keys.OPERATION) == _WAIT != _annotation(new, keys.OPERATION))
        or (became_unhealthy(old, new) and not is_deleting(new))
        or cleanup_completed(old, new, our_class)
        or any(_annotation(old, name) != _annotation(new, name) for name in _ANSWERS)
        or lost_hold(old, new, our_class)
    )


def worth_a_look(
    old: ManagedResource | None, new: ManagedResource, our_class: ResourceClass
) -> bool:
    """Say whether a change may need health to be judged again."""
    if is_ignored(new) or not our_class.concerns(new):
        return False
    return old is None or (
        class_changed(old, new)
        or condition_status(old, APPLIED) != condition_status(new, APPLIED)
        or is_ignored(old)
    )


def asks_for_operation(resource: ManagedResource) -> bool:
    """Say whether somebody asks for a pass by annotation."""
    return _annotation(resource, keys.OPERATION) in _OPERATIONS


def class_changed(old: ManagedResource, new: ManagedResource) -> bool:
    """Say whether another class is asked for than before."""
    return class_of(old) != class_of(new)


def became_unhealthy(old: ManagedResource, new: ManagedResource) -> bool:
    """Say whether health went from good, or not judged at all, to bad."""
    return condition_status(old, HEALTHY) in {None, "True"} and (
        condition_status(new, HEALTHY) == "False"
    )


def cleanup_completed(old: ManagedResource, new: ManagedResource, our_class: ResourceClass) -> bool:
    """Say whether another instance has just released what we wait for."""
    return (
        our_class.responsible(new)
        and bool(our_class.held_by_others(old))
        and not our_class.held_by_others(new)
    )


def lost_hold(old: ManagedResource, new: ManagedResource, our_class: ResourceClass) -> bool:
    """Say whether a finalizer of ours was removed; it is nobody else who adds one."""
    return not set(our_class.held(old)) <= set(our_class.held(new))


def condition_status(resource: ManagedResource, type_: str) -> str | None:
    """Return the status of a condition, None if it is not there."""
    return next((c.status for c in resource.status.conditions if c.type == type_), None)


def _annotation(resource: ManagedResource, name: str) -> str | None:
    return resource.metadata.annotations.get(name)
