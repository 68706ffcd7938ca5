"""Defaults and status of CustomResourceDefinitions."""

from collections.abc import Iterable
from typing import Final

from certwright.kube.objects import JsonObject

_NAMED: Final = ("plural", "singular", "kind", "listKind")


def complete(obj: JsonObject) -> None:
    """Derive the names that were left out."""
    names = obj["spec"]["names"]
    kind = names.get("kind") or ""
    if kind:
        names.setdefault("singular", kind.lower())
        names.setdefault("listKind", f"{kind}List")


def prepare(new: JsonObject, old: JsonObject | None) -> None:
    """Start with an empty status; remember every version objects were ever stored in."""
    if old is None:
        new["status"] = {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": [],
        }
    stored = list(new["status"].get("storedVersions") or ())
    for version in new["spec"].get("versions") or ():
        name = version.get("name") or ""
        if version.get("storage") and name not in stored:
            stored.append(name)
    new["status"]["storedVersions"] = stored


def accept(crd: JsonObject, now: str, others: Iterable[JsonObject] = ()) -> None:
    """Fill in the status as the server does after looking at the names, in place.

    *others* are the definitions of the same group: names they were given are taken.
    """
    names, status = crd["spec"]["names"], crd["status"]
    accepted = status.get("acceptedNames") or {}
    taken: set[str] = set()
    for other in others:
        if other["metadata"]["name"] != crd["metadata"]["name"]:
            given = other["status"].get("acceptedNames") or {}
            taken |= {given.get(part) or "" for part in _NAMED} | set(given.get("shortNames") or ())
    wanted = {names.get(part) or "" for part in _NAMED} | set(names.get("shortNames") or ())
    conflicts = sorted(wanted & taken - {""})
    conditions = {c["type"]: c for c in status.get("conditions") or ()}
    if conflicts:
        _set(conditions, now, "NamesAccepted", "False", _reason(names, conflicts[0]),
             f'"{conflicts[0]}" is already in use')  # fmt: skip
        if "Established" not in conditions:
            _set(conditions, now, "Established", "False", "NotAccepted",
                 "not all names are accepted")  # fmt: skip
    else:
        accepted = dict(names)
        _set(conditions, now, "NamesAccepted", "True", "NoConflicts", "no conflicts found")
        _set(conditions, now, "Established", "True", "InitialNamesAccepted",
             "the initial names have been accepted")  # fmt: skip
    status["acceptedNames"] = accepted
    status["conditions"] = list(conditions.values())


def _reason(names: JsonObject, conflict: str) -> str:
    for part in _NAMED:
        if names.get(part) == conflict:
            return f"{part[0].upper()}{part[1:]}Conflict"
    return "ShortNamesConflict"


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
