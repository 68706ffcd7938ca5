"""Values seen through their `Schema`, the way server-side apply sees them.

The schema decides which parts of a value have owners of their own: fields of structs and
granular maps, items of sets and of lists with keys. Everything else (scalars, atomic lists and
maps, empty containers) is a leaf with one owner. `merge` combines values, this module answers
what they consist of and whether they fit.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from certwright.apiserver.fields.fieldset import FieldSet, describe, key_step, value_step
from certwright.apiserver.gotext import plain, quoted, syntax, type_name
from certwright.apiserver.schema.schema import UNSET, ListType, Schema

DEDUCED = Schema(preserve_unknown=True)
"""The schema of unknown content: maps are granular, lists atomic."""

_SCALARS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int, float),
    "number": (int, float),
    "boolean": (bool,),
}


class TypeMismatch(ValueError):
    """A value does not fit its schema; the message names the fields."""


def child(schema: Schema, name: str) -> Schema:
    """Return the schema of a field or map entry."""
    known = schema.properties.get(name)
    if known is not None:
        return known
    return schema.additional or DEDUCED


def is_leaf(value: Any, schema: Schema) -> bool:
    """Return whether nothing inside the value can have an owner of its own."""
    if isinstance(value, dict):
        return not value or schema.atomic_map
    if isinstance(value, list):
        return not value or schema.list_type is ListType.ATOMIC
    return True


def item_step(item: Any, schema: Schema) -> str:
    """Return the step to an item of a set or of a list with keys; *schema* is the list's.

    Raises:
        TypeMismatch: the item has no identity.
    """
    if schema.list_type is ListType.SET:
        return _set_step(item)
    if item is None:
        raise TypeMismatch("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise TypeMismatch("associative list with keys may not have non-map elements")
    if len(schema.list_keys) == 1:
        [only] = schema.list_keys
        text = item.get(only)
        if type(text) is str and len(text) <= _SHORT:
            return _text_step(only, text)
    keys = {}
    for name in sorted(schema.list_keys):
        key = item[name] if name in item else _default_key(schema.items or DEDUCED, name)
        if key is not UNSET:
            keys[name] = key
    if not keys:
        names = " ".join(quoted(name) for name in schema.list_keys)
        raise TypeMismatch(
            f"associative list with keys has an element that omits all key fields [{names}]"
            " (and doesn't have default values for any key fields)"
        )
    return key_step(keys)


_SHORT = 256
"""The length of texts whose steps are remembered."""


@lru_cache(maxsize=1024)  # the same few: types of conditions, names of containers
def _text_step(name: str, text: str) -> str:
    return key_step({name: text})


def _default_key(item_schema: Schema, name: str) -> Any:
    known = item_schema.properties.get(name)
    if known is None or known.default is not UNSET:
        return UNSET if known is None else known.default
    if item_schema.name and name in item_schema.required:  # a struct of the server has its zero
        return "" if known.type == "string" else 0
    return UNSET


def _set_step(item: Any) -> str:
    if isinstance(item, dict):
        raise TypeMismatch("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise TypeMismatch("not supported: associative list with lists as elements")
    if item is None:
        raise TypeMismatch("associative list without keys has an element that's an explicit null")
    return value_step(item)


def steps(items: list[Any], schema: Schema) -> dict[str, list[Any]]:
    """Return the items of a list by their steps; stored lists may hold duplicates."""
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(item_step(item, schema), []).append(item)
    return found


def owned(value: Any, schema: Schema) -> FieldSet:
    """Return the fields an applied configuration mentions: its leaves, and items and entries."""
    return _owned(value, schema, named=True) or {}


def _owned(value: Any, schema: Schema, *, named: bool) -> FieldSet | None:
    if is_leaf(value, schema):
        # an empty list of items mentions nothing unless it is itself an entry of a map
        empty_list = value == [] and schema.list_type is not ListType.ATOMIC
        return None if named and empty_list else {}
    fields: FieldSet = {}
    if isinstance(value, dict):
        properties = schema.properties
        for name, part in value.items():
            if not isinstance(part, (dict, list)):  # a leaf, whatever its schema
                fields[f"f:{name}"] = {}
                continue
            known = properties.get(name)
            below = _owned(part, known or child(schema, name), named=known is not None)
            if below is not None:
                fields[f"f:{name}"] = below
    else:
        item_schema = schema.items or DEDUCED
        for step, items in steps(value, schema).items():
            fields[step] = {} if len(items) > 1 else _owned(items[0], item_schema, named=False)
    if named:
        return fields or None
    return {".": {}, **fields} if fields else {}


def everything(value: Any, schema: Schema) -> FieldSet:
    """Return the value and all its parts: what appears with it and goes with it."""
    if is_leaf(value, schema):
        return {}
    fields: FieldSet = {".": {}}
    if isinstance(value, dict):
        for name, part in value.items():
            nested = isinstance(part, (dict, list))
            fields[f"f:{name}"] = everything(part, child(schema, name)) if nested else {}
    else:
        item_schema = schema.items or DEDUCED
        for step, items in steps(value, schema).items():
            fields[step] = {} if len(items) > 1 else everything(items[0], item_schema)
    return fields


def with_containers(fields: FieldSet, schema: Schema) -> FieldSet:
    """Add to a set the declared fields that contain its members.

    They are not written to managedFields, but a struct goes when its last field goes.
    """
    out: FieldSet = {}
    for step, below in fields.items():
        if not below:
            out[step] = below
            continue
        if step[0] == "f":
            name = step[2:]
            inner = with_containers(below, child(schema, name))
            if name in schema.properties and "." not in inner:
                inner = {".": {}, **inner}
        else:
            inner = with_containers(below, schema.items or DEDUCED)
        out[step] = inner
    return out


def reconcile(fields: FieldSet, schema: Schema) -> FieldSet:
    """Return the set after a change of schema made lists or maps in it atomic."""
    out: FieldSet | None = None
    for step, below in fields.items():
        if not below:
            continue
        inner = child(schema, step[2:]) if step[0] == "f" else schema.items or DEDUCED
        atomic = inner.atomic_map or (inner.type == "array" and inner.list_type is ListType.ATOMIC)
        fixed = {} if atomic else reconcile(below, inner)
        if fixed is not below:
            out = dict(fields) if out is None else out
            out[step] = fixed
    return fields if out is None else out


def check(value: Any, schema: Schema) -> None:
    """Refuse what does not fit the schema: a `TypeMismatch` names all, in the server's words."""
    mismatches = list(_mismatches(value, schema, open_=False))
    if len(mismatches) == 1:
        raise TypeMismatch(mismatches[0])
    if mismatches:
        raise TypeMismatch("\n  ".join(["errors:", *mismatches]))


