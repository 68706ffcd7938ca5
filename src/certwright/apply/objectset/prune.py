"""What may be deleted because nobody wants it any more: decided before anything is.

A mistake here cannot be taken back, so nothing goes while the input is in doubt, while not
everything that is wanted is there, or when suddenly most of it is unwanted: that is more often
a broken template than a decision.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from certwright.apply.refs import ObjectRef

GUARDED_FROM: Final = 10
"""Of how many objects on a sudden loss needs a confirmation."""
GUARDED_SHARE: Final = 0.5
"""Which share of them may go without one."""


@dataclass(frozen=True, slots=True)
class Pruning:
    """What to delete; *held* says why it has to wait, if it has."""

    unwanted: tuple[ObjectRef, ...] = ()
    held: str = ""

    @property
    def allowed(self) -> bool:
        """Whether the unwanted objects may be deleted now."""
        return bool(self.unwanted) and not self.held


def plan_pruning(
    recorded: Sequence[ObjectRef],
    wanted: Collection[ObjectRef],
    *,
    doubts: str = "",
    confirmed: bool = False,
) -> Pruning:
    """Decide what goes: what is recorded and not wanted, if nothing speaks against it.

    *doubts* says why the input may be incomplete; *confirmed* answers the guard against losing
    most objects at once. Objects are compared whatever the version of their group.
    """
    identities = {ref.identity for ref in wanted}
    unwanted = tuple(ref for ref in recorded if ref.identity not in identities)
    if not unwanted:
        return Pruning()
    if doubts:
        return Pruning(unwanted, f"nothing is pruned while the input is in doubt: {doubts}")
    if is_mass_deletion(len(recorded), len(unwanted)) and not confirmed:
        return Pruning(
            unwanted,
            f"{len(unwanted)} of {len(recorded)} objects would go at once; "
            "confirm that this is wanted",
        )
    return Pruning(unwanted)


def is_mass_deletion(recorded: int, unwanted: int) -> bool:
    """Return whether so many objects vanish at once that it looks like a mistake."""
    return recorded >= GUARDED_FROM and unwanted > recorded * GUARDED_SHARE
