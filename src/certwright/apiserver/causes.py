"""Field errors, worded as Kubernetes words them."""

from typing import Any

import orjson

from certwright.kube.errors import Cause


def invalid_value(field: str, value: Any, why: str) -> Cause:
    """The field holds something it may not hold."""
    return Cause("FieldValueInvalid", f"Invalid value: {shown(value)}: {why}", field)


def required(field: str, why: str = "") -> Cause:
    """The field must be given."""
    return Cause("FieldValueRequired", f"Required value: {why}" if why else "Required value", field)


def forbidden_value(field: str, why: str) -> Cause:
    """The field may not be given."""
    return Cause("FieldValueForbidden", f"Forbidden: {why}", field)


def unsupported_value(field: str, value: Any, supported: list[str]) -> Cause:
    """The field holds none of the values it can have."""
    choices = ", ".join(shown(choice) for choice in supported)
    return Cause(
        "FieldValueNotSupported",
        f"Unsupported value: {shown(value)}: supported values: {choices}",
        field,
    )


def too_long(field: str, limit: int) -> Cause:
    """The field holds more than it can have."""
    return Cause("FieldValueTooLong", f"Too long: may not be more than {limit} bytes", field)


def too_many(field: str, actual: int, limit: int) -> Cause:
    """The list or map has more entries than it may have."""
    entries = "item" if limit == 1 else "items"
    return Cause(
        "FieldValueTooMany", f"Too many: {actual}: must have at most {limit} {entries}", field
    )


def duplicate_value(field: str, value: Any) -> Cause:
    """The value occurs more than once where it must be unique."""
    return Cause("FieldValueDuplicate", f"Duplicate value: {shown(value)}", field)


def type_invalid(field: str, value: Any, why: str) -> Cause:
    """The value is of another type than the schema says."""
    return Cause("FieldValueTypeInvalid", f"Invalid value: {shown(value)}: {why}", field)


def shown(value: Any) -> str:
    """Return a value as it appears in a refusal: JSON, whatever its type."""
    text = orjson.dumps(value).decode()
    if isinstance(value, str):
        return text
    # Go writes JSON that is safe inside HTML.
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
