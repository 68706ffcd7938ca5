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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from msgspec import Struct

from certwright.kube.requirements import Requirement, SelectorOperator, parse_requirements

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
        """Read a selector as ``kubectl -l`` takes it; empty text selects everything.

        Raises:
            ValueError: the text is not a selector; the message says what and where.
        """
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
        """Say whether an object with these labels is selected."""
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
        """Read a selector as ``kubectl --field-selector`` takes it.

        Raises:
            ValueError: the text is not a selector; the message names the part.
        """
        # A term ends at a comma that no backslash precedes; the empty ones are skipped.
        terms = re.findall(r"(?:\\.|[^,\\]|\\$)+", text, re.DOTALL)
        return cls(tuple(_parse_term(term) for term in terms))

    def matches(self, fields: Mapping[str, str] | Callable[[str], str]) -> bool:
        """Say whether an object is selected; *fields* maps paths to values, "" if unset."""
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
