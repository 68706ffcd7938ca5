"""JSON values as CEL sees them, guided by the schema."""

import base64
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from certwright.apiserver.schema.schema import Schema
from certwright.kube.durations import parse_duration
from certwright.kube.timestamps import parse_time

_RESERVED: Final = frozenset({
    "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for",
    "function", "if", "import", "let", "loop", "package", "namespace", "return", "var", "void",
    "while",
})  # fmt: skip
_SYMBOLS: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_SPECIAL = re.compile(r"__|[./-]")


def escape(name: str) -> str:
    """Return the identifier under which CEL knows a property."""
    if name in _RESERVED:
        return f"__{name}__"
    return _SPECIAL.sub(lambda match: _SYMBOLS[match[0]], name)


def _duration(text: str) -> timedelta:
    return parse_duration(text)


_FORMATS: Final[dict[str, Callable[[str], Any]]] = {
    "date-time": parse_time,
    "date": lambda text: parse_time(f"{text}T00:00:00Z"),
    "duration": _duration,
    "byte": base64.b64decode,
}


def needs_conversion(schema: Schema) -> bool:
    """Return whether any value under the schema looks different to CEL than in JSON."""
    if schema.type == "number" or (schema.type == "string" and schema.format in _FORMATS):
        return True
    children = [*schema.properties.values(), schema.additional, schema.items]
    return any(escape(name) != name for name in schema.properties) or any(
        child is not None and needs_conversion(child) for child in children
    )


def to_cel(value: Any, schema: Schema) -> Any:
    """Return a value for CEL: typed by its format, properties under escaped names."""
    match value:
        case dict():
            return {
                escape(name) if name in schema.properties else name: to_cel(child, node)
                for name, child in value.items()
                if (node := schema.properties.get(name, schema.additional or Schema()))
            }
        case list():
            items = schema.items or Schema()
            return [to_cel(item, items) for item in value]
        case bool():
            return value
        case int() if schema.type == "number":
            return float(value)
        case float() if schema.type == "integer":
            return int(value)
        case str() if schema.type == "string" and schema.format in _FORMATS:
            return _FORMATS[schema.format](value)
    return value