def _mismatches(value: Any, schema: Schema, *, open_: bool) -> Iterator[str]:
    kind = schema.type
    if value is None or (not kind and not isinstance(value, (dict, list))):
        return
    if schema.int_or_string or kind == "":
        kind = "object" if isinstance(value, dict) else "array" if isinstance(value, list) else ""
    if kind == "object":
        if isinstance(value, dict):
            yield from _map_mismatches(value, schema, open_=open_ or schema.preserve_unknown)
        else:
            yield f": expected map, got &{{{plain(value)}}}"
    elif kind == "array":
        if isinstance(value, list):
            yield from _list_mismatches(value, schema, open_=open_ or schema.preserve_unknown)
        else:
            yield f": expected list, got &{{{plain(value)}}}"
    elif kind:
        yield from _scalar_mismatches(value, schema)


def _scalar_mismatches(value: Any, schema: Schema) -> Iterator[str]:
    kind = schema.type
    if kind == "string" and schema.format not in {"", "byte"}:
        if isinstance(value, (dict, list)):
            yield f": expected any scalar, got &{{{plain(value)}}}"
        return
    if isinstance(value, _SCALARS[kind]) and (kind == "boolean" or not isinstance(value, bool)):
        return
    if kind == "string":
        yield f": expected string, got &value.valueUnstructured{{Value:{syntax(value)}}}"
    elif kind == "boolean":
        yield f": expected boolean, got &{{{plain(value)}}}"
    else:
        yield f": expected numeric (int or float), got {type_name(value)}"


def _map_mismatches(value: dict[str, Any], schema: Schema, *, open_: bool) -> Iterator[str]:
    closed = bool(schema.properties) and schema.additional is None and not open_
    for name, part in value.items():
        if closed and name not in schema.properties:
            yield f".{name}: field not declared in schema"
            return
        node = child(schema, name)
        if part is None or (type(part) is str and node.type == "string"):
            continue  # the latter nearly always
        for mismatch in _mismatches(part, node, open_=open_):
            yield f".{name}{mismatch}"


def _list_mismatches(value: list[Any], schema: Schema, *, open_: bool) -> Iterator[str]:
    seen = set()
    item_schema = schema.items or DEDUCED
    for index, item in enumerate(value):
        step = f"i:{index}"
        if schema.list_type is not ListType.ATOMIC:
            try:
                step = item_step(item, schema)
            except TypeMismatch as error:
                yield f": element {index}: {error}"
                return
            if step in seen:
                yield f": duplicate entries for key {describe(step)}"
            seen.add(step)
        for mismatch in _mismatches(item, item_schema, open_=open_):
            yield describe(step) + mismatch
