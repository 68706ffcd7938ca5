"""A manifest on its way to the server, next to the live object it meets."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from certwright.kube import JsonObject
from certwright.kube.ownership import FieldSet, project

Path = Sequence[str | int]


class Draft:
    """What is going to be applied; starts as the manifest, which stays untouched.

    *own* is what we own of the live object.
    """

    def __init__(self, desired: JsonObject, live: JsonObject, own: FieldSet | None) -> None:
        self.desired = desired
        self.obj = desired
        self.guarded = False
        """Whether it repeats live values that the manifest does not have."""
        self.ignored: list[str] = []
        self._live = live
        self._own = own

    @cached_property
    def _mine(self) -> JsonObject:
        return project(self._live, self._own) if self._own is not None else {}

    def wanted(self, path: Path) -> Any:
        """Return what the manifest says; None if nothing."""
        return value_at(self.desired, path)

    def have(self, path: Path) -> Any:
        """Return what the live object holds; None if nothing."""
        return value_at(self._live, path)

    def ours(self, path: Path) -> Any:
        """Return what we own of that; None if nothing."""
        return value_at(self._mine, path) if self.have(path) is not None else None

    def leave(self, path: Path) -> None:
        """Leave a field as it is in the cluster, if it is there."""
        self.leave_value(path, have=self.have(path), ours=self.ours(path))

    def carry(self, path: Path) -> None:
        """Send what is ours of a field as it is in the cluster, whatever the manifest says."""
        self.leave_value(path, have=True, ours=self.ours(path))

    def leave_value(self, path: Path, *, have: Any, ours: Any) -> None:
        """Leave a field whose live value, and our part of it, were found by other means."""
        if have is None:
            return  # nobody set it yet: the manifest counts
        if ours is None:
            self.drop(path)
        else:
            self.set(path, ours)

    def set(self, path: Path, value: Any) -> None:
        """Send a live value; the draft then holds for this state of the object only."""
        if value_at(self.obj, path) != value:
            self.obj = _replaced(self.obj, path, value)
            self.guarded = True

    def drop(self, path: Path) -> None:
        """Leave a field out, and what is empty without it."""
        if value_at(self.obj, path) is not None:
            self.obj = _removed(self.obj, path)


def value_at(obj: Any, path: Path) -> Any:
    """Return what stands at a path; None where it leads nowhere."""
    value = obj
    for element in path:
        if isinstance(element, str):
            value = value.get(element) if isinstance(value, Mapping) else None
        elif isinstance(value, list) and element < len(value):
            value = value[element]
        else:
            return None
    return value


def _replaced(obj: Any, path: Path, value: Any) -> Any:
    """Return *obj* with another value at a path; as it is where the path cannot be."""
    if not path:
        return value
    element, rest = path[0], path[1:]
    if isinstance(element, int):
        if not isinstance(obj, list):
            return obj
        return [
            _replaced(item, rest, value) if position == element else item
            for position, item in enumerate(obj)
        ]
    if obj is not None and not isinstance(obj, dict):
        return obj
    inner = obj or {}
    return {**inner, element: _replaced(inner.get(element), rest, value)}


def _removed(obj: Any, path: Path) -> Any:
    element, rest = path[0], path[1:]
    if isinstance(element, int):
        return [
            _removed(item, rest) if position == element else item
            for position, item in enumerate(obj)
        ]
    if rest:
        inner = _removed(obj[element], rest)
        if inner:
            return {**obj, element: inner}
    return {name: value for name, value in obj.items() if name != element}
