"""Merging, comparing and trimming values along their `Schema`.

The arithmetic of server-side apply: `merge` lays an applied configuration over the live
object, `compare` says which fields a change touched, `remove` takes out what no manager wants any
more. Results share every unchanged part with their inputs, and an unchanged result is the
input itself, so that a request that changes nothing is recognised by identity.
"""

from dataclasses import dataclass, field
from typing import Any

import orjson

from certwright.apiserver.fields.fieldset import FieldSet, is_member, union, without
from certwright.apiserver.fields.typed import (
    DEDUCED,
    TypeMismatch,
    child,
    everything,
    item_step,
    steps,
)
from certwright.apiserver.gotext import plain
from certwright.apiserver.schema.schema import ListType, Schema


@dataclass(slots=True)
class Comparison:
    """The fields in which two values differ; no field is in two of the sets."""

    removed: FieldSet = field(default_factory=dict)
    modified: FieldSet = field(default_factory=dict)
    added: FieldSet = field(default_factory=dict)

    def without(self, fields: FieldSet) -> "Comparison":
        """Return the comparison less some fields and what is below them."""
        return Comparison(
            without(self.removed, fields),
            without(self.modified, fields),
            without(self.added, fields),
        )

    def add_below(self, step: str, below: "Comparison") -> None:
        """Take in what differs below a step, if anything."""
        if below.removed:
            self.removed[step] = below.removed
        if below.modified:
            self.modified[step] = below.modified
        if below.added:
            self.added[step] = below.added

    @property
    def set(self) -> FieldSet:
        """The fields that got a new value."""
        return union(self.modified, self.added)


def equal(left: Any, right: Any) -> bool:
    """Return whether two JSON values are equal; unlike in Python, true is not 1."""
    if left is right:
        return True
    if left != right:
        return False
    if isinstance(left, dict):
        return all(equal(left[name], right[name]) for name in left)
    if isinstance(left, list):
        return all(equal(a, b) for a, b in zip(left, right, strict=True))
    return isinstance(left, bool) == isinstance(right, bool)


def _is_map(schema: Schema, value: Any) -> bool:
    if schema.type:
        return schema.type == "object"
    return value is None or isinstance(value, dict)


def merge(live: Any, applied: Any, schema: Schema) -> Any:
    """Lay *applied* over *live*: nothing is removed, *applied* wins where both have a leaf.

    Raises:
        TypeMismatch: an item of a list has no identity.
    """
    if _is_map(schema, applied):
        if not schema.atomic_map and isinstance(live, dict) and live:
            return _merge_maps(live, applied, schema) if applied else live
    elif schema.list_type is not ListType.ATOMIC and isinstance(live, list) and live:
        return _merge_lists(live, applied, schema) if applied else live
    return live if equal(live, applied) else applied


def _merge_maps(live: dict[str, Any], applied: dict[str, Any], schema: Schema) -> dict[str, Any]:
    out: dict[str, Any] | None = None
    for name, theirs in applied.items():
        if name in live:
            ours = live[name]
            if type(ours) is str and type(theirs) is str:
                merged = ours if ours == theirs else theirs
            else:
                merged = merge(ours, theirs, child(schema, name))
            if merged is ours:
                continue
        else:
            merged = theirs
        if out is None:
            out = dict(live)
        out[name] = merged
    return live if out is None else out


def _merge_lists(live: list[Any], applied: list[Any], schema: Schema) -> list[Any]:
    ours, theirs = steps(live, schema), steps(applied, schema)
    order = _merge_order([item_step(item, schema) for item in live], list(theirs), ours)
    item_schema = schema.items or DEDUCED
    unclaimed = {step: iter(items) for step, items in ours.items()}
    out = []
    for step in order:
        if step not in theirs:
            out.append(next(unclaimed[step]))
        elif len(ours.get(step, ())) == 1:
            out.append(merge(ours[step][0], theirs[step][0], item_schema))
        else:  # new, or ambiguous in the live list: the applied item replaces them all
            out.append(theirs[step][0])
    unchanged = len(out) == len(live) and all(a is b for a, b in zip(out, live, strict=True))
    return live if unchanged else out


def _merge_order(live: list[str], applied: list[str], ours: dict[str, Any]) -> list[str]:
    """Interleave two orders: shared items in the applied order, others keep their neighbours."""
    wanted = set(applied)
    shared = iter([step for step in applied if step in ours])
    next_shared = next(shared, None)
    out: list[str] = []
    placed: set[str] = set()
    left = right = 0
    while left < len(live) or right < len(applied):
        if left < len(live):
            step = live[left]
            if right < len(applied):
                if step == applied[right]:
                    out.append(step)
                    placed.add(step)
                    left += 1
                    right += 1
                    next_shared = next(shared, None)
                    continue
                if step in wanted and next_shared is not None and next_shared != step:
                    left += 1  # shared, but its turn comes later
                    continue
            if step not in wanted:
                out.append(step)
                left += 1
                continue
            if step in placed:
                left += 1
        if right < len(applied):
            step = applied[right]
            out.append(step)
            placed.add(step)
            right += 1
            if step == next_shared:
                next_shared = next(shared, None)
    return out


