"""Configuration files into dataclasses, without a word being overlooked.

A key that is not known is an error with a suggestion, a value of the wrong type one with the
place it stands at. All problems of a file are told at once.
"""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from datetime import timedelta
from types import NoneType
from typing import Any, Final, TypeVar, get_origin, get_type_hints

from certwright.kube.durations import parse_duration

T = TypeVar("T")

_NOUNS: Final[Mapping[type, str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong, and where."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class ConfigurationError(ValueError):
    """A configuration that cannot be used; tells every problem, one per line."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


@dataclass(slots=True)
class Findings:
    """What was noticed while decoding."""

    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def refuse(self, path: str, message: str) -> None:
        """Note something that must be corrected."""
        self.problems.append(Problem(path, message))

    def warn(self, path: str, message: str) -> None:
        """Note something that works and should be corrected."""
        self.warnings.append(Problem(path, message))


def spelt(key: str, *aliases: str) -> dict[str, Any]:
    """Return the metadata of a field whose key does not follow from its name, or has aliases."""
    return {"key": key, "aliases": aliases}


def decode(cls: type[T], value: Any, path: str, findings: Findings) -> T:
    """Return a dataclass filled from a mapping; what is absent or null keeps its default."""
    assert is_dataclass(cls)
    if not isinstance(value, dict):
        findings.refuse(path or "the file", "must be a mapping")
        return cls()
    known = {_key(item): item for item in fields(cls)}
    hints = get_type_hints(cls)
    given: dict[str, Any] = {}
    for key, inner in _renamed(value, known.values(), path, findings).items():
        place = f"{path}.{key}" if path else str(key)
        if key not in known:
            findings.refuse(place, _unknown(str(key), known))
        elif not isinstance(inner, NoneType):
            item = known[key]
            given[item.name] = _convert(hints[item.name], inner, place, findings)
    return cls(**{name: inner for name, inner in given.items() if inner is not MISSING})


def _convert(kind: Any, value: Any, path: str, findings: Findings) -> Any:
    """Return a value of a type, or MISSING when it is of another."""
    if is_dataclass(kind):
        return decode(kind, value, path, findings)  # type: ignore[arg-type]
    if kind is timedelta:
        return _duration(value, path, findings)
    if get_origin(kind) is tuple:
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        findings.refuse(path, "must be a list of texts")
        return MISSING
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is kind:
        return value
    findings.refuse(path, f"must be {_NOUNS[kind]}")
    return MISSING


def _duration(value: Any, path: str, findings: Findings) -> Any:
    try:
        return parse_duration(value if isinstance(value, str) else repr(value))
    except ValueError as error:
        findings.refuse(path, f"must be a duration: {error}")
        return MISSING


def _renamed(
    value: dict[str, Any], known: Iterable[Field[Any]], path: str, findings: Findings
) -> dict[str, Any]:
    """Return a mapping with the right names of keys; where both are there, the right one wins."""
    right = {alias: _key(item) for item in known for alias in item.metadata.get("aliases", ())}
    result = {key: inner for key, inner in value.items() if key not in right}
    for alias, key in right.items():
        if alias not in value:
            continue
        findings.warn(f"{path}.{alias}" if path else alias, f"is read as {key!r}; please rename it")
        old, new = value[alias], result.get(key)
        result[key] = {**old, **new} if isinstance(old, dict) and isinstance(new, dict) else old
    return result


def _unknown(key: str, known: Iterable[str]) -> str:
    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(key.lower(), by_lower, n=1)
    if close:
        return f"unknown key; did you mean {by_lower[close[0]]!r}?"
    return f"unknown key; there are {', '.join(sorted(by_lower.values()))}"


def _key(item: Field[Any]) -> str:
    if item.metadata.get("key"):
        return str(item.metadata["key"])
    first, *rest = item.name.split("_")
    return first + "".join(word.capitalize() for word in rest)
