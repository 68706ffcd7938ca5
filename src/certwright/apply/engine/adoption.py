"""Whose an object is: whether we may write to it, and how it becomes ours."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from certwright.apply.cluster import Live
from certwright.apply.engine.declared import (
    CLIENT_SIDE_APPLY,
    LAST_APPLIED,
    Adopt,
    Owner,
    OwnerState,
    Rules,
)
from certwright.apply.refs import ObjectRef
from certwright.kube import JsonObject
from certwright.kube.ownership import FieldSet


class Right(StrEnum):
    """What we may do with an object that exists."""

    WRITE = "write"
    LEAVE = "leave"
    """It has another owner, and that is fine."""
    REFUSE = "refuse"
    """It has another owner, and that is a conflict."""


@dataclass(frozen=True, slots=True)
class Ownership:
    """What we may do with an object, and why not more."""

    right: Right
    reason: str = ""


_MINE = Ownership(Right.WRITE)


async def is_given_up(
    ref: ObjectRef, live: Live, owner: Owner | None, *, applied: bool, listed: bool
) -> bool:
    """Return whether an object names another owner that does not hold it, so that we may take it.

    *applied*: this process has written the object, or found it as it should be. *listed*: our
    inventory lists it, so that a forged mark is one of ours that another client replaced.
    """
    marked = live.annotations.get(owner.annotation) if owner is not None else None
    if owner is None or not marked or owner.owns(marked):
        return False
    if (applied or listed) and is_forged(live, owner):
        return True
    if owner.former(marked) and not applied:
        return True
    return await owner.state(marked, ref) is not OwnerState.HOLDS


def is_forged(live: Live, owner: Owner) -> bool:
    """Return whether another client replaced the mark that an owner once wrote.

    Owners write an object and its mark with the same field manager. So there is one that holds
    fields of the object, and none of them holds the mark.
    """
    name = f"f:{owner.annotation}"
    signed = [
        entry
        for entry in live.managed
        if owner.signs(str(entry.get("manager") or "")) and not entry.get("subresource")
    ]
    return bool(signed) and not any(name in _annotations(entry) for entry in signed)


def _annotations(entry: JsonObject) -> JsonObject:
    """Return the annotations that an entry of managedFields covers."""
    metadata = (entry.get("fieldsV1") or {}).get("f:metadata") or {}
    return metadata.get("f:annotations") or {}


def ownership(
    live: Live, owner: Owner | None, rules: Rules, field_manager: str, *, given_up: bool = False
) -> Ownership:
    """Decide whether an object may be written to; *given_up*: see `is_given_up`."""
    if owner is None:
        return _MINE
    marked = live.annotations.get(owner.annotation)
    withheld = owner.withheld(marked, live.annotations) if marked and rules.take_over else ""
    if rules.take_over and not withheld:
        return _MINE
    if marked and (given_up or owner.owns(marked)):
        return _MINE
    if marked:
        reason = f"it belongs to {marked}"
        if rules.fall_back:
            return Ownership(Right.LEAVE, reason)
        way_out = withheld or "remove it there first, or ask for it to be taken over"
        return Ownership(Right.REFUSE, f"{reason}; {way_out}")
    if any(writer.manager == field_manager for writer in live.writers()):
        return _MINE  # another client removed the mark of what we applied
    return _adoption(live, rules)


def _adoption(live: Live, rules: Rules) -> Ownership:
    """Decide about an object that has no owner."""
    if rules.fall_back:
        return Ownership(Right.LEAVE, "another client provides it")
    labelled = rules.adopt_labels.items() <= live.labels.items()
    if rules.adopt is Adopt.ALWAYS or (rules.adopt is Adopt.IF_LABELLED and labelled):
        return _MINE
    if rules.adopt is Adopt.NEVER:
        return Ownership(
            Right.REFUSE, "it exists already and is not ours; delete it, or allow adoption"
        )
    labels = ", ".join(f"{name}={value}" for name, value in sorted(rules.adopt_labels.items()))
    return Ownership(
        Right.REFUSE, f"it exists already and is not ours; label it {labels} to adopt it"
    )


def predecessors(live: Live, managers: Collection[str]) -> Collection[str]:
    """Return the managers that we take an object over from.

    kubectl apply may have had any name (kubectl create --save-config, ``--field-manager``, or
    before-first-apply, which the server gives to those who left none): what tells it is the
    annotation that it wrote.
    """
    if CLIENT_SIDE_APPLY not in managers or LAST_APPLIED not in live.annotations:
        return managers
    return {*managers, *(str(entry.get("manager")) for entry in live.managed if _wrote(entry))}


def is_unmanaged(live: Live, managers: Collection[str]) -> bool:
    """Return whether kubectl apply wrote an object before the server recorded managers.

    Our first apply makes the server note all of it as that of before-first-apply.
    """
    return CLIENT_SIDE_APPLY in managers and not live.managed and LAST_APPLIED in live.annotations


def _wrote(entry: JsonObject) -> bool:
    fields: Any = entry.get("fieldsV1") or {}
    annotations = (fields.get("f:metadata") or {}).get("f:annotations") or {}
    return entry.get("operation") == "Update" and f"f:{LAST_APPLIED}" in annotations


def needs_transfer(live: Live, rules: Rules, field_manager: str) -> bool:
    """Return whether others that we take over from hold fields of an object."""
    managers = rules.take_over_from
    return is_unmanaged(live, managers) or has_legacy(
        live, field_manager, predecessors(live, managers)
    )


def has_legacy(live: Live, field_manager: str, managers: Collection[str]) -> bool:
    """Return whether some of an object's fields belong to a manager we take over from."""
    return any(_is_legacy(entry, field_manager, managers) for entry in live.managed)


