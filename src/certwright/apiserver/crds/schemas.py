"""What the schema of a CustomResourceDefinition may say: it must be structural."""

import copy
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import orjson

from certwright.apiserver.causes import forbidden_value, invalid_value, required, unsupported_value
from certwright.apiserver.cel import rule_errors
from certwright.apiserver.crds.parse import parse
from certwright.apiserver.schema.constraints import validate
from certwright.apiserver.schema.formats import compile_pattern
from certwright.apiserver.schema.structural import prune
from certwright.kube.errors import Cause
from certwright.kube.objects import JsonObject

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_SCALARS: Final = frozenset({"boolean", "integer", "number", "string"})
_UNSUPPORTED: Final = (
    "id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref",
)  # fmt: skip
_NESTED_FORBIDDEN: Final = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
_COMBINATIONS: Final = ("allOf", "anyOf", "oneOf")
_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]


def schema_causes(schema: JsonObject, path: str, *, has_status: bool) -> list[Cause]:
    """Return what is wrong with a version's schema: its form first, then defaults and rules."""
    return list(_schema_causes(orjson.dumps(schema), path, has_status=has_status))


@lru_cache(maxsize=128)
def _schema_causes(text: bytes, path: str, *, has_status: bool) -> tuple[Cause, ...]:
    """Judge a schema; thousands of simulated servers are given the same few."""
    schema: JsonObject = orjson.loads(text)
    causes = list(_node(schema, path, "root"))
    if schema.get("nullable"):
        causes.append(forbidden_value(f"{path}.nullable", "nullable cannot be true at the root"))
    if has_status and schema.get("type") not in {None, "object"}:
        why = (
            'only "object" is allowed as the type at the root of the schema if the status '
            "subresource is enabled"
        )
        causes.append(invalid_value(f"{path}.type", schema["type"], why))
    if causes:
        return tuple(causes)
    return (*_defaults(schema, path), *rule_errors(parse(schema), path))


def _node(schema: JsonObject, path: str, level: str) -> Iterator[Cause]:
    yield from _type_causes(schema, path, level)
    yield from _extension_causes(schema, path)
    yield from _combination_causes(schema, path)
    if schema.get("pattern") and compile_pattern(schema["pattern"]) is None:
        why = "must be a valid regular expression, but isn't: error parsing regexp"
        yield invalid_value(f"{path}.pattern", schema["pattern"], why)
    for field in _UNSUPPORTED:
        if schema.get(field):
            yield forbidden_value(f"{path}.{field}", f"{field} is not supported")
    if schema.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden_value(f"{path}.uniqueItems", why)
    properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
    if properties and additional:
        why = "additionalProperties and properties are mutual exclusive"
        yield forbidden_value(f"{path}.additionalProperties", why)
    if additional and level == "root":
        yield forbidden_value(f"{path}.additionalProperties", "must not be used at the root")
    for name, child in properties.items():
        if name == "metadata" and level == "root":
            yield from _metadata_causes(child, f"{path}.properties[metadata]")
        else:
            yield from _node(child, f"{path}.properties[{name}]", "field")
    if isinstance(additional, dict):
        yield from _node(additional, f"{path}.additionalProperties", "field")
    if isinstance(schema.get("items"), dict):
        yield from _node(schema["items"], f"{path}.items", "item")
    elif schema.get("items") is not None:
        why = "items must be a schema object and not an array"
        yield forbidden_value(f"{path}.items", why)


def _type_causes(schema: JsonObject, path: str, level: str) -> Iterator[Cause]:
    kind = schema.get("type") or ""
    free = (
        schema.get("x-kubernetes-int-or-string")
        or schema.get("x-kubernetes-preserve-unknown-fields") is not None
    )
    empty = {
        "root": "must not be empty at the root",
        "item": "must not be empty for specified array items",
        "field": "must not be empty for specified object fields",
    }
    if not kind and (not free or level == "root"):
        yield required(f"{path}.type", empty[level])
    elif kind and kind not in _TYPES:
        yield unsupported_value(f"{path}.type", kind, list(_TYPES))
    elif level == "root" and kind != "object":
        yield invalid_value(f"{path}.type", kind, "must be object at the root")
    if kind == "array" and schema.get("items") is None:
        yield required(f"{path}.items", "must be specified")
    if schema.get("x-kubernetes-embedded-resource") and kind != "object":
        why = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid_value(f"{path}.type", kind, why)


