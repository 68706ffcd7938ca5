"""The rules that Envoy's messages carry about their fields, as checks.

They are options of protoc-gen-validate, which Envoy was compiled with. A check gets a value and
returns what is wrong with it; nothing if it is fine. Rules that no message of Envoy uses, such as
``email`` and ``uri``, are left to Envoy.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

ValueCheck: TypeAlias = Callable[[Any], str]
"""Returns what a value must be and is not; empty if it is."""

_HEADER_NAME, _HEADER_VALUE = 1, 2
_WELL_KNOWN: Final = {
    (_HEADER_NAME, True): re.compile(r"^:?[0-9a-zA-Z!#$%&'*+\-.^_|~`]+\Z"),
    (_HEADER_VALUE, True): re.compile(r"^[^\x00-\x08\x0a-\x1f\x7f]*\Z"),
    (_HEADER_NAME, False): re.compile(r"^[^\x00\x0a\x0d]*\Z"),
    (_HEADER_VALUE, False): re.compile(r"^[^\x00\x0a\x0d]*\Z"),
}
_NUMBERS: Final = frozenset({
    "float", "double", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32",
    "fixed64", "sfixed32", "sfixed64", "duration", "timestamp",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class FieldRules:
    """What one field must be."""

    required: bool = False
    """A message that must be there."""
    skip: bool = False
    """A message whose own rules do not count here."""
    ignore_empty: bool = False
    """Whether the value that stands for "not set" is fine."""
    value: tuple[ValueCheck, ...] = ()
    """Of the value; of a list or map, of the whole."""
    items: "FieldRules | None" = None
    keys: "FieldRules | None" = None

    def problems(self, value: Any) -> Iterator[str]:
        """Yield what is wrong with a value, or with a whole list or map."""
        if self.ignore_empty and not value:
            return
        for check in self.value:
            if problem := check(value):
                yield problem


@dataclass(slots=True)
class _Rules:
    """Rules of one kind, read by name where they are given."""

    rules: Any
    names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.names = frozenset(one.name for one, _ in self.rules.ListFields())

    def get(self, name: str) -> Any:
        return getattr(self.rules, name)


def read_rules(rules: Any) -> FieldRules:
    """Return the rules in a ``validate.FieldRules``."""
    required = skip = False
    if rules.HasField("message"):
        required, skip = rules.message.required, rules.message.skip
    kind = rules.WhichOneof("type")
    if kind is None:
        return FieldRules(required=required, skip=skip)
    given = _Rules(getattr(rules, kind))
    if kind in {"duration", "timestamp", "any"} and given.get("required"):
        required = True
    ignore = "ignore_empty" in given.names and bool(given.get("ignore_empty"))
    items = keys = None
    if kind == "repeated" and "items" in given.names:
        items = read_rules(given.get("items"))
    if kind == "map":
        items = read_rules(given.get("values")) if "values" in given.names else None
        keys = read_rules(given.get("keys")) if "keys" in given.names else None
    checks = tuple(_KINDS[kind](given) if kind in _KINDS else ())
    if kind in _NUMBERS:
        checks = tuple(_numbers(kind, given))
    return FieldRules(required, skip, ignore, checks, items, keys)


def nanoseconds(value: Any) -> int:
    """Return a Duration or Timestamp as one number."""
    return int(value.seconds) * 1_000_000_000 + int(value.nanos)


def _unless(holds: Callable[[Any], bool], problem: str) -> ValueCheck:
    return lambda value: "" if holds(value) else problem


def _numbers(kind: str, given: _Rules) -> Iterator[ValueCheck]:
    is_time = kind in {"duration", "timestamp"}

    def number(value: Any) -> Any:
        return nanoseconds(value) if is_time else value

    def shown(value: Any) -> str:
        return f"{nanoseconds(value) / 1e9:g}s" if is_time else f"{value}"

    for name, (holds, words) in _COMPARISONS.items():
        if name in given.names:
            yield _bounded(holds, number, given.get(name), f"{words} {shown(given.get(name))}")
    yield from _membership(given, number, shown)


_COMPARISONS: Final[Mapping[str, tuple[Callable[[Any, Any], bool], str]]] = {
    # "not <" would accept a number that is none
    "const": (lambda value, limit: bool(value == limit), "must be"),
    "lt": (lambda value, limit: bool(value < limit), "must be less than"),
    "lte": (lambda value, limit: bool(value <= limit), "must be at most"),
    "gt": (lambda value, limit: bool(value > limit), "must be greater than"),
    "gte": (lambda value, limit: bool(value >= limit), "must be at least"),
}


def _bounded(
    holds: Callable[[Any, Any], bool], number: Callable[[Any], Any], limit: Any, words: str
) -> ValueCheck:
    bound = number(limit)
    return _unless(lambda value: holds(number(value), bound), words)


def _membership(
    given: _Rules, number: Callable[[Any], Any] = lambda value: value, shown: Any = str
) -> Iterator[ValueCheck]:
    if "in" in given.names:
        accepted = [number(one) for one in given.get("in")]
        words = f"must be one of {', '.join(map(shown, given.get('in')))}"
        yield _unless(lambda value: number(value) in accepted, words)
    if "not_in" in given.names:
        refused = [number(one) for one in given.get("not_in")]
        words = f"must not be {', '.join(map(shown, given.get('not_in')))}"
        yield _unless(lambda value: number(value) not in refused, words)


def _texts(given: _Rules) -> Iterator[ValueCheck]:
    yield from _lengths(given)
    for name, (holds, words) in _PARTS.items():
        if name in given.names:
            other = given.get(name)
            yield _bounded(holds, lambda value: value, other, f"{words} {other!r}")
    yield from _membership(given)
    if "pattern" in given.names:
        yield from _pattern(given.get("pattern"))
    if "well_known_regex" in given.names:
        regex = given.get("well_known_regex")
        known = _WELL_KNOWN.get((regex, bool(given.get("strict"))))
        part = "name" if regex == _HEADER_NAME else "value"
        if known is not None:
            yield _unless(
                lambda value: known.match(value) is not None,
                f"must be a valid {part} of an HTTP header",
            )


_PARTS: Final[Mapping[str, tuple[Callable[[Any, Any], bool], str]]] = {
    "const": (lambda value, other: bool(value == other), "must be"),
    "prefix": (lambda value, other: bool(value.startswith(other)), "must begin with"),
    "suffix": (lambda value, other: bool(value.endswith(other)), "must end with"),
    "contains": (lambda value, other: other in value, "must contain"),
    "not_contains": (lambda value, other: other not in value, "must not contain"),
}


def _pattern(text: str | bytes) -> Iterator[ValueCheck]:
    """Yield a check by a regular expression, unless it has a meaning in RE2 only."""
    try:
        compiled: Any = re.compile(text, re.ASCII) if isinstance(text, str) else re.compile(text)
    except re.error:
        return
    yield _unless(lambda value: compiled.fullmatch(value) is not None, f"must match {text!r}")


def _lengths(given: _Rules) -> Iterator[ValueCheck]:
    """Yield checks of the length: of texts in characters and bytes, of bytes in bytes."""
    for name in ("len", "min_len", "max_len", "len_bytes", "min_bytes", "max_bytes"):
        if name not in given.names:
            continue
        in_bytes, limit = name.endswith("bytes"), given.get(name)
        unit = " bytes" if in_bytes else ""
        if not name.startswith("max"):
            words = f"must not be shorter than {limit}{unit}"
            yield _long(in_bytes, limit, None, "must not be empty" if limit == 1 else words)
        if not name.startswith("min"):
            yield _long(in_bytes, None, limit, f"must not be longer than {limit}{unit}")


def _long(in_bytes: bool, lower: int | None, upper: int | None, words: str) -> ValueCheck:  # noqa: FBT001 - which of two
    def holds(value: Any) -> bool:
        size = len(value.encode() if in_bytes and isinstance(value, str) else value)
        return (lower is None or size >= lower) and (upper is None or size <= upper)

    return _unless(holds, words)


def _booleans(given: _Rules) -> Iterator[ValueCheck]:
    if "const" in given.names:
        wanted = given.get("const")
        yield _unless(lambda value: bool(value == wanted), f"must be {str(wanted).lower()}")


def _counts(given: _Rules) -> Iterator[ValueCheck]:
    for name in ("min_items", "max_items", "min_pairs", "max_pairs"):
        if name not in given.names:
            continue
        limit = given.get(name)
        noun = "entry" if limit == 1 else "entries"
        if name.startswith("min"):
            yield _long(False, limit, None, f"must have at least {limit} {noun}")
        else:
            yield _long(False, None, limit, f"must have at most {limit} {noun}")
    if "unique" in given.names and given.get("unique"):
        yield _unless(
            lambda value: len({*map(str, value)}) == len(value), "must not have an entry twice"
        )


_KINDS: Final[Mapping[str, Callable[[_Rules], Iterator[ValueCheck]]]] = {
    "string": _texts,
    "bytes": _texts,
    "bool": _booleans,
    "enum": _membership,
    "repeated": _counts,
    "map": _counts,
}
