"""Field errors, worded as Kubernetes words them."""

from typing import Any

import orjson

from certwright.kube.errors import Cause


def invalid_value(field: str, value: Any, why: str) -> Cause:
    """Return the cause for a field with an invalid value."""
    return Cause("FieldValueInvalid", f"Invalid value: {shown(value)}: {why}", field)


def required(field: str, why: str = "") -> Cause:
    """Return the cause for a missing field."""
    return Cause("FieldValueRequired", f"Required value: {why}" if why else "Required value", field)


def forbidden_value(field: str, why: str) -> Cause:
    """Return the cause for a field that is not allowed."""
    return Cause("FieldValueForbidden", f"Forbidden: {why}", field)


def unsupported_value(field: str, value: Any, supported: list[str]) -> Cause:
    """Return the cause for a value that is not supported."""
    choices = ", ".join(shown(choice) for choice in supported)
    return Cause(
        "FieldValueNotSupported",
        f"Unsupported value: {shown(value)}: supported values: {choices}",
        field,
    )


def too_long(field: str, limit: int) -> Cause:
    """Return the cause for a value that is too long."""
    return Cause("FieldValueTooLong", f"Too long: may not be more than {limit} bytes", field)


def too_many(field: str, actual: int, limit: int) -> Cause:
    """Return the cause for a list or map with too many entries."""
    entries = "item" if limit == 1 else "items"
    return Cause(
        "FieldValueTooMany", f"Too many: {actual}: must have at most {limit} {entries}", field
    )


def duplicate_value(field: str, value: Any) -> Cause:
    """Return the cause for a value that occurs more than once."""
    return Cause("FieldValueDuplicate", f"Duplicate value: {shown(value)}", field)


def type_invalid(field: str, value: Any, why: str) -> Cause:
    """Return the cause for a value of the wrong type."""
    return Cause("FieldValueTypeInvalid", f"Invalid value: {shown(value)}: {why}", field)


def shown(value: Any) -> str:
    """Return a value as it appears in a refusal: JSON, whatever its type."""
    text = orjson.dumps(value).decode()
    if isinstance(value, str):
        return text
    # Go writes JSON that is safe inside HTML.
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
