"""Objects of an unusual shape: slower ways to read what is usually read in one pass."""

from typing import Any, TypeVar

import msgspec
from msgspec import Struct

S = TypeVar("S", bound=Struct)


def fitting(metadata: dict[str, Any], kind: type[S]) -> tuple[S, str]:
    """Return the metadata without fields of the wrong type, and what is wrong with the first."""
    given = {name: value for name, value in metadata.items() if value is not None}
    given.pop("managedFields", None)  # its JSON is wanted, not its value
    try:
        return msgspec.convert(given, kind), ""  # nulls were all that was unusual
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$")
        rest = {name: value for name, value in given.items() if _fits(name, value, kind)}
        return msgspec.convert(rest, kind), f"metadata{path.rstrip('`')}: {what}"


def _fits(name: str, value: Any, kind: type[Struct]) -> bool:
    try:
        msgspec.convert({"name": "", name: value}, kind)
    except msgspec.ValidationError:
        return False
    return True
