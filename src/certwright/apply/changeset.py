"""What became of each object, and why: the result of an apply, a diff or a deletion."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import orjson
from msgspec import Struct

from certwright.apply.diff import ABSENT, NO_DIFF, Diff, FieldChange, render
from certwright.apply.refs import ObjectRef
from certwright.kube import JsonObject
from certwright.kube.ownership import FieldSet

_LONGEST_REASON: Final = 1000
_LONGEST_VALUE: Final = 4096


class Action(StrEnum):
    """What happened to an object, or would happen."""

    CREATED = "created"
    CONFIGURED = "configured"
    UNCHANGED = "unchanged"
    RECREATED = "recreated"
    DELETED = "deleted"
    KEPT = "kept"
    """It is no longer wanted, and stays because a rule or annotation says so."""
    BLOCKED = "blocked"
    """It waits: for a finalizer, for another object, for a confirmation."""
    FAILED = "failed"

    def told(self, *, planned: bool) -> str:
        """Return the word for it; *planned* if it did not happen and only would."""
        return f"would be {self}" if planned and self in _CHANGES else str(self)


_CHANGES: Final = frozenset({Action.CREATED, Action.CONFIGURED, Action.RECREATED, Action.DELETED})


@dataclass(frozen=True, slots=True)
class LastWriter:
    """Who else wrote to an object: a field manager, and when."""

    manager: str
    operation: str
    time: str

    def __str__(self) -> str:
        return f"{self.manager} at {self.time}" if self.time else self.manager


@dataclass(frozen=True, slots=True)
class FieldConflict:
    """A field that we want to set and that another field manager holds with another value."""

    path: str
    manager: str
    subresource: str = ""

    def __str__(self) -> str:
        through = f" (through {self.subresource})" if self.subresource else ""
        return f"{self.path} by {self.manager}{through}"

    def to_json(self) -> JsonObject:
        """Return the conflict for programs."""
        through = {"subresource": self.subresource} if self.subresource else {}
        return {"path": self.path, "manager": self.manager, **through}


@dataclass(frozen=True, slots=True)
class UndoneField:
    """A field that another client had changed, and that is as declared again."""

    path: str
    manager: str = ""
    """The field manager that held it; empty if that is not known, as for what was removed."""

    def __str__(self) -> str:
        return f"{self.path} by {self.manager}" if self.manager else self.path


class Change(Struct, frozen=True):
    """One object of a change set."""

    ref: ObjectRef
    action: Action
    reason: str = ""
    diff: Diff = NO_DIFF
    writer: LastWriter | None = None
    """Who wrote last besides us, where that explains the difference."""
    refused: bool = False
    """Whether it failed because the cluster judged the object, and not because it is away."""
    awaits_namespace: bool = False
    """Whether it failed because its namespace does not exist, or is just being deleted."""
    unreached: bool = False
    """Whether the time was up before it was its turn."""
    ignored: tuple[str, ...] = ()
    """Fields in which the manifest was not followed, because they cannot change."""
    conflicts: tuple[FieldConflict, ...] = ()
    """Fields that other managers hold, where that is why it failed."""
    undone: tuple[UndoneField, ...] = ()
    """What others had changed, where the object is kept."""

    def told(self, *, planned: bool = False) -> str:
        """Return the line about the object; *planned* if all this did not happen and only would."""
        reason = f": {_one_line(self.reason)}" if self.reason else ""
        writer = f" (last written by {self.writer})" if self.writer else ""
        return f"{self.ref} {self.action.told(planned=planned)}{reason}{writer}"

    def __str__(self) -> str:
        return self.told()

    def to_json(self) -> JsonObject:
        """Return the entry for programs; empty parts are left out."""
        written: dict[str, Any] = {
            "apiVersion": self.ref.api_version,
            "kind": self.ref.kind,
            "namespace": self.ref.namespace,
            "name": self.ref.name,
            "action": self.action.value,
            "reason": self.reason,
            "changes": [_change_to_json(change) for change in self.diff.changes],
            "omittedChanges": self.diff.omitted,
            "conflicts": [conflict.to_json() for conflict in self.conflicts],
        }
        if self.writer:
            written["lastWriter"] = {
                "manager": self.writer.manager,
                "operation": self.writer.operation,
                "time": self.writer.time,
            }
        return {name: value for name, value in written.items() if value}


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """Entries in the order in which things happened. Prints one line per object."""

    entries: tuple[Change, ...] = ()

    @classmethod
    def of(cls, entries: Iterable[Change]) -> "ChangeSet":
        """Collect entries."""
        return cls(tuple(entries))

    @property
    def changed(self) -> bool:
        """Whether anything in the cluster became different, or would."""
        return any(entry.action in _CHANGES for entry in self.entries)

    @property
    def complete(self) -> bool:
        """Whether everything is as wanted: nothing failed, nothing waits."""
        return not any(e.action in {Action.FAILED, Action.BLOCKED} for e in self.entries)

    def with_action(self, *actions: Action) -> list[Change]:
        """Return the entries with one of these actions."""
        return [entry for entry in self.entries if entry.action in actions]

    def summary(self, *, planned: bool = False) -> str:
        """Return the counts: ``2 created, 1 unchanged``; *planned* if that only would be."""
        counts = Counter(entry.action for entry in self.entries)
        told = [
            f"{counts[action]} {action.told(planned=planned)}"
            for action in Action
            if counts[action]
        ]
        return ", ".join(told) or "nothing to do"

    def render(self, *, planned: bool = False) -> str:
        """Return the lines of all objects, each followed by its difference."""
        return "\n".join(_with_diff(self.entries, planned=planned))

    def to_json(self) -> JsonObject:
        """Return the change set for programs."""
        return {"changes": [entry.to_json() for entry in self.entries]}

    def __str__(self) -> str:
        return "\n".join(map(str, self.entries))

    def __or__(self, other: "ChangeSet") -> "ChangeSet":
        return ChangeSet(self.entries + other.entries)


def last_foreign_writer(
    obj: JsonObject, ours: Collection[str], fields: FieldSet | None = None
) -> LastWriter | None:
    """Return who wrote to an object last, besides the field managers that are *ours*.

    Status is not counted, since it is meant to be written by others. With *fields*, only those
    who own one of these fields are asked.
    """
    metadata = obj.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    latest: LastWriter | None = None
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict) or entry.get("manager") in ours or entry.get("subresource"):
            continue
        if fields is not None and not _overlap(entry.get("fieldsV1"), fields):
            continue
        writer = LastWriter(
            *(str(entry.get(name) or "") for name in ("manager", "operation", "time"))
        )
        if latest is None or writer.time >= latest.time:
            latest = writer
    return latest


def _overlap(owned: Any, fields: FieldSet) -> bool:
    try:
        return bool(FieldSet.parse(owned if isinstance(owned, dict) else {}) & fields)
    except ValueError:
        return False


def _with_diff(entries: Iterable[Change], *, planned: bool) -> Iterator[str]:
    for entry in entries:
        yield entry.told(planned=planned)
        if entry.diff:
            yield from (f"    {line}" for line in render(entry.diff).splitlines())


def _change_to_json(change: FieldChange) -> JsonObject:
    sides = {"old": change.old, "new": change.new}
    return {
        "path": change.path,
        **{name: _bounded(value) for name, value in sides.items() if value is not ABSENT},
    }


def _bounded(value: Any) -> Any:
    """Return a value, or the beginning of its text where it is long."""
    try:
        text = value if isinstance(value, str) else orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return "…"
    return value if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_REASON else f"{line[:_LONGEST_REASON]}…"
