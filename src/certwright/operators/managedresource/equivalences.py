"""Kinds that are the same objects under another API group.

``extensions/Deployment`` and ``apps/Deployment`` are one object that two groups show. Who moves
a manifest from one to the other does not want the object deleted.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final, TypeAlias

from certwright.api.managedresources import GroupKind
from certwright.apply import ObjectRef

Pair: TypeAlias = tuple[str, str]
"""Group and kind."""

BUILT_IN: Final[tuple[frozenset[Pair], ...]] = tuple(
    frozenset({("extensions", kind), (group, kind)})
    for kind, group in (
        ("Deployment", "apps"),
        ("DaemonSet", "apps"),
        ("ReplicaSet", "apps"),
        ("StatefulSet", "apps"),
        ("Ingress", "networking.k8s.io"),
        ("NetworkPolicy", "networking.k8s.io"),
        ("PodSecurityPolicy", "policy"),
    )
)


class Equivalences:
    """Sets of kinds; no kind is in two of them."""

    def __init__(self, sets: Iterable[Iterable[Pair]] = ()) -> None:
        self._set_of: dict[Pair, frozenset[Pair]] = {}
        for members in sets:
            self._unite(frozenset(members))

    @classmethod
    def of(cls, extra: Sequence[Sequence[GroupKind]] = ()) -> "Equivalences":
        """Return the built-in equivalences and those of a spec.

        A list that shares a member with a set is united with it.
        """
        if not extra:
            return _built_in()
        more = (((item.group, item.kind) for item in members) for members in extra)
        return cls([*BUILT_IN, *more])

    def canonical(self, ref: ObjectRef) -> tuple[str, str, str, str]:
        """Return what is equal for two references exactly if they mean the same object."""
        pair = (ref.group, ref.kind)
        group, kind = min(self._set_of.get(pair, (pair,)))
        return (group, kind, ref.namespace, ref.name)

    def _unite(self, members: frozenset[Pair]) -> None:
        for member in list(members):
            members |= self._set_of.get(member, frozenset())
        for member in members:
            self._set_of[member] = members


@cache
def _built_in() -> Equivalences:
    return Equivalences(BUILT_IN)
