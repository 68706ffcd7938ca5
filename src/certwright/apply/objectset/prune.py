"""What may be deleted because it is no longer declared: decided before anything is.

A mistake here cannot be taken back, so nothing goes while the input is in doubt, while what is
declared could not be applied, or when suddenly most objects are not declared any more: that is
more often a broken template than a decision.
"""

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Final

from certwright.apply.changeset import Action, Change
from certwright.apply.engine.deleterules import KEEP_NOTHING, DeleteRules
from certwright.apply.refs import ObjectRef


@dataclass(frozen=True, slots=True)
class PruneGuard:
    """When a deletion looks like an accident."""

    objects: int = 10
    """Smaller inventories are not guarded."""
    percent: int = 50
    """More than this part of the inventory is suspicious; 100 switches the guard off."""

    def is_mass_deletion(self, *, before: int, removed: int) -> bool:
        """Return whether so many objects vanish at once that it looks like a mistake."""
        return before >= self.objects and removed * 100 > before * self.percent

    def holds(self, *, before: int, removed: int, confirmed: bool | int) -> bool:
        """Return whether a deletion has to wait: it looks like an accident and is not confirmed."""
        agreed = confirmed if isinstance(confirmed, bool) else confirmed >= removed
        return self.is_mass_deletion(before=before, removed=removed) and not agreed


def _identity(ref: ObjectRef) -> Hashable:
    return ref.identity


@dataclass(frozen=True, slots=True)
class PruneOptions:
    """What happens to objects that were applied before and are not declared any more."""

    prune: bool = False
    doubts: str = ""
    """Why the input may be incomplete; then nothing is deleted."""
    confirmed: bool | int = False
    """Whether losing most objects at once is meant; a number agrees to as many, and no more."""
    guard: PruneGuard = PruneGuard()
    before: int = 0
    """How many objects there were, where the inventory lists what is about to be created, too."""
    despite_failures: bool = False
    """Prune although the cluster refused some objects: they may need what is to go, a port or a
    name. Without it every object has to be applied first."""
    released: Collection[ObjectRef] = ()
    """Objects that stay, without our mark, and are not ours from now on."""
    same: Callable[[ObjectRef], Hashable] = _identity
    """Returns what is equal for two references exactly if they mean the same object."""
    protected: Callable[[ObjectRef], str] = lambda _ref: ""
    """Returns why an object is not deleted unless a person asks for it by its kind; empty if it
    may go. It stays listed."""
    rules: DeleteRules = KEEP_NOTHING


NO_PRUNE: Final = PruneOptions()
"""Nothing is deleted."""


@dataclass(frozen=True, slots=True)
class Held:
    """Why objects that are not declared any more are not deleted yet."""

    doubts: str = ""
    """Why the input may be incomplete; empty if the deletion has to be confirmed."""
    removed: int = 0
    """How many objects would go."""
    before: int = 0
    """Out of how many."""

    def __str__(self) -> str:
        if self.doubts:
            return f"nothing is pruned while the input is in doubt: {self.doubts}"
        return (
            f"{self.removed} of {self.before} objects would go at once; confirm that this is wanted"
        )


@dataclass(frozen=True, slots=True)
class Pruning:
    """What to delete, and what holds it up."""

    unwanted: tuple[ObjectRef, ...] = ()
    held: Held | None = None
    terminating: tuple[ObjectRef, ...] = ()
    """What of it is gone, or on its way out: holding that up would stop nothing."""
    protected: tuple[ObjectRef, ...] = ()
    """What is not declared any more, either, and is not deleted unasked."""
    confirmed: bool = False
    """Whether it took a confirmation, which was given."""

    @property
    def allowed(self) -> bool:
        """Whether the unwanted objects may be deleted now."""
        return bool(self.unwanted) and self.held is None

    @property
    def needs_confirmation(self) -> bool:
        """Whether nothing but a confirmation is missing."""
        return self.held is not None and not self.held.doubts

    @property
    def deletable(self) -> tuple[ObjectRef, ...]:
        """What may be deleted now."""
        if self.held is None:
            return self.unwanted
        return self.terminating if self.needs_confirmation else ()


def plan_pruning(
    recorded: Sequence[ObjectRef],
    wanted: Collection[ObjectRef],
    options: PruneOptions = NO_PRUNE,
    *,
    terminating: Collection[ObjectRef] = (),
) -> Pruning:
    """Decide what goes: what is recorded and not wanted, if nothing speaks against it.

    *terminating* are objects that are found to be going, or gone; they do not count against
    the guard.
    """
    kept = {options.same(ref) for ref in (*wanted, *options.released)}
    known = {options.same(ref): ref for ref in recorded}
    surplus = [ref for place, ref in known.items() if place not in kept]
    protected = tuple(ref for ref in surplus if options.protected(ref))
    unwanted = tuple(ref for ref in surplus if ref not in protected)
    if not unwanted:
        return Pruning(protected=protected)
    if options.doubts:
        return Pruning(unwanted, Held(options.doubts), protected=protected)
    going = tuple(ref for ref in unwanted if ref in terminating)
    before, removed = options.before or len(recorded), len(unwanted) - len(going)
    if options.guard.holds(before=before, removed=removed, confirmed=options.confirmed):
        return Pruning(unwanted, Held(removed=removed, before=before), going, protected)
    guarded = options.guard.is_mass_deletion(before=before, removed=removed)
    return Pruning(unwanted, terminating=going, protected=protected, confirmed=guarded)


def doubts_after(entries: Sequence[Change], *, despite_failures: bool) -> str:
    """Return why what was applied casts doubt on what is no longer declared; empty if it does not.

    With *despite_failures* only a cluster does that cannot be reached: nothing could be applied,
    and not because the objects are invalid. Or that is so slow that objects were not even tried.
    """
    if any(entry.unreached for entry in entries):
        return "not everything could be tried in time"
    if not despite_failures:
        waits = any(entry.action in {Action.FAILED, Action.BLOCKED} for entry in entries)
        return "not everything could be applied" if waits else ""
    tried = [entry for entry in entries if entry.action is not Action.BLOCKED]
    away = any(entry.action is Action.FAILED and not entry.refused for entry in tried)
    failed = all(entry.action is Action.FAILED for entry in tried)
    return "nothing could be applied" if away and failed else ""