def _extension_causes(schema: JsonObject, path: str) -> Iterator[Cause]:
    kind = schema.get("type") or ""
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        where = f"{path}.x-kubernetes-preserve-unknown-fields"
        yield invalid_value(where, False, "must be true or undefined")
    map_type = schema.get("x-kubernetes-map-type")
    if map_type is not None:
        where = f"{path}.x-kubernetes-map-type"
        if kind != "object":
            why = "must be object if x-kubernetes-map-type is specified"
            yield invalid_value(f"{path}.type", kind, why)
        if map_type not in {"atomic", "granular"}:
            yield unsupported_value(where, map_type, ["atomic", "granular"])
    yield from _list_causes(schema, path)


def _list_causes(schema: JsonObject, path: str) -> Iterator[Cause]:
    list_type = schema.get("x-kubernetes-list-type")
    keys = schema.get("x-kubernetes-list-map-keys") or []
    where = f"{path}.x-kubernetes-list-type"
    if list_type is not None and (schema.get("type") or "") != "array":
        why = "must be array if x-kubernetes-list-type is specified"
        yield invalid_value(f"{path}.type", schema.get("type") or "", why)
    if list_type not in {None, "atomic", "set", "map"}:
        yield unsupported_value(where, list_type, ["atomic", "set", "map"])
    if keys and list_type != "map":
        why = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield invalid_value(where, list_type, why) if list_type else required(where, why)
    if list_type == "map" and not keys:
        why = "must not be empty if x-kubernetes-list-type is map"
        yield required(f"{path}.x-kubernetes-list-map-keys", why)
    if list_type == "map" and isinstance(schema.get("items"), dict):
        yield from _key_causes(schema["items"], keys, path)


def _key_causes(items: JsonObject, keys: list[str], path: str) -> Iterator[Cause]:
    if items.get("type") != "object":
        why = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid_value(f"{path}.items.type", items.get("type") or "", why)
    properties = items.get("properties") or {}
    for key in keys:
        where = f"{path}.items.properties[{key}]"
        if key not in properties:
            why = "entries must all be names of item properties"
            yield invalid_value(f"{path}.x-kubernetes-list-map-keys", keys, why)
        elif properties[key].get("type") not in _SCALARS:
            why = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield invalid_value(f"{where}.type", items.get("type") or "", why)
        elif key not in (items.get("required") or ()) and "default" not in properties[key]:
            why = (
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be "
                "a required property"
            )
            yield required(f"{where}.default", why)


def _metadata_causes(schema: JsonObject, path: str) -> Iterator[Cause]:
    if schema.get("type") != "object":
        yield invalid_value(f"{path}.type", schema.get("type") or "", "must be object")
    others = (schema.get("properties") or {}).keys() - {"name", "generateName"}
    if others or schema.keys() - {"type", "properties", "description"}:
        why = (
            "must not specify anything other than name and generateName, but metadata is "
            "implicitly specified"
        )
        yield forbidden_value(path, why)


def _combination_causes(schema: JsonObject, path: str) -> Iterator[Cause]:
    for field in _COMBINATIONS:
        for index, option in enumerate(schema.get(field) or ()):
            if field == "anyOf" and schema.get("anyOf") == _INT_OR_STRING:
                continue  # the one spelling of int-or-string that names types
            yield from _nested(option, f"{path}.{field}[{index}]")
    if schema.get("not") is not None:
        yield from _nested(schema["not"], f"{path}.not")


def _nested(schema: JsonObject, path: str) -> Iterator[Cause]:
    """Combinations may only restrict values, never describe them anew."""
    is_alternative = schema.get("anyOf") == _INT_OR_STRING
    for field, why in _NESTED_FORBIDDEN:
        if schema.get(field):
            yield forbidden_value(f"{path}.{field}", why)
    for name, child in (schema.get("properties") or {}).items():
        if name == "metadata":
            why = "must not be specified in a nested context"
            yield forbidden_value(f"{path}.properties[metadata]", why)
        yield from _nested(child, f"{path}.properties[{name}]")
    if isinstance(schema.get("items"), dict):
        yield from _nested(schema["items"], f"{path}.items")
    if not is_alternative:
        yield from _combination_causes(schema, path)


def _defaults(schema: JsonObject, path: str) -> Iterator[Cause]:
    """Defaults must be valid values without unknown fields."""
    if "default" in schema:
        node = parse({key: part for key, part in schema.items() if key != "default"})
        where, value = f"{path}.default", copy.deepcopy(schema["default"])
        if prune(value, node):
            yield invalid_value(where, schema["default"], "must not have unknown fields")
        for cause in validate(value, node):
            field = "" if cause.field == "<nil>" else f".{cause.field}"
            yield Cause(cause.reason, cause.message, where + field)
    for name, child in (schema.get("properties") or {}).items():
        yield from _defaults(child, f"{path}.properties[{name}]")
    for part in ("items", "additionalProperties"):
        if isinstance(schema.get(part), dict):
            yield from _defaults(schema[part], f"{path}.{part}")
