"""Defaults and status of CustomResourceDefinitions."""

from collections.abc import Iterable
from typing import Any, Final

from certwright.apiserver.builtins.rules.webhooks import authority_causes
from certwright.kube.objects import JsonObject

_REASONS: Final = {
    "plural": "PluralConflict",
    "singular": "SingularConflict",
    "shortNames": "ShortNamesConflict",
    "kind": "KindConflict",
    "listKind": "ListKindConflict",
}
"""The names a kind has, and what it is called when one is taken. The last one counts."""
_OF_KINDS: Final = ("kind", "listKind")


def complete(obj: JsonObject) -> None:
    """Derive the names that were left out."""
    names = obj["spec"]["names"]
    kind = names.get("kind") or ""
    if kind:
        names.setdefault("singular", kind.lower())
        names.setdefault("listKind", f"{kind}List")


def is_established(crd: JsonObject) -> bool:
    """Return whether a definition is, or was, served."""
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


def is_status_write(new: JsonObject, old: JsonObject | None) -> bool:
    """Return whether the status is being written: such a write leaves the rest as it is."""
    return old is not None and new["spec"] == old["spec"] and new.get("status") != old.get("status")


def prepare(new: JsonObject, old: JsonObject | None) -> None:
    """Start with an empty status; remember every version objects were ever stored in.

    A client that migrated the stored objects takes versions out again, through the status.
    """
    if old is None:
        new["status"] = {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": [],
        }
    stored = list((new.get("status") or {}).get("storedVersions") or ())
    if stored and is_status_write(new, old):
        return
    for version in new["spec"].get("versions") or ():
        name = version.get("name") or ""
        if version.get("storage") and name not in stored:
            stored.append(name)
    new["status"] = {**(new.get("status") or {}), "storedVersions": stored}


def accept(crd: JsonObject, now: str, others: Iterable[JsonObject] = ()) -> None:
    """Fill in the status as the server does after looking at the names, in place.

    *others* are the definitions of the same group: names they were given are taken. Names that
    are free are accepted even if others are not.
    """
    names, status = crd["spec"]["names"], crd["status"]
    taken = _taken([each for each in others if each["metadata"]["name"] != crd["metadata"]["name"]])
    accepted = dict(status.get("acceptedNames") or {})
    conflict: tuple[str, str] | None = None
    for part, reason in _REASONS.items():
        wanted = names.get(part)
        if clashes := _clashes(wanted, accepted.get(part), taken[part in _OF_KINDS]):
            conflict = reason, clashes
        elif wanted:
            accepted[part] = wanted
        else:
            accepted.pop(part, None)
    accepted.pop("categories", None)
    if names.get("categories"):
        accepted["categories"] = names["categories"]
    conditions = {c["type"]: c for c in status.get("conditions") or ()}
    if conflict is not None:
        _set(conditions, now, "NamesAccepted", "False", *conflict)
        if "Established" not in conditions:
            _set(conditions, now, "Established", "False", "NotAccepted",
                 "not all names are accepted")  # fmt: skip
    else:
        _set(conditions, now, "NamesAccepted", "True", "NoConflicts", "no conflicts found")
        if not is_established(crd) and _has_broken_authority(crd["spec"]):
            _set(conditions, now, "Established", "False", "InvalidCABundle",
                 "The conversion webhook CABundle is invalid")  # fmt: skip
        else:
            _set(conditions, now, "Established", "True", "InitialNamesAccepted",
                 "the initial names have been accepted")  # fmt: skip
    status["acceptedNames"] = accepted
    status["conditions"] = list(conditions.values())


def _has_broken_authority(spec: JsonObject) -> bool:
    webhook = (spec.get("conversion") or {}).get("webhook") or {}
    return bool(authority_causes(webhook.get("clientConfig") or {}, ""))


def _taken(others: Iterable[JsonObject]) -> tuple[set[str], set[str]]:
    """Return the names of resources, and those of kinds, that others were given."""
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        given = (other.get("status") or {}).get("acceptedNames") or {}
        for part in _REASONS:
            names = given.get(part) or ()
            (kinds if part in _OF_KINDS else resources).update(
                [names] if isinstance(names, str) else names
            )
    return resources, kinds


def _clashes(wanted: str | list[str] | None, accepted: Any, taken: set[str]) -> str:
    """Return which of the names wanted is taken; empty if none, or if it was given before."""
    if isinstance(wanted, list):
        clashes = [name for name in wanted if name in taken and name not in (accepted or ())]
    else:
        clashes = [wanted] if wanted in taken and wanted != accepted else []
    said = [f'"{name}" is already in use' for name in clashes]
    return said[0] if len(said) == 1 else f"[{', '.join(said)}]" if said else ""


def _set(
    conditions: dict[str, JsonObject], now: str, kind: str, status: str, reason: str, message: str
) -> None:
    old = conditions.get(kind)
    changed = old is None or old["status"] != status
    conditions[kind] = {
        "type": kind,
        "status": status,
        "lastTransitionTime": now if changed or old is None else old["lastTransitionTime"],
        "reason": reason,
        "message": message,
    }
