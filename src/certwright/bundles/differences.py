"""What differs between two bundles, object by object."""

from dataclasses import dataclass
from typing import Any, Final

from certwright.apply.diff import Diff, compare
from certwright.apply.ordering import order_key
from certwright.apply.refs import ObjectRef
from certwright.bundles.bundle import Bundle
from certwright.kube import JsonObject

_VERSION: Final = "app.kubernetes.io/version"


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

    An object that changes only the version of its group is the same one. The label with the
    version of cert-manager, which changes on every object, does not count.
    """
    before = {ObjectRef.of(obj).identity: _unversioned(obj) for obj in old.objects}
    after = {ObjectRef.of(obj).identity: _unversioned(obj) for obj in new.objects}
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


def _unversioned(obj: JsonObject) -> JsonObject:
    kept = {**obj, "metadata": _unlabelled(obj["metadata"])}
    template = obj.get("spec", {}).get("template") if isinstance(obj.get("spec"), dict) else None
    if isinstance(template, dict) and "metadata" in template:
        unlabelled = {**template, "metadata": _unlabelled(template["metadata"])}
        kept["spec"] = {**obj["spec"], "template": unlabelled}
    return kept


def _unlabelled(metadata: Any) -> Any:
    if not isinstance(metadata, dict) or not isinstance(metadata.get("labels"), dict):
        return metadata
    labels = {key: value for key, value in metadata["labels"].items() if key != _VERSION}
    return {**metadata, "labels": labels}
