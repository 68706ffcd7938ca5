"""What to do about a ManagedResource: the first question of every pass."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import ManagedResource
from certwright.operators.managedresource.responsibility import ResourceClass

_RECONCILE: Final = "reconcile"
_WAIT: Final = "wait-for-state"


class Step(Enum):
    """What comes next."""

    NOTHING = auto()
    """It is gone, or not ours, or somebody asked us to wait for a state."""
    SAY_IGNORED = auto()
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
    """Also says that the pass is forced: nothing may be skipped as unchanged."""


def decide(resource: ManagedResource | None, our_class: ResourceClass) -> Decision:
    """Return what to do about a ManagedResource, None being one that is gone."""
    if resource is None or not our_class.concerns(resource):
        return Decision(Step.NOTHING)
    operation = resource.metadata.annotations.get(keys.OPERATION)
    if operation == _WAIT:
        return Decision(Step.NOTHING)
    return Decision(_step(resource, our_class), clear_operation=operation == _RECONCILE)


def is_ignored(resource: ManagedResource) -> bool:
    """Say whether a ManagedResource is to be left alone; deletion overrides that."""
    return keys.truthy(resource.metadata.annotations.get(keys.IGNORE)) and not is_deleting(resource)


def is_deleting(resource: ManagedResource) -> bool:
    """Say whether deletion was asked for."""
    return resource.metadata.deletion_timestamp is not None


def _step(resource: ManagedResource, our_class: ResourceClass) -> Step:
    if is_ignored(resource):
        return Step.SAY_IGNORED
    if our_class.leaving(resource):
        return Step.DELETE
    if our_class.waits(resource):
        return Step.WAIT_FOR_HANDOVER  # its inventory is of another target
    if is_deleting(resource):
        return Step.DELETE
    if resource.spec.suspend:
        return Step.JUDGE
    return Step.RECONCILE