def compare(old: dict[str, Any], new: dict[str, Any], schema: Schema) -> Comparison:
    """Return in which fields two objects differ; `TypeMismatch` if a list or item is malformed."""
    found = Comparison()
    if old is not new:
        _compare_maps(old, new, schema, found)
    return found


def _compare(step: str, old: Any, new: Any, schema: Schema, found: Comparison) -> None:
    if not isinstance(old, (dict, list)) and not isinstance(new, (dict, list)):
        if not equal(old, new):
            found.modified[step] = {}
        return
    if _is_unchanged(old, new, schema):
        return
    below = Comparison()
    if _is_map(schema, old) or _is_map(schema, new):
        old_map = old if isinstance(old, dict) else {}
        new_map = new if isinstance(new, dict) else {}
        if schema.atomic_map or not (old_map or new_map):
            if not equal(old, new):
                found.modified[step] = {}
            return
        if not (_is_map(schema, old) and _is_map(schema, new)):
            found.modified[step] = {}  # a map became something else, or the reverse
        _compare_maps(old_map, new_map, schema, below)
    elif schema.list_type is ListType.ATOMIC or not (old or new):
        if not equal(old, new):
            found.modified[step] = {}
        return
    else:
        _compare_lists(_items(old), _items(new), schema, below)
    found.add_below(step, below)


def _is_unchanged(old: Any, new: Any, schema: Schema) -> bool:
    """Return whether two values are the same, if that shows without a look at each part.

    Lists with identities are looked at in any case: they may be malformed.
    """
    if type(old) is not type(new) or schema.has_merged_lists():
        return False
    try:
        return orjson.dumps(old) == orjson.dumps(new)
    except orjson.JSONEncodeError:
        return False


def _items(value: Any) -> list[Any]:
    if value is None or isinstance(value, list):
        return value or []
    raise TypeMismatch(f"expected list, got {plain(value)}")


def _compare_maps(
    old: dict[str, Any], new: dict[str, Any], schema: Schema, found: Comparison
) -> None:
    for name, ours in old.items():
        if name not in new:
            found.removed[f"f:{name}"] = everything(ours, child(schema, name))
        elif ours is not (theirs := new[name]) and not (type(ours) is str and ours == theirs):
            _compare(f"f:{name}", ours, theirs, child(schema, name), found)
    for name, theirs in new.items():
        if name not in old:
            found.added[f"f:{name}"] = everything(theirs, child(schema, name))


def _compare_lists(old: list[Any], new: list[Any], schema: Schema, found: Comparison) -> None:
    before, after = steps(old, schema), steps(new, schema)
    item_schema = schema.items or DEDUCED
    for step in before | after:
        ours, theirs = before.get(step, []), after.get(step, [])
        if len(ours) > 1 and len(theirs) > 1:
            if not equal(ours, theirs):
                found.modified[step] = {}
        elif len(ours) == 1 and len(theirs) == 1:
            if ours[0] is not theirs[0]:
                _compare(step, ours[0], theirs[0], item_schema, found)
        else:  # an item came or went; duplicates have one owner for all of them
            if ours:
                found.removed[step] = everything(ours[0], item_schema) if len(ours) == 1 else {}
            if theirs:
                found.added[step] = everything(theirs[0], item_schema) if len(theirs) == 1 else {}


def remove(value: Any, fields: FieldSet, schema: Schema) -> Any:
    """Return the value without the members of a set; None when nothing is left of it."""
    if isinstance(value, dict):
        if schema.atomic_map:
            return None
        out = {}
        for name, part in value.items():
            below = fields.get(f"f:{name}")
            if below is None:
                out[name] = part
            elif not is_member(below):
                out[name] = remove(part, below, child(schema, name))
        return out or None
    if isinstance(value, list):
        return _remove_items(value, fields, schema)
    return value


def _remove_items(value: list[Any], fields: FieldSet, schema: Schema) -> list[Any] | None:
    if schema.list_type is ListType.ATOMIC:
        return None
    out = []
    for item in value:
        below = fields.get(item_step(item, schema))
        if below is None:
            out.append(item)
        elif not is_member(below):
            out.append(remove(item, below, schema.items or DEDUCED))
    return out or None
