"""What to do about a ManagedResource, and which changes of it are worth doing it again.

An instance has a class. The finalizer it puts on a ManagedResource says that it has objects in
its target. When ``spec.class`` changes, the old instance, whose finalizer is there, deletes them
and releases it; only then the new one begins. An instance of class ``*`` cares for all. Every
finalizer of the family is its own: no other instance would release them, so it waits for none.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct, field

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import (
    DEFAULT_CLASS,
    ManagedResource,
    ManagedResourceCondition,
    ManagedResourceSpec,
    ManagedResourceStatus,
)
from certwright.api.resourcekeys import FINALIZER
from certwright.kube import JsonObject, Key, ObjectMeta
from certwright.managed.dependencies import names_in
from certwright.operators.managedresource.status import APPLIED, HEALTHY
from certwright.runtime import Entry, Predicate, Store

ALL: Final = "*"


def class_of(resource: ManagedResource) -> str:
    """Return the class a ManagedResource asks for."""
    return resource.spec.class_ or DEFAULT_CLASS


@dataclass(frozen=True, slots=True)
class ResourceClass:
    """The class of an instance."""

    name: str = DEFAULT_CLASS

    @property
    def finalizer(self) -> str:
        """What marks a ManagedResource whose objects are in our target."""
        return FINALIZER if self.name in {DEFAULT_CLASS, ALL} else f"{FINALIZER}-{self.name}"

    def responsible(self, resource: ManagedResource) -> bool:
        """Return whether a ManagedResource asks for this instance."""
        return self.name in {ALL, class_of(resource)}

    def held(self, resource: ManagedResource) -> list[str]:
        """Return the finalizers that are ours to release; none if we never began."""
        return [name for name in resource.metadata.finalizers if self._is_ours(name)]

    def held_by_others(self, resource: ManagedResource) -> list[str]:
        """Return the finalizers of other classes."""
        family = _family(resource.metadata.finalizers)
        return [name for name in family if not self._is_ours(name)]

    def leaving(self, resource: ManagedResource) -> bool:
        """Return whether the objects are ours to clean up, since another class is asked for."""
        return bool(self.held(resource)) and not self.responsible(resource)

    def waits(self, resource: ManagedResource) -> bool:
        """Return whether another instance has to clean up before we begin."""
        if not self.responsible(resource):
            return False
        first = next(iter(_family(resource.metadata.finalizers)), "")
        return bool(first) and not self._is_ours(first)

    def concerns(self, resource: ManagedResource) -> bool:
        """Return whether a ManagedResource is our business at all."""
        return self.responsible(resource) or bool(self.held(resource))

    def _is_ours(self, finalizer: str) -> bool:
        if self.name == ALL:
            return bool(_family([finalizer]))
        return finalizer == self.finalizer


def _family(finalizers: Iterable[str]) -> list[str]:
    """Return the finalizers of all instances, whatever their class."""
    return [f for f in finalizers if f == FINALIZER or f.startswith(f"{FINALIZER}-")]


_RECONCILE: Final = "reconcile"
_WAIT: Final = "wait-for-state"


class Step(Enum):
    """What comes next."""

    NOTHING = auto()
    """It is gone, or not ours, or its annotation asks to wait for a state."""
    REPORT_IGNORED = auto()
    """It is to be left alone; the conditions say so."""
    DELETE = auto()
    """It is being deleted, or another class is asked for: its objects go."""
    WAIT_FOR_HANDOVER = auto()
    """Another instance has to clean up first."""
    JUDGE = auto()
    """It is suspended: nothing is written, health is judged."""
    RECONCILE = auto()


@dataclass(frozen=True, slots=True)
class Decision:
    """The next step, and whether the annotation that asked for it is to be removed first."""

    step: Step
    clear_operation: bool = False
    """Whether that is the annotation ``reconcile``."""

    def metadata(self, resource: ManagedResource, our_class: ResourceClass) -> JsonObject:
        """Return what to change in the metadata before the first object is written."""
        change: JsonObject = {"annotations": {keys.OPERATION: None}} if self.clear_operation else {}
        if our_class.finalizer not in resource.metadata.finalizers:
            change["finalizers"] = [*resource.metadata.finalizers, our_class.finalizer]
        return change


def decide(resource: ManagedResource | None, our_class: ResourceClass) -> Decision:
    """Return what to do about a ManagedResource, None being one that is gone."""
    if resource is None or not our_class.concerns(resource):
        return Decision(Step.NOTHING)
    operation = resource.metadata.annotations.get(keys.OPERATION)
    if operation == _WAIT:
        return Decision(Step.NOTHING)
    return Decision(_step(resource, our_class), clear_operation=operation == _RECONCILE)


def is_ignored(resource: ManagedResource) -> bool:
    """Return whether a ManagedResource is to be left alone; deletion overrides that."""
    return keys.truthy(resource.metadata.annotations.get(keys.IGNORE)) and not is_deleting(resource)


def is_deleting(resource: ManagedResource) -> bool:
    """Return whether deletion was asked for."""
    return resource.metadata.deletion_timestamp is not None


def is_suspended(resource: ManagedResource) -> bool:
    """Return whether nothing is to be written for now, as the spec or an annotation says."""
    said = resource.metadata.annotations.get(keys.SUSPEND)
    return bool(resource.spec.suspend) or keys.literally(said)


def has_dependencies(resource: ManagedResource) -> bool:
    """Return whether a ManagedResource names others that must be ready first."""
    return bool(resource.spec.depends_on) or keys.DEPENDS_ON in resource.metadata.annotations


def _step(resource: ManagedResource, our_class: ResourceClass) -> Step:
    if is_ignored(resource):
        return Step.REPORT_IGNORED
    if our_class.leaving(resource):
        return Step.DELETE
    if our_class.waits(resource):
        return Step.WAIT_FOR_HANDOVER  # its inventory is of another target
    if is_deleting(resource):
        return Step.DELETE
    if is_suspended(resource):
        return Step.JUDGE
    return Step.RECONCILE


_OPERATIONS = frozenset({"reconcile", "migrate", "restore"})
_ANSWERS = (
    keys.CONFIRM_PRUNE,
    keys.TAKE_OVER,
    keys.ADOPT,
    keys.FORCE_DELETE,
    keys.FORGET_INVENTORY,
    keys.SUSPEND,
    keys.DEPENDS_ON,
)
"""Annotations by which people answer what a condition asks, or say what a spec could say."""


def worth_a_pass(
    old: ManagedResource | None, new: ManagedResource, our_class: ResourceClass
) -> bool:
    """Return whether a change may need objects to be written; *old* is None for a new one."""
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
        or _is_answered(old, new)
        or lost_hold(old, new, our_class)
    )


def worth_a_look(
    old: ManagedResource | None, new: ManagedResource, our_class: ResourceClass
) -> bool:
    """Return whether a change may need health to be judged again."""
    if is_ignored(new) or not our_class.concerns(new):
        return False
    return old is None or (
        class_changed(old, new)
        or condition_status(old, APPLIED) != condition_status(new, APPLIED)
        # Another process resets it when it applies something else; ours judges before it writes.
        or condition_status(old, HEALTHY) != condition_status(new, HEALTHY) == "Unknown"
        or is_ignored(old)
    )


def asks_for_operation(resource: ManagedResource) -> bool:
    """Return whether an annotation asks for a pass."""
    return _annotation(resource, keys.OPERATION) in _OPERATIONS


def class_changed(old: ManagedResource, new: ManagedResource) -> bool:
    """Return whether another class is asked for than before."""
    return class_of(old) != class_of(new)


def became_unhealthy(old: ManagedResource, new: ManagedResource) -> bool:
    """Return whether health went from good, or not judged at all, to bad."""
    return condition_status(old, HEALTHY) in {None, "True"} and (
        condition_status(new, HEALTHY) == "False"
    )


def cleanup_completed(old: ManagedResource, new: ManagedResource, our_class: ResourceClass) -> bool:
    """Return whether another instance has just released what we wait for."""
    return (
        our_class.responsible(new)
        and bool(our_class.held_by_others(old))
        and not our_class.held_by_others(new)
    )


def lost_hold(old: ManagedResource, new: ManagedResource, our_class: ResourceClass) -> bool:
    """Return whether a finalizer of ours was removed; only we add one."""
    return not set(our_class.held(old)) <= set(our_class.held(new))


def condition_status(resource: ManagedResource, type_: str) -> str | None:
    """Return the status of a condition, None if it is not there."""
    return next((c.status for c in resource.status.conditions if c.type == type_), None)


def _is_answered(old: ManagedResource, new: ManagedResource) -> bool:
    """Return whether an annotation changed that asks for something else."""
    before, after = old.metadata.annotations, new.metadata.annotations
    return before != after and any(before.get(name) != after.get(name) for name in _ANSWERS)


def _annotation(resource: ManagedResource, name: str) -> str | None:
    return resource.metadata.annotations.get(name)


DEPENDENCIES: Final = "dependencies"
"""The index that finds ManagedResources by what they depend on."""


class _Dependency(Struct):
    name: str = ""


class _DependingSpec(Struct, rename="camel"):
    depends_on: list[_Dependency] = []


class _Notes(Struct):
    depends_on: str = field(default="", name=keys.DEPENDS_ON)


class _DependingMetadata(Struct):
    annotations: _Notes | None = None


class _Depending(Struct):
    metadata: _DependingMetadata
    spec: _DependingSpec


_DEPENDING: Final = msgspec.json.Decoder(_Depending)


@lru_cache(maxsize=256)
def dependencies_of(entry: Entry) -> tuple[Key, ...]:
    """Return the ManagedResources that one waits for; each change asks twice."""
    namespace = entry.key.namespace
    found = _DEPENDING.decode(entry.raw)
    notes = found.metadata.annotations
    noted = names_in(notes.depends_on) if notes is not None and notes.depends_on else ()
    listed = (dependency.name for dependency in found.spec.depends_on)
    return tuple(dict.fromkeys(Key(namespace, name) for name in (*listed, *noted)))


def wake_dependants(store: Store, wake: Callable[[Key], None]) -> None:
    """Wake those who depend on a ManagedResource whenever it appears, changes or goes."""

    def on_change(old: Entry | None, new: Entry | None) -> None:
        changed = new or old
        if changed is None or not store.synced:
            return
        for dependant in store.by_index(DEPENDENCIES, changed.key):
            wake(dependant.key)

    store.listen(on_change)


Matters: TypeAlias = Callable[[ManagedResource | None, ManagedResource, ResourceClass], bool]
"""Returns whether a change from one state to another matters to an instance."""


def predicate(matters: Matters, our_class: ResourceClass, *, inventory: bool = False) -> Predicate:
    """Return the predicate of a controller from a decision about two states.

    With *inventory*, another inventory matters as much as if the ManagedResource were new.
    """

    def is_worth_it(old: Entry | None, new: Entry | None) -> bool:
        if new is None:
            return True
        try:
            if inventory and old is not None and _inventory(old) != _inventory(new):
                old = None
            return matters(_decoded(old) if old is not None else None, _decoded(new), our_class)
        except msgspec.ValidationError:
            return True  # the pass reports what is wrong with it

    return is_worth_it


class _Conditions(Struct):
    conditions: list[ManagedResourceCondition] = []


class _WithoutInventory(Struct):
    """A ManagedResource without its inventory, which may be long and does not matter here."""

    metadata: ObjectMeta
    spec: ManagedResourceSpec
    status: _Conditions = field(default_factory=_Conditions)


_WITHOUT_INVENTORY: Final = msgspec.json.Decoder(_WithoutInventory)


class _Inventory(Struct):
    resources: msgspec.Raw = msgspec.Raw(b"")


class _WithInventory(Struct):
    status: _Inventory = field(default_factory=_Inventory)


_WITH_INVENTORY: Final = msgspec.json.Decoder(_WithInventory)


def _inventory(entry: Entry) -> bytes:
    return bytes(_WITH_INVENTORY.decode(entry.raw).status.resources)


@lru_cache(maxsize=64)
def _decoded(entry: Entry) -> ManagedResource:
    """Return a ManagedResource; each change is looked at by several predicates."""
    found = _WITHOUT_INVENTORY.decode(entry.raw)
    status = ManagedResourceStatus(conditions=found.status.conditions)
    return ManagedResource(metadata=found.metadata, spec=found.spec, status=status)
