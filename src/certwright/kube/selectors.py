"""Label and field selectors: parse, match, print.

Both follow the grammar of ``kubectl -l`` and ``--field-selector``. Selectors are values:
they compare and hash by what they require, print in one canonical form whatever way they
were typed, and parsing that form gives the same selector back.

::

    LabelSelector.parse("app in (web, api),tier!=test,!legacy,weight>3")
    LabelSelector.from_spec({"matchLabels": {"app": "web"}})     # as in Deployments
    FieldSelector.parse("metadata.name=web,status.phase!=Running")

An empty selector selects everything. An absent one (``from_spec(None)``) selects nothing;
it prints as a contradiction, so that not even a server can mistake it for everything.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NoReturn

import msgspec
from msgspec import Struct

from certwright.kube.names import label_value_problems, qualified_name_problems

_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")
_INT64 = range(-(1 << 63), 1 << 63)


class SelectorOperator(StrEnum):
    """How a label's value relates to the values of a requirement."""

    EQUALS = "="
    NOT_EQUALS = "!="
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER_THAN = ">"
    LESS_THAN = "<"


_SETS = {SelectorOperator.IN, SelectorOperator.NOT_IN}
_COMPARISONS = {SelectorOperator.GREATER_THAN, SelectorOperator.LESS_THAN}


@dataclass(frozen=True, slots=True, order=True)
class Requirement:
    """One condition on one label. Values are kept sorted and without repetition."""

    key: str
    operator: SelectorOperator
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(sorted(set(self.values))))
        _complain(f"label key {self.key!r}", qualified_name_problems(self.key))
        for value in self.values:
            _complain(f"value {value!r} of label {self.key}", label_value_problems(value))
        self._check_values()

    def _check_values(self) -> None:
        count = len(self.values)
        if self.operator in {SelectorOperator.EXISTS, SelectorOperator.DOES_NOT_EXIST}:
            if count:
                raise ValueError(f"label {self.key}: exists and does-not-exist take no values")
        elif self.operator in _SETS:
            if not count:
                raise ValueError(f"label {self.key}: {self.operator} needs at least one value")
        elif count != 1:
            raise ValueError(f"label {self.key}: {self.operator} needs exactly one value")
        elif self.operator in _COMPARISONS and _integer(self.values[0]) is None:
            raise ValueError(
                f"label {self.key}: {self.operator} compares integers, not {self.values[0]!r}"
            )

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether *labels* meet the condition. Negations hold where the label is absent."""
        value = labels.get(self.key)
        match self.operator:
            case SelectorOperator.EQUALS | SelectorOperator.IN:
                return value in self.values
            case SelectorOperator.NOT_EQUALS | SelectorOperator.NOT_IN:
                return value not in self.values
            case SelectorOperator.EXISTS:
                return value is not None
            case SelectorOperator.DOES_NOT_EXIST:
                return value is None
            case SelectorOperator.GREATER_THAN | SelectorOperator.LESS_THAN:
                return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        actual, bound = _integer(value or ""), _integer(self.values[0])
        if actual is None or bound is None:
            return False
        return actual > bound if self.operator is SelectorOperator.GREATER_THAN else actual < bound

    def __str__(self) -> str:
        match self.operator:
            case SelectorOperator.EXISTS:
                return self.key
            case SelectorOperator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case SelectorOperator.IN | SelectorOperator.NOT_IN:
                return f"{self.key} {self.operator} ({','.join(self.values)})"
            case _:
                return f"{self.key}{self.operator}{self.values[0]}"


def parse_requirements(text: str) -> Iterator[Requirement]:
    """Read requirements as ``kubectl -l`` takes them; `ValueError`, with where, if malformed."""
    yield from _Parser(text).requirements()


_TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+)")
_SYMBOLS = {"=", "==", "!=", "!", "(", ")", ",", "<", ">", ""}
_TEXT_OPERATORS = {
    "=": SelectorOperator.EQUALS,
    "==": SelectorOperator.EQUALS,
    "!=": SelectorOperator.NOT_EQUALS,
    "in": SelectorOperator.IN,
    "notin": SelectorOperator.NOT_IN,
    ">": SelectorOperator.GREATER_THAN,
    "<": SelectorOperator.LESS_THAN,
}


class _Parser:
    """Recursive descent over the tokens of a label selector; the empty token is the end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str] = [*_TOKEN.findall(text), ""]
        self.position = 0

    def requirements(self) -> Iterator[Requirement]:
        while self.peek():
            yield self.requirement()
            if not self.peek():
                return
            self.expect(",")
            if not self.peek():
                self.fail("a requirement after ','")

    def requirement(self) -> Requirement:
        if self.accept("!"):
            return Requirement(self.word("a label key"), SelectorOperator.DOES_NOT_EXIST)
        key = self.word("a label key")
        if self.peek() in {"", ","}:
            return Requirement(key, SelectorOperator.EXISTS)
        operator = _TEXT_OPERATORS.get(self.peek())
        if operator is None:
            self.fail("an operator (=, ==, !=, in, notin, <, >)")
        self.position += 1
        if operator in _SETS:
            return Requirement(key, operator, tuple(self.values()))
        value = "" if self.peek() in {"", ","} else self.word("a value")
        return Requirement(key, operator, (value,))

    def values(self) -> Iterator[str]:
        """Yield the values between parentheses; a missing one is the empty string."""
        self.expect("(")
        while True:
            yield "" if self.peek() in {",", ")"} else self.word("a value")
            if self.accept(")"):
                return
            self.expect(",")

    def peek(self) -> str:
        return self.tokens[self.position]

    def accept(self, token: str) -> bool:
        if self.peek() != token:
            return False
        self.position += 1
        return True

    def expect(self, token: str) -> None:
        if not self.accept(token):
            self.fail(f"{token!r}")

    def word(self, meaning: str) -> str:
        token = self.peek()
        if token in _SYMBOLS:
            self.fail(meaning)
        self.position += 1
        return token

    def fail(self, expected: str) -> NoReturn:
        found = repr(self.peek()) if self.peek() else "the end"
        raise ValueError(f"label selector {self.text!r}: expected {expected}, found {found}")