def taken_over(
    managed: Sequence[JsonObject], field_manager: str, managers: Collection[str]
) -> list[JsonObject]:
    """Return managedFields in which the fields of some managers are ours by apply.

    Then a field they set and we do not want disappears with our next apply. Only what they
    wrote by update counts; what they applied they may still care for. Who has our name but for
    what follows a colon is another installation of ours: what is ours now it does not care for.
    """
    legacy = [entry for entry in managed if _is_legacy(entry, field_manager, managers)]
    mine = next((entry for entry in managed if _is_mine(entry, field_manager)), None)
    fields = FieldSet()
    for entry in [*legacy, *([mine] if mine else ())]:
        fields |= FieldSet.parse(entry.get("fieldsV1") or {})
    latest: JsonObject = {**(mine or legacy[-1])}
    rest = [entry for entry in managed if entry is not mine and entry not in legacy]
    own: dict[str, Any] = {
        **latest,
        "manager": field_manager,
        "operation": "Apply",
        "fieldsV1": fields.to_json(),
    }
    return [own, *rest]


_METADATA: Final = ("labels", "annotations")


def own_names(
    managed: Iterable[JsonObject], field_manager: str, managers: Collection[str]
) -> dict[str, set[str]]:
    """Return the names of labels and annotations that only we set, or one we take over from."""
    names: dict[str, set[str]] = {part: set() for part in _METADATA}
    shared: dict[str, set[str]] = {part: set() for part in _METADATA}
    for entry in managed:
        ours = entry.get("manager") in {field_manager, *managers}
        ours |= _is_legacy(entry, field_manager, managers)
        fields = (entry.get("fieldsV1") or {}).get("f:metadata") or {}
        if not entry.get("subresource"):
            for part, found in (names if ours else shared).items():
                found.update(name[2:] for name in fields.get(f"f:{part}") or () if name != ".")
    return {part: found - shared[part] for part, found in names.items()}


def handed_over(
    managed: Sequence[JsonObject], field_manager: str, desired: JsonObject
) -> list[JsonObject] | None:
    """Return managedFields of an object that is replaced from now on; None if no other holds it.

    Fields that a write does not change stay with whom they were, so what others hold would say
    for ever that they changed something. They keep what is left to them: labels, annotations and
    finalizers that are not declared, and what they hold of subresources.
    """
    others = [
        entry
        for entry in managed
        if not entry.get("subresource")
        and (entry.get("manager") != field_manager or entry.get("operation") == "Apply")
    ]
    if not others:
        return None
    metadata: Any = desired["metadata"]
    declared = {
        f"f:{part}": FieldSet(frozenset(f"f:{name}" for name in metadata.get(part) or ()))
        for part in _METADATA
    }
    own = FieldSet(children={"f:metadata": FieldSet(children=declared)})
    kept = [entry for entry in managed if entry not in others]
    kept += [
        {**entry, "fieldsV1": left.to_json()}
        for entry in others
        if entry.get("manager") != field_manager and (left := _left_to_others(entry, own))
    ]
    ours: JsonObject = {
        "manager": field_manager,
        "operation": "Update",
        "apiVersion": desired.get("apiVersion"),
        "fieldsType": "FieldsV1",
        "fieldsV1": own.to_json(),
    }
    return [ours, *(entry for entry in kept if not _is_updater(entry, field_manager))]


def _left_to_others(entry: JsonObject, own: FieldSet) -> FieldSet:
    try:
        fields = FieldSet.parse(entry.get("fieldsV1") or {})
    except ValueError:
        return FieldSet()
    metadata = (fields - own).children.get("f:metadata", FieldSet())
    parts = {
        name: metadata.children[name]
        for name in ("f:labels", "f:annotations", "f:finalizers")
        if name in metadata.children
    }
    return FieldSet(children={"f:metadata": FieldSet(children=parts)}) if parts else FieldSet()


def _is_updater(entry: JsonObject, field_manager: str) -> bool:
    return entry.get("manager") == field_manager and not entry.get("subresource")


def _is_legacy(entry: JsonObject, field_manager: str, managers: Collection[str]) -> bool:
    manager = str(entry.get("manager") or "")
    if entry.get("subresource") or manager == field_manager:
        return False
    if entry.get("operation") == "Update" and manager in managers:
        return True
    return manager.partition(":")[0] == field_manager.partition(":")[0]


def _is_mine(entry: JsonObject, field_manager: str) -> bool:
    by_apply = entry.get("operation") == "Apply" and not entry.get("subresource")
    return by_apply and entry.get("manager") == field_manager
