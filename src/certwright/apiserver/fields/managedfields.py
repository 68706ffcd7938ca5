"""``metadata.managedFields``: who owns what, read from and written to objects."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from certwright.apiserver.fields.fieldset import FieldSet, ordered, parse, paths, union
from certwright.apiserver.gotext import quoted
from certwright.kube.errors import Cause, Conflict
from certwright.kube.objects import JsonObject

MAX_UPDATERS = 10
"""Entries of updates kept apart; beyond that the oldest become one entry."""

_TEXTS = ("manager", "apiVersion", "subresource", "time")


class FieldManager(NamedTuple):
    """The identity of an entry. Appliers keep theirs when they move to another version."""

    name: str
    operation: str
    api_version: str
    subresource: str

    @classmethod
    def applier(cls, name: str, subresource: str) -> "FieldManager":
        """Identify a manager that applies."""
        return cls(name, "Apply", "", subresource)

    @classmethod
    def updater(cls, name: str, api_version: str, subresource: str) -> "FieldManager":
        """Identify a manager that creates, updates or patches."""
        return cls(name or "unknown", "Update", api_version, subresource)

    def __str__(self) -> str:
        text = quoted(self.name)
        if self.subresource:
            text += f" with subresource {quoted(self.subresource)}"
        return text if self.operation == "Apply" else f"{text} using {self.api_version}"

    @property
    def order(self) -> str:
        """How the server sorts managers: by their JSON."""
        parts = {
            "manager": self.name,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "subresource": self.subresource,
        }
        return orjson.dumps({name: part for name, part in parts.items() if part}).decode()


@dataclass(slots=True)
class ManagedFieldsEntry:
    """What one manager owns."""

    fields: FieldSet
    api_version: str
    time: str = ""
    origin: JsonObject | None = None
    """The entry as stored; kept as it is unless the fields, version or time change."""


Managed = dict[FieldManager, ManagedFieldsEntry]


def entries_of(obj: JsonObject | None) -> Any:
    """Return the raw managedFields of an object: None when it has none."""
    metadata = (obj or {}).get("metadata")
    return metadata.get("managedFields") if isinstance(metadata, dict) else None


def without_entries(obj: JsonObject) -> JsonObject:
    """Return the object without its managedFields."""
    metadata = obj.get("metadata")
    if not metadata or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {k: v for k, v in metadata.items() if k != "managedFields"}}


def with_entries(obj: JsonObject, entries: list[JsonObject]) -> JsonObject:
    """Return an object that has no entries with some."""
    metadata = dict(obj.get("metadata") or {})
    if entries:
        metadata["managedFields"] = entries
    return {**obj, "metadata": metadata}


def read(obj: JsonObject | None) -> Managed:
    """Read the entries of a stored object."""
    managed: Managed = {}
    for raw in entries_of(obj) or ():
        api_version = raw["apiVersion"]
        applied = raw["operation"] == "Apply"
        manager = FieldManager(
            raw.get("manager", ""),
            raw["operation"],
            "" if applied else api_version,
            raw.get("subresource", ""),
        )
        managed[manager] = ManagedFieldsEntry(
            raw.get("fieldsV1") or {}, api_version, raw.get("time", ""), raw
        )
    return managed


def is_reset(entries: Any) -> bool:
    """Return whether a client asks to forget all owners: an empty list, or one empty entry."""
    return isinstance(entries, list) and (not entries or entries == [{}])


def normalised(entries: Any) -> list[JsonObject]:
    """Return entries a client wrote in the server's form; `ValueError` if they are not entries."""
    if not isinstance(entries, list):
        raise ValueError("managedFields must be a list")  # noqa: TRY004 - bad data, not a bad call
    return [_normalised(raw) for raw in entries]