def _integer(text: str) -> int | None:
    if not _INTEGER.fullmatch(text) or int(text) not in _INT64:
        return None
    return int(text)


def _complain(subject: str, problems: list[str]) -> None:
    if problems:
        raise ValueError(f"{subject}: {'; '.join(problems)}")


_SPEC_OPERATORS = {
    "In": SelectorOperator.IN,
    "NotIn": SelectorOperator.NOT_IN,
    "Exists": SelectorOperator.EXISTS,
    "DoesNotExist": SelectorOperator.DOES_NOT_EXIST,
}


class _Expression(Struct):
    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: tuple[str, ...] = ()


class _Spec(Struct, rename="camel"):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[_Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """Requirements that labels must meet, all of them. Without any, everything matches."""

    requirements: tuple[Requirement, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "requirements", tuple(sorted(set(self.requirements))))

    @classmethod
    def parse(cls, text: str) -> "LabelSelector":
        """Read what ``kubectl -l`` takes, empty for everything; `ValueError` if malformed."""
        return cls(tuple(parse_requirements(text)))

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> "LabelSelector":
        """Select what carries all of *labels*."""
        return cls(
            tuple(
                Requirement(key, SelectorOperator.EQUALS, (value,)) for key, value in labels.items()
            )
        )

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any] | None) -> "LabelSelector":
        """Read ``matchLabels`` and ``matchExpressions``; None selects nothing, {} everything.

        Raises:
            ValueError: a key, operator or value is not allowed.
        """
        if spec is None:
            return NOTHING
        try:
            parsed = msgspec.convert(spec, _Spec)
        except msgspec.ValidationError as error:
            raise ValueError(f"label selector {spec!r}: {error}") from error
        expressions = tuple(
            Requirement(expression.key, _SPEC_OPERATORS[expression.operator], expression.values)
            for expression in parsed.match_expressions
        )
        return cls(cls.from_labels(parsed.match_labels).requirements + expressions)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether an object with these labels is selected."""
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


NOTHING = LabelSelector(
    (
        Requirement("nothing", SelectorOperator.EXISTS),
        Requirement("nothing", SelectorOperator.DOES_NOT_EXIST),
    )
)
"""Selects no object, on any server."""


@dataclass(frozen=True, slots=True, order=True)
class FieldRequirement:
    """One condition on one field, named by its path: equal or not equal."""

    field: str
    value: str
    equal: bool = True

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[^=!,\\]+", self.field):
            raise ValueError(f"{self.field!r} is not the path of a field")

    def __str__(self) -> str:
        value = re.sub(r"([\\,=])", r"\\\1", self.value)
        return f"{self.field}{'=' if self.equal else '!='}{value}"


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """Conditions that fields must meet, all of them. Without any, everything matches.

    In values, backslash, comma and ``=`` are escaped with a backslash. Which fields can be
    selected by depends on the kind and is the server's business.
    """

    requirements: tuple[FieldRequirement, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "requirements", tuple(sorted(set(self.requirements))))

    @classmethod
    def parse(cls, text: str) -> "FieldSelector":
        """Read what ``kubectl --field-selector`` takes; `ValueError` if malformed."""
        # A term ends at a comma that no backslash precedes; the empty ones are skipped.
        terms = re.findall(r"(?:\\.|[^,\\]|\\$)+", text, re.DOTALL)
        return cls(tuple(_parse_term(term) for term in terms))

    def matches(self, fields: Mapping[str, str] | Callable[[str], str]) -> bool:
        """Return whether an object is selected; *fields* maps paths to values, "" if unset."""
        if isinstance(fields, Mapping):
            known = fields
            return all(
                (known.get(wanted.field, "") == wanted.value) is wanted.equal
                for wanted in self.requirements
            )
        return all(
            (fields(wanted.field) == wanted.value) is wanted.equal for wanted in self.requirements
        )

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def _parse_term(term: str) -> FieldRequirement:
    match = re.fullmatch(r"(.*?)(!=|==|=)(.*)", term, re.DOTALL)
    if match is None:
        raise ValueError(f"field selector: {term!r} has no operator; use =, == or !=")
    field, operator, value = match.groups()
    if not re.fullmatch(r"(?:\\[\\,=]|[^\\,=])*", value):
        raise ValueError(
            f"field selector: in {term!r}, write '\\\\', '\\,' and '\\=' for backslash, comma and ="
        )
    return FieldRequirement(field, re.sub(r"\\(.)", r"\1", value), equal=operator != "!=")
