"""Check that a schema is structural, before a server would refuse it."""

import re
from typing import Any

from certwright.kube.objects import JsonObject

_FORBIDDEN = (
    "$ref", "additionalItems", "definitions", "dependencies", "id", "patternProperties", "title",
)  # fmt: skip
_SCALARS = {"string", "integer", "number", "boolean"}
_NOT_RE2 = re.compile(r"\(\?(?:[=!]|<[=!]|P=|\()|\\[1-9]")
"""Look-around, conditionals and back-references: Python has them, the API server (RE2) has not."""


class SchemaError(TypeError):
    """A type cannot become a CRD schema; the message names the field and the reason."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path or 'the object'}: {problem}")
        self.path = path


def check(schema: JsonObject, path: str) -> None:
    """Check a schema and all that is in it; `SchemaError` if the API server would refuse it."""
    for word in _FORBIDDEN:
        if word in schema:
            raise SchemaError(path, f"{word} is not allowed in a structural schema")
    _check_pattern(schema, path)
    _check_extensions(schema, path)
    for validation in schema.get("x-kubernetes-validations", ()):
        _check_rule(validation, path)
    for name, inner in schema.get("properties", {}).items():
        check(inner, f"{path}.{name}" if path else name)
    for word in ("items", "additionalProperties"):
        if word in schema:
            check(schema[word], f"{path}[]")


def _check_extensions(schema: JsonObject, path: str) -> None:
    kind, list_type = schema.get("type"), schema.get("x-kubernetes-list-type")
    if list_type and kind != "array":
        raise SchemaError(path, f"list type {list_type} on something that is not a list")
    if schema.get("x-kubernetes-map-type") and kind != "object":
        raise SchemaError(path, "map type atomic on something that is not a map or object")
    if schema.get("x-kubernetes-embedded-resource") and (
        kind != "object" or "additionalProperties" in schema
    ):
        raise SchemaError(path, "an embedded resource is a Struct or dict[str, Any]")
    if list_type in {"map", "set"} and schema["items"].get("nullable"):
        raise SchemaError(path, f"items of a list of type {list_type} cannot be null")
    if list_type == "map":
        _check_list_map(schema, path)
    if list_type == "set" and not _is_scalar_or_atomic(schema["items"]):
        raise SchemaError(path, "items of a set are scalars, or marked atomic")


def _check_list_map(schema: JsonObject, path: str) -> None:
    keys, items = schema.get("x-kubernetes-list-map-keys"), schema["items"]
    if not keys or items.get("type") != "object":
        raise SchemaError(path, "a list map has Structs as items and names their key fields")
    for key in keys:
        field = items.get("properties", {}).get(key)
        if field is None:
            raise SchemaError(path, f"the list map key {key!r} is not a field of the items")
        if field.get("type") not in _SCALARS or field.get("nullable"):
            raise SchemaError(path, f"the list map key {key!r} is not a scalar, or may be null")
        if key not in items.get("required", ()) and "default" not in field:
            raise SchemaError(
                path,
                f"the list map key {key!r} must be required or have a default"
                " (nothing below status has defaults)",
            )


def _is_scalar_or_atomic(items: JsonObject) -> bool:
    if items.get("type") == "object":
        return bool(items.get("x-kubernetes-map-type") == "atomic")
    if items.get("type") == "array":
        return bool(items.get("x-kubernetes-list-type", "atomic") == "atomic")
    return True


def _check_pattern(schema: JsonObject, path: str) -> None:
    pattern = schema.get("pattern")
    if pattern is None:
        return
    try:
        re.compile(pattern)
    except re.error as error:
        raise SchemaError(path, f"the pattern {pattern!r} does not compile: {error}") from error
    if _NOT_RE2.search(pattern):
        raise SchemaError(
            path, f"the pattern {pattern!r} uses look-around or back-references, which RE2 lacks"
        )


def _check_rule(validation: dict[str, Any], path: str) -> None:
    expression, message = validation["rule"], validation.get("message", "")
    if not expression.strip():
        raise SchemaError(path, "a rule is empty")
    if "\n" in message.strip():
        raise SchemaError(path, f"the message of the rule {expression!r} has line breaks")
    if "\n" in expression.strip() and not message.strip():
        raise SchemaError(path, f"the rule {expression!r} has line breaks, so it needs a message")
