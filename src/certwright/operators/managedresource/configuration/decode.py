"""From a document to `Configuration`, with every problem and its path.

msgspec decodes and checks the types. It stops at the first problem, so the value that it names is
noted and taken out, and the rest is decoded again: a file is corrected in one go.
"""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import msgspec

from certwright.kube import JsonObject
from certwright.kube.durations import parse_duration
from certwright.operators.managedresource.configuration.settings import Configuration, Duration

_NOUNS: Final[Mapping[str, str]] = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "array": "a list of texts",
    "object": "a mapping",
}
_WRONG_TYPE: Final = re.compile(r"Expected `(\w+)`, got `\w+`")
_UNKNOWN_KEY: Final = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ConfigurationProblem:
    """Something to correct, and its path in the file."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class ConfigurationError(ValueError):
    """A configuration that cannot be used; lists every problem, one per line."""

    def __init__(self, problems: Iterable[ConfigurationProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


def decode(content: JsonObject) -> tuple[Configuration, list[ConfigurationProblem]]:
    """Return what can be decoded, and a problem for each value that cannot.

    A value that is absent or null keeps its default.
    """
    problems: list[ConfigurationProblem] = []
    content = _without_null(content)
    while True:
        try:
            return msgspec.convert(content, Configuration, dec_hook=_duration), problems
        except msgspec.ValidationError as error:
            names, message = _located(str(error))
            problems.append(ConfigurationProblem(".".join(names), message))
            if value_at(content, names) is None:  # a key that looked like a path
                return Configuration(), problems
            content = without(content, names)


def value_at(content: Any, names: Sequence[str]) -> Any:
    """Return the value at a path, or None."""
    for name in names:
        content = content.get(name) if isinstance(content, dict) else None
    return content


def without(content: JsonObject, names: Sequence[str]) -> JsonObject:
    """Return a document without the value at a path."""
    first, *rest = names
    if rest:
        return {**content, first: without(content[first], rest)}
    return {name: value for name, value in content.items() if name != first}


def _located(text: str) -> tuple[list[str], str]:
    """Return the path in msgspec's message, and the problem in our words."""
    what, _, path = text.rpartition(" - at `$")
    # an item of a list is a problem of the list
    names = [name for name in path.rstrip("`").partition("[")[0].split(".") if name]
    if not what or not _leads_somewhere(names):  # no path, but perhaps a key that looks like one
        what, path, names = text, "", []
    if unknown := _UNKNOWN_KEY.fullmatch(what):
        return [*names, unknown[1]], _unknown_key(unknown[1], _fields(names))
    if wrong := _WRONG_TYPE.fullmatch(what):
        return names, f"must be {'a list of texts' if '[' in path else _NOUNS[wrong[1]]}"
    return names, what


def _unknown_key(key: str, known: Iterable[str]) -> str:
    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(key.lower(), by_lower, n=1)
    if close:
        return f"unknown key; did you mean {by_lower[close[0]]!r}?"
    return f"unknown key; there are {', '.join(sorted(by_lower.values()))}"


def _leads_somewhere(names: list[str]) -> bool:
    return not names or names[-1] in _fields(names[:-1])


def _fields(names: Iterable[str]) -> dict[str, Any]:
    """Return the keys of the block at a path, with their types; none if it is not a block."""
    block: Any = Configuration
    for name in names:
        block = _fields_of(block).get(name)
    return _fields_of(block)


def _fields_of(block: Any) -> dict[str, Any]:
    if not msgspec.inspect.is_struct_type(block):
        return {}
    return {field.encode_name: field.type for field in msgspec.structs.fields(block)}


def _duration(_: type, value: Any) -> timedelta:
    """Decode the one type that msgspec does not know, `Duration`."""
    try:
        duration = parse_duration(value if isinstance(value, str) else repr(value))
    except ValueError as error:
        raise ValueError(f"must be a duration: {error}") from error
    return Duration(duration.days, duration.seconds, duration.microseconds)


def _without_null(content: Any) -> Any:
    if not isinstance(content, dict):
        return content
    return {key: _without_null(value) for key, value in content.items() if value is not None}
