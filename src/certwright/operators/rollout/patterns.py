r"""Regular expressions over names, matched in linear time.

Users write them into annotations, and Python's own matcher can be made to run for hours by one of
them. Here an expression becomes a set of states that advance together, one character at a time:
the effort is at most its length times that of the name. Supported is what names need: literals,
``.``, classes, groups, ``|``, ``*``, ``+``, ``?``, ``{m,n}``, and the classes ``\d``, ``\w``,
``\s``. An expression matches the whole name.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeAlias

LONGEST: Final = 256
"""How many characters an expression may have."""
MOST_STATES: Final = 2048
MOST_REPEATS: Final = 64
_DEEPEST: Final = 16

_META: Final = frozenset(r".^$*+?{}[]\|()")
_WORD: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_DIGITS: Final = frozenset("0123456789")
_SPACE: Final = frozenset(" \t\n\r\f\v")
_CLASSES: Final = {"d": _DIGITS, "w": _WORD, "s": _SPACE}

Accepts: TypeAlias = Callable[[str], bool]


class PatternError(ValueError):
    """An expression that cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A regular expression that is matched against whole names."""

    text: str

    @classmethod
    def parse(cls, text: str) -> "NamePattern":
        """Return a pattern that can be used; `PatternError` if it cannot."""
        _program(text)
        return cls(text)

    @property
    def is_literal(self) -> bool:
        """Whether it matches its own text and nothing else."""
        return not _META & set(self.text)

    def matches(self, name: str) -> bool:
        """Return whether the whole name matches."""
        return self.text == name if self.is_literal else _program(self.text).matches(name)


@dataclass(slots=True)
class _State:
    """One state: it accepts a character and goes on, or goes on without one."""

    accepts: Accepts | None = None
    onward: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Program:
    states: list[_State] = field(default_factory=list)
    end: int = 0

    def state(self, accepts: Accepts | None = None, *onward: int) -> int:
        """Add a state; `PatternError` if there are too many."""
        if len(self.states) >= MOST_STATES:
            raise PatternError("the regular expression is too large when its repeats are counted")
        self.states.append(_State(accepts, list(onward)))
        return len(self.states) - 1

    def matches(self, name: str) -> bool:
        """Advance all states together through a name."""
        present = self._reached([self.end_first()])
        for character in name:
            onward = [
                after
                for number in present
                if (accepts := self.states[number].accepts) is not None and accepts(character)
                for after in self.states[number].onward
            ]
            if not onward:
                return False
            present = self._reached(onward)
        return self.end in present

    def end_first(self) -> int:
        """Return the state that everything begins with: the last that was made."""
        return len(self.states) - 1

    def _reached(self, begin: Sequence[int]) -> set[int]:
        """Return the states that are reached without a character."""
        found: set[int] = set()
        rest = list(begin)
        while rest:
            number = rest.pop()
            if number not in found:
                found.add(number)
                if self.states[number].accepts is None:
                    rest += self.states[number].onward
        return found


# An expression as a tree; compiled from its end to its beginning


@dataclass(frozen=True, slots=True)
class _Character:
    accepts: Accepts


@dataclass(frozen=True, slots=True)
class _Sequence:
    parts: tuple["_Node", ...]


@dataclass(frozen=True, slots=True)
class _Choice:
    options: tuple["_Node", ...]


@dataclass(frozen=True, slots=True)
class _Repeat:
    part: "_Node"
    least: int
    most: int | None


_Node: TypeAlias = _Character | _Sequence | _Choice | _Repeat


@lru_cache(maxsize=256)
def _program(text: str) -> _Program:
    if len(text) > LONGEST:
        raise PatternError(f"a regular expression for names has at most {LONGEST} characters")
    program = _Program()
    program.end = program.state()
    first = _compile(program, _Parser(text).whole(), program.end)
    program.state(None, first)
    return program


def _compile(program: _Program, node: _Node, after: int) -> int:
    """Add the states of a node that lead to *after*; return the first."""
    match node:
        case _Character(accepts):
            return program.state(accepts, after)
        case _Sequence(parts):
            for part in reversed(parts):
                after = _compile(program, part, after)
            return after
        case _Choice(options):
            return program.state(None, *(_compile(program, option, after) for option in options))
        case _Repeat(part, least, most):
            if most is None:
                loop = program.state(None, after)
                program.states[loop].onward.append(_compile(program, part, loop))
                after = loop
            else:
                end = after
                for _ in range(most - least):
                    after = program.state(None, end, _compile(program, part, after))
            for _ in range(least):
                after = _compile(program, part, after)
            return after


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def whole(self) -> _Node:
        """Read the expression to its end."""
        self._skip("^")
        node = self._choice()
        if self._at < len(self._text):
            raise self._error("is not expected here")
        return node

    def _choice(self) -> _Node:
        options = [self._sequence()]
        while self._skip("|"):
            options.append(self._sequence())
        return _Choice(tuple(options)) if len(options) > 1 else options[0]

    def _sequence(self) -> _Node:
        parts: list[_Node] = []
        while (character := self._peek()) and character not in "|)":
            if character == "$" and self._text[self._at + 1 : self._at + 2] in {"", "|", ")"}:
                self._at += 1  # names are matched whole
                continue
            parts.append(self._repeated(self._atom()))
        return _Sequence(tuple(parts))

    def _repeated(self, atom: _Node) -> _Node:
        while (character := self._peek()) and character in "*+?{":
            self._at += 1
            match character:
                case "*":
                    atom = _Repeat(atom, 0, None)
                case "+":
                    atom = _Repeat(atom, 1, None)
                case "?":
                    atom = _Repeat(atom, 0, 1)
                case _:
                    atom = self._counted(atom)
            self._skip("?")  # a lazy repeat matches the same names
        return atom

    def _counted(self, atom: _Node) -> _Node:
        body, closed, _ = self._text[self._at :].partition("}")
        self._at += len(body) + 1
        least, comma, most = body.partition(",")
        try:
            low = int(least or "0")
            high = (int(most) if most else None) if comma else low
        except ValueError:
            closed = ""
            low = high = 0
        if (
            not closed
            or low > MOST_REPEATS
            or (high or 0) > MOST_REPEATS
            or (high is not None and high < low)
        ):
            raise PatternError(f"{{{body[:16]}}} is not a repeat of at most {MOST_REPEATS} times")
        return _Repeat(atom, low, high)

    def _atom(self) -> _Node:
        character = self._next()
        match character:
            case ".":
                return _Character(lambda given: given != "\n")
            case "[":
                return _Character(self._class())
            case "(":
                return self._group()
            case "\\":
                return _Character(self._escape())
            case "*" | "+" | "?" | "{" | "^" | "$" | ")":
                self._at -= 1
                raise self._error("is not expected here")
            case _:
                return _Character(character.__eq__)

    def _group(self) -> _Node:
        if self._skip("?") and not self._skip(":"):
            raise self._error("is a group of a kind that is not supported")
        self._depth += 1
        if self._depth > _DEEPEST:
            raise PatternError(f"groups may be nested {_DEEPEST} deep at most")
        node = self._choice()
        if not self._skip(")"):
            raise self._error("is where a group is not closed")
        self._depth -= 1
        return node

    def _escape(self) -> Accepts:
        character = self._next()
        if (members := _CLASSES.get(character)) is not None:
            return members.__contains__
        if (members := _CLASSES.get(character.lower())) is not None:
            return lambda given: given not in members
        if character.isalnum():
            raise PatternError(f"\\{character} is not supported in a regular expression for names")
        return character.__eq__

    def _class(self) -> Accepts:
        negated = self._skip("^")
        accepted: list[Accepts] = []
        while True:
            character = self._next()
            if character == "]" and accepted:
                break
            if character == "\\":
                accepted.append(self._escape())
                continue
            if self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in {"", "]"}:
                self._at += 1
                last = self._next()
                if last < character:
                    raise PatternError(f"the range {character}-{last} is empty")
                accepted.append(_between(character, last))
            else:
                accepted.append(character.__eq__)
        members = tuple(accepted)
        return lambda given: any(accepts(given) for accepts in members) is not negated

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        character = self._peek()
        if not character:
            raise PatternError(f"the regular expression {self._text[:64]!r} ends too early")
        self._at += 1
        return character

    def _skip(self, character: str) -> bool:
        found = self._peek() == character
        self._at += found
        return found

    def _error(self, why: str) -> PatternError:
        return PatternError(
            f"{self._peek() or 'the end'!r} {why}, at character {self._at + 1} of"
            f" {self._text[:64]!r}"
        )


def _between(first: str, last: str) -> Accepts:
    return lambda given: first <= given <= last