def _normalised(raw: Any) -> JsonObject:
    if not isinstance(raw, dict) or raw.get("operation") not in ("Apply", "Update"):
        raise ValueError("operation must be `Apply` or `Update`")
    if not all(isinstance(raw.get(name, ""), str) for name in _TEXTS):
        raise ValueError(f"{', '.join(_TEXTS)} must be strings")
    if not raw.get("apiVersion"):
        raise ValueError("apiVersion must not be empty")
    if raw.get("fieldsType") != "FieldsV1":
        raise ValueError("fieldsType must be FieldsV1")
    _seconds(raw.get("time", ""))
    return {**raw, "fieldsV1": parse(raw.get("fieldsV1") or {})}


def write(managed: Managed) -> list[JsonObject]:
    """Return the entries as the server prints them: order, and order of fields within."""
    out = [_print(manager, entry) for manager, entry in managed.items()]
    if len(out) > 1:
        out.sort(key=_entry_order)
    return out


def _print(manager: FieldManager, entry: ManagedFieldsEntry) -> JsonObject:
    origin = entry.origin
    if (
        origin is not None
        and origin.get("fieldsV1") is entry.fields
        and origin["apiVersion"] == entry.api_version
        and origin.get("time", "") == entry.time
    ):
        return origin
    out: JsonObject = {}
    if manager.name:
        out["manager"] = manager.name
    out["operation"] = manager.operation
    out["apiVersion"] = entry.api_version
    if entry.time:
        out["time"] = entry.time
    out["fieldsType"] = "FieldsV1"
    out["fieldsV1"] = ordered(entry.fields)
    if manager.subresource:
        out["subresource"] = manager.subresource
    return out


def _entry_order(entry: JsonObject) -> tuple[str, str, str, str, str]:
    return (
        entry["operation"],
        _seconds(entry.get("time", "")),
        entry.get("manager", ""),
        entry["apiVersion"],
        entry.get("subresource", ""),
    )


def _seconds(time: str) -> str:
    """Return a time such that text order is time order; servers write UTC, clients may not."""
    if not time or (len(time) == 20 and time[-1] == "Z"):
        return time
    parsed = datetime.fromisoformat(time)
    return (parsed - (parsed.utcoffset() or parsed - parsed)).strftime("%Y-%m-%dT%H:%M:%SZ")


def cap(managed: Managed) -> Managed:
    """Merge the oldest updaters of each version until at most `MAX_UPDATERS` are left."""
    updaters = [manager for manager in managed if manager.operation == "Update"]
    excess = len(updaters) - MAX_UPDATERS
    if excess <= 0:
        return managed
    updaters.sort(key=lambda manager: (_seconds(managed[manager].time), manager.order))
    first: dict[str, FieldManager] = {}
    out = dict(managed)
    for manager in updaters:
        if excess == 0:
            break
        entry = out[manager]
        version = entry.api_version
        if version not in first:
            first[version] = manager
            continue
        bucket = FieldManager.updater("ancient-changes", version, "")
        merged = out[bucket] if bucket in out else out.pop(first[version])
        del out[manager]
        out[bucket] = ManagedFieldsEntry(union(entry.fields, merged.fields), version, entry.time)
        excess -= 1
    return out


def conflict(conflicts: dict[FieldManager, FieldSet]) -> Conflict:
    """Return the refusal of an apply that touches fields of other managers."""
    found = [
        (manager, path)
        for manager in sorted(conflicts, key=lambda manager: manager.order)
        for path in paths(conflicts[manager])
    ]
    causes = [Cause("FieldManagerConflict", f"conflict with {m}", path) for m, path in found]
    if len(found) == 1:
        manager, path = found[0]
        return Conflict(
            f"Apply failed with 1 conflict: conflict with {manager}: {path}", causes=causes
        )
    lines = []
    for manager in dict.fromkeys(manager for manager, _ in found):
        lines.append(f"conflicts with {manager}:")
        lines.extend(f"- {path}" for other, path in found if other == manager)
    text = "\n".join(lines)
    return Conflict(f"Apply failed with {len(found)} conflicts: {text}", causes=causes)
