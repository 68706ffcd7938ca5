"""When pruning waits: while the input is in doubt, and when suspiciously much would go."""

from collections.abc import Sequence
from dataclasses import dataclass

from certwright.api import resourcekeys as keys
from certwright.apply import Action, Entry
from certwright.operators.managedresource.declared import Desired
from certwright.operators.managedresource.policy import Plan


@dataclass(frozen=True, slots=True)
class PruneGuard:
    """Holds up a deletion that looks like an accident: a Secret that lost most of its objects."""

    objects: int = 10
    """Smaller inventories are not guarded."""
    percent: int = 50
    """More than this part of the inventory is suspicious; 100 switches the guard off."""

    def objection(self, *, before: int, removed: int, confirmed: str | None) -> str:
        """Return why *removed* of *before* objects may not be deleted now; empty if they may.

        *confirmed* is the value of `keys.CONFIRM_PRUNE`: ``true``, or a number of objects that
        is at least as high as that of those removed.
        """
        if before < self.objects or removed * 100 <= before * self.percent:
            return ""
        if _agrees(confirmed, removed):
            return ""
        return (
            f"{removed} of {before} objects are no longer wanted, which is more than "
            f"{self.percent} %; if that is right, annotate the ManagedResource with "
            f"{keys.CONFIRM_PRUNE}={removed}"
        )


def in_doubt(desired: Desired, plan: Plan, changes: Sequence[Entry]) -> bool:
    """Return whether an object may be missing in the input by mistake, or the target be away.

    What the target judges and refuses may need the very thing that is to go: a port, a name.
    """
    if desired.in_doubt or plan.refused:
        return True
    tried = [change for change in changes if change.action is not Action.BLOCKED]
    away = [c.action is Action.FAILED and not c.refused for c in tried]
    return any(away) and all(change.action is Action.FAILED for change in tried)


def _agrees(confirmed: str | None, removed: int) -> bool:
    if confirmed is None:
        return False
    if keys.literally(confirmed):
        return True
    return confirmed.isascii() and confirmed.isdigit() and int(confirmed) >= removed
