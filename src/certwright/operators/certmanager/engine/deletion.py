"""In which order objects of an installation are deleted, and what of them only loses our mark.

Registrations go first, so that no call waits for a webhook that is gone; what pods may do goes
after the pods, so that these can finish what they have begun. An object that was there before us is
not deleted: it loses our marks and stays.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from certwright.apply import Action, Change, ChangeSet, ObjectRef
from certwright.apply.cluster import Live
from certwright.apply.engine.declared import ObjectOrigin
from certwright.apply.engine.deleterules import DeleteRules
from certwright.keep import Installer, StatusInventory
from certwright.kube import ApiError, Object
from certwright.runtime import Context

CONFIGURATIONS: Final = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
REGISTRATIONS: Final = (*CONFIGURATIONS, "APIService")
"""What lets the API server ask others: it goes first, and must not outlive what answers."""
POD_SECONDS: Final = 60.0
"""How long pods that are going hold up the deletion of what they need."""

_GROUPS: Final = (
    CONFIGURATIONS,
    ("APIService",),
    ("Service",),
    ("Deployment",),
    ("RoleBinding",),
    ("ClusterRoleBinding",),
    ("Role", "ClusterRole"),
    (),
    ("ServiceAccount",),
    ("CustomResourceDefinition",),
    ("Namespace",),
)
"""Kinds that go one after the other; kinds that are not listed go where none is named."""
_RANKS: Final = {kind: rank for rank, kinds in enumerate(_GROUPS) for kind in kinds}
_OTHERS: Final = _GROUPS.index(())
_DEPLOYMENTS: Final = ("webhook", "cainjector", "watcher", "")
"""Ends of the names of Deployments, in the order in which they go; the controller is last."""


def deletion_groups(refs: Iterable[ObjectRef]) -> list[list[ObjectRef]]:
    """Return objects in groups that are deleted one after the other, first to last."""
    groups: dict[int, list[ObjectRef]] = {}
    for ref in refs:
        groups.setdefault(_RANKS.get(ref.kind, _OTHERS), []).append(ref)
    return [sorted(groups[rank], key=_place) for rank in sorted(groups)]


def _place(ref: ObjectRef) -> tuple[int, str, str]:
    ends = (place for place, end in enumerate(_DEPLOYMENTS) if ref.name.endswith(end))
    return next(ends) if ref.kind == "Deployment" else 0, ref.namespace, ref.name


async def delete_in_order(
    ctx: Context,
    obj: Object,
    installer: Installer,
    inventory: StatusInventory,
    refs: Sequence[ObjectRef],
    *,
    patient: bool = True,
) -> ChangeSet:
    """Delete objects of *obj* in order; what was adopted is released.

    What cannot be deleted does not stop the others, but for registrations: they must not outlive
    what answers them. While *patient*, what is going holds up what comes after it.
    """
    adopted = [ref for ref in refs if await _is_adopted(installer, ref)]
    done = ChangeSet()
    if adopted:
        done |= await installer.release(ctx, obj, inventory, adopted)
    left = [ref for ref in refs if ref not in set(adopted)]
    rules = DeleteRules(keep=lambda _ref, live: _reason_to_keep(installer, live))
    for group in deletion_groups(left):
        for part in _parts(group):
            done |= await installer.delete(ctx, obj, inventory, only=part, rules=rules)
        ours = set(group)
        pending = [one for one in not_gone(done) if one.ref in ours]
        registers = group[0].kind in REGISTRATIONS
        going = any(one.action is Action.BLOCKED for one in pending)
        if pending and (registers or (going and patient)):
            break
    return done


def not_gone(changes: ChangeSet) -> list[Change]:
    """Return what is not gone yet, or cannot be deleted."""
    return list(changes.with_action(Action.BLOCKED, Action.FAILED))


def _parts(group: list[ObjectRef]) -> list[list[ObjectRef]]:
    """Return what is deleted at the same time: Deployments go one by one."""
    return [[ref] for ref in group] if group[0].kind == "Deployment" else [group]


async def _is_adopted(installer: Installer, ref: ObjectRef) -> bool:
    try:
        entry = await installer.entry(ref)
    except ApiError:
        return False  # deleting it tells
    return entry is not None and entry.annotations.get(installer.origin) == ObjectOrigin.ADOPTED


def _reason_to_keep(installer: Installer, live: Live) -> str:
    if installer.annotation not in live.annotations:
        return "it does not carry our mark: others may have replaced it"
    adopted = live.annotations.get(installer.origin) == ObjectOrigin.ADOPTED
    return "it was there before the installation" if adopted else ""
