"""What differs between two bundles, object by object."""

from dataclasses import dataclass

from certwright.apply.diff import Diff, compare
from certwright.apply.ordering import order_key
from certwright.apply.refs import ObjectRef
from certwright.bundles.bundle import Bundle


@dataclass(frozen=True, slots=True)
class BundleDifference:
    """The objects that one bundle has and the other has not, and those that differ."""

    added: tuple[ObjectRef, ...]
    removed: tuple[ObjectRef, ...]
    changed: tuple[tuple[ObjectRef, Diff], ...]
    unchanged: int

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


def compare_bundles(old: Bundle, new: Bundle) -> BundleDifference:
    """Compare the objects of two bundles, in the order in which they are applied.

    An object that changes only the version of its group is the same one.
    """
    before = {ObjectRef.of(obj).identity: obj for obj in old.objects}
    after = {ObjectRef.of(obj).identity: obj for obj in new.objects}
    changed = [
        (ObjectRef.of(after[identity]), compare(before[identity], after[identity]))
        for identity in before.keys() & after.keys()
        if before[identity] != after[identity]
    ]
    added = [ObjectRef.of(after[identity]) for identity in after.keys() - before.keys()]
    removed = [ObjectRef.of(before[identity]) for identity in before.keys() - after.keys()]
    return BundleDifference(
        tuple(sorted(added, key=order_key)),
        tuple(sorted(removed, key=order_key)),
        tuple(sorted(changed, key=lambda one: order_key(one[0]))),
        len(before.keys() & after.keys()) - len(changed),
    )
