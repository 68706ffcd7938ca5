"""The rules of OpenAPI v3 schemas, in the words of the API server.

Covers what CustomResourceDefinitions may say: types, formats, bounds, patterns, enums, required
fields, combinations of schemas, and the uniqueness that list types imply. CEL rules are in `cel`.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

import orjson

from certwright.apiserver.causes import (
    duplicate_value,
    invalid_value,
    required,
    shown,
    too_long,
    too_many,
    type_invalid,
    unsupported_value,
)
from certwright.apiserver.schema import formats
from certwright.apiserver.schema.schema import CONTAINERS, ListType, Schema
from certwright.kube.errors import Cause

_ANYWHERE = "<nil>"
"""The API server reports combinations of schemas without saying where."""

_INT_RANGES = {"int32": 1 << 31, "int64": 1 << 63}
_JSON_TYPES: Final = {
    bool: ("boolean", ""), int: ("integer", "int64"), float: ("number", "float64"),
    str: ("string", ""), list: ("array", ""), dict: ("object", ""),
}  # fmt: skip
"""The type of a value and its format."""

_NEW: Final = object()
"""Stands for the old value where there is none to compare with."""


def validate(value: Any, schema: Schema, path: str = "", old: Any = None) -> list[Cause]:
    """Return what in *value* breaks the schema; paths start with *path*.

    Parts that are the same in *old* are not checked again: an object that was valid under
    an earlier schema can still be updated elsewhere.
    """
    before = _NEW if old is None else old
    return [*_value(value, schema, path, before), *_list_types(value, schema, path, before)]


def _value(value: Any, schema: Schema, path: str, old: Any = _NEW) -> Iterator[Cause]:
    if old is not _NEW and value == old:
        return
    mismatch = _type_mismatch(value, schema)
    if mismatch:
        expected, actual = mismatch
        # The field's own name is its path: the server repeats it in the message.
        why = f"{path} in body must be of type {expected}: {shown(actual)}"
        yield type_invalid(path or _ANYWHERE, actual, why)
    if value is None:
        return
    yield from _combinations(value, schema, path)
    check = _CHECKS.get(type(value))
    if check:
        yield from check(value, schema, path, old)
    if schema.enum and not any(_equal(value, choice) for choice in schema.enum):
        supported = [c if isinstance(c, str) else shown(c) for c in schema.enum]
        yield unsupported_value(path, value, supported)
    if isinstance(value, dict):
        yield from _object(value, schema, path, old)


def _type_mismatch(value: Any, schema: Schema) -> tuple[str, str] | None:
    """Return what was expected and what was found, when they differ."""
    actual, actual_format = _JSON_TYPES.get(type(value), ("null", ""))
    expected = {"integer", "string"} if schema.int_or_string else {schema.type} - {""}
    if not expected:
        return None
    names = "integer,string" if schema.int_or_string else schema.type
    if value is None:
        return None if schema.nullable else (names, "null")
    fits = (
        actual in expected
        or (actual == "number" and "integer" in expected and float(value).is_integer())
        or (actual == "integer" and "number" in expected)
    )
    if fits:
        return None
    if schema.format and not isinstance(value, str | list):
        return schema.format, actual_format
    return names, actual


def _string(value: str, schema: Schema, path: str, _old: Any) -> Iterator[Cause]:
    if schema.max_length is not None and len(value) > schema.max_length:
        yield too_long(path, schema.max_length)
    elif schema.min_length is not None and len(value) < schema.min_length:
        why = f"{path} in body should be at least {schema.min_length} chars long"
        yield invalid_value(path, value, why)
    elif schema.pattern and not formats.matches(schema.pattern, value):
        yield invalid_value(path, value, f"{path} in body should match '{schema.pattern}'")
    if schema.format and not formats.is_valid(schema.format, value):
        why = f"{path} in body must be of type {schema.format}: {shown(value)}"
        yield type_invalid(path, value, why)


def _number(value: float, schema: Schema, path: str, _old: Any) -> Iterator[Cause]:
    limit = _INT_RANGES.get(schema.format) if schema.type == "integer" else None
    if limit and not (-limit <= value < limit and float(value).is_integer()):
        why = f"Checked value must be of type integer with format {schema.format} in {path}"
        yield invalid_value(_ANYWHERE, "", why)
    if schema.multiple_of and isinstance(value, int) and schema.multiple_of < 1:
        # For whole numbers the server cuts the factor to a whole number, too.
        why = f"factor MultipleOf declared for {path} must be positive: 0"
        yield invalid_value(path, 0, why)
    elif schema.multiple_of and not float(value / schema.multiple_of).is_integer():
        why = f"{path} in body should be a multiple of {_plain(schema.multiple_of)}"
        yield invalid_value(path, value, why)
    low, high = schema.minimum, schema.maximum
    if low is not None and (value <= low if schema.exclusive_minimum else value < low):
        relation = "greater than" if schema.exclusive_minimum else "greater than or equal to"
        yield invalid_value(path, value, f"{path} in body should be {relation} {_plain(low)}")
    if high is not None and (value >= high if schema.exclusive_maximum else value > high):
        relation = "less than" if schema.exclusive_maximum else "less than or equal to"
        yield invalid_value(path, value, f"{path} in body should be {relation} {_plain(high)}")


def _array(value: list[Any], schema: Schema, path: str, old: Any) -> Iterator[Cause]:
    if schema.items is not None:
        counterparts = correlated(value, old, schema)
        for index, item in enumerate(value):
            yield from _value(item, schema.items, f"{path}[{index}]", counterparts[index])
    if schema.min_items is not None and len(value) < schema.min_items:
        why = f"{path} in body should have at least {schema.min_items} items"
        yield invalid_value(path, len(value), why)
    if schema.max_items is not None and len(value) > schema.max_items:
        yield too_many(path, len(value), schema.max_items)
    if schema.unique_items and next(_repeated(value), None) is not None:
        yield invalid_value(path, "", f"{path} in body shouldn't contain duplicates")


_CHECKS: dict[type, Callable[[Any, Schema, str, Any], Iterator[Cause]]] = {
    str: _string,
    int: _number,
    float: _number,
    list: _array,
}


def _object(value: dict[str, Any], schema: Schema, path: str, old: Any) -> Iterator[Cause]:
    count = len(value)
    if schema.min_properties is not None and count < schema.min_properties:
        why = f"{path} in body should have at least {schema.min_properties} properties"
        yield invalid_value(path, count, why)
    if schema.max_properties is not None and count > schema.max_properties:
        yield too_many(path, count, schema.max_properties)
    for name, child in value.items():
        node = schema.properties.get(name, schema.additional)
        if node is not None:
            before = old.get(name, _NEW) if isinstance(old, dict) else _NEW
            if child == before:
                continue
            yield from _value(child, node, f"{path}.{name}" if path else name, before)
    for name in schema.required:
        if name not in value:
            yield required(f"{path}.{name}" if path else name)
    for name in ("apiVersion", "kind") if schema.embedded_resource else ():
        if not value.get(name):
            yield required(f"{path}.{name}")


def _combinations(value: Any, schema: Schema, path: str) -> Iterator[Cause]:
    if schema.any_of:
        results = [list(_value(value, option, path)) for option in schema.any_of]
        if all(results):
            why = f'"{path}" must validate at least one schema (anyOf)'
            yield invalid_value(_ANYWHERE, "", why)
            yield from min(results, key=len)
    if schema.one_of:
        results = [list(_value(value, option, path)) for option in schema.one_of]
        valid = sum(not result for result in results)
        if valid != 1:
            found = f"Found {valid} valid alternatives" if valid else "Found none valid"
            why = f'"{path}" must validate one and only one schema (oneOf). {found}'
            yield invalid_value(_ANYWHERE, "", why)
            if not valid:
                yield from min(results, key=len)
    if schema.all_of:
        results = [list(_value(value, option, path)) for option in schema.all_of]
        for result in results:
            yield from result
        if any(results):
            none = ". None validated" if all(results) else ""
            why = f'"{path}" must validate all the schemas (allOf){none}'
            yield invalid_value(_ANYWHERE, "", why)
    if schema.not_ is not None and not list(_value(value, schema.not_, path)):
        yield invalid_value(_ANYWHERE, "", f'"{path}" must not validate the schema (not)')


def _list_types(value: Any, schema: Schema, path: str, old: Any) -> Iterator[Cause]:
    """Yield entries that occur twice in sets, or under the same keys in list maps."""
    if old is not _NEW and value == old:
        return
    if isinstance(value, dict):
        for name, child in value.items():
            node = schema.properties.get(name, schema.additional)
            if node is not None and isinstance(child, CONTAINERS):
                before = old.get(name, _NEW) if isinstance(old, dict) else _NEW
                if child == before:
                    continue
                yield from _list_types(child, node, f"{path}.{name}" if path else name, before)
    elif isinstance(value, list):
        yield from _duplicates(value, schema, path)
        for index, item in enumerate(value if schema.items is not None else ()):
            if isinstance(item, CONTAINERS):
                yield from _list_types(item, schema.items or Schema(), f"{path}[{index}]", _NEW)


def _duplicates(value: list[Any], schema: Schema, path: str) -> Iterator[Cause]:
    identities = value
    if schema.list_type is ListType.MAP:
        identities = [_keys_of(item, schema) for item in value]
    elif schema.list_type is not ListType.SET:
        return
    for index in _repeated(identities):
        yield duplicate_value(f"{path}[{index}]", identities[index])


def correlated(value: list[Any], old: Any, schema: Schema, missing: Any = _NEW) -> list[Any]:
    """Return for each item of a list its counterpart in the old one, or *missing*.

    Only items of list maps have one: those of other lists have no identity.
    """
    if not isinstance(old, list) or schema.list_type is not ListType.MAP:
        return [missing] * len(value)
    known = {_identity(_keys_of(item, schema)): item for item in old}
    return [known.get(_identity(_keys_of(item, schema)), missing) for item in value]


def _keys_of(item: Any, schema: Schema) -> Any:
    if not isinstance(item, dict):
        return item
    return {key: item[key] for key in schema.list_keys if key in item}


def _repeated(values: list[Any]) -> Iterator[int]:
    seen = set()
    for index, value in enumerate(values):
        identity = _identity(value)
        if identity in seen:
            yield index
        seen.add(identity)


def _identity(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _equal(value: Any, choice: Any) -> bool:
    return value == choice and isinstance(value, bool) == isinstance(choice, bool)


def _plain(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else str(number)
