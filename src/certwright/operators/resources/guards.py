"""When pruning waits: while the input is in doubt, and when suspiciously much would go."""

from dataclasses import dataclass

from certwright.operators.resources import keys


@dataclass(frozen=True, slots=True)
class PruneGuard:
    """Holds up a deletion that looks like an accident: a Secret that lost most of its objects."""

    objects: int = 10
    """Smaller inventories are not guarded."""
    percent: int = 50
    """More than this part of the inventory is suspicious; 100 switches the guard off."""

    def objection(self, *, before: int, removed: int, confirmed: str | None) -> str:
        """Say why *removed* of *before* objects may not be deleted now; empty if they may.

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


def _agrees(confirmed: str | None, removed: int) -> bool:
    if confirmed is None:
        return False
    if keys.literally(confirmed):
        return True
    return confirmed.isascii() and confirmed.isdigit() and int(confirmed) >= removed
