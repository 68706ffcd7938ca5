"""Fields that a custom resource has and its kind has not: misspelt ones, most of the time."""

from collections.abc import Iterator
from typing import Any

from certwright.kube import JsonObject


def unknown_fields(value: Any, schema: JsonObject, path: str) -> Iterator[str]:
    """Yield the paths of fields that a schema does not have; a server would drop them."""
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield from unknown_fields(one, schema.get("items") or {}, f"{path}[{number}]")
    if not isinstance(value, dict) or schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    known, others = schema.get("properties"), schema.get("additionalProperties")
    for name, one in value.items():
        inner = (known or {}).get(name, others)
        if isinstance(inner, dict):
            yield from unknown_fields(one, inner, f"{path}.{name}")
        elif known is not None and not inner:
            yield f"{path}.{name}"
