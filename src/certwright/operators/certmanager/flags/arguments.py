"""Arguments of a container, ``--name=value``: read and written."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument."""

    text: str
    """As it is written."""
    name: str = ""
    """The flag without dashes; empty if the argument is none."""
    value: str = ""

    @classmethod
    def parse(cls, text: str) -> "Argument":
        """Read an argument."""
        if not text.startswith("-"):
            return cls(text)
        name, equals, value = text.lstrip("-").partition("=")
        return cls(text, name, value if equals else "true")

    @classmethod
    def of(cls, name: str, value: str) -> "Argument":
        """Return the argument that sets a flag."""
        return cls(f"--{name}={value}", name, value)


def parse_all(args: Iterable[str]) -> Iterator[Argument]:
    """Read the arguments of a container."""
    return map(Argument.parse, args)


def by_name(arguments: Iterable[Argument]) -> dict[str, tuple[str, ...]]:
    """Return the values of each flag, in the order of the arguments."""
    found: dict[str, tuple[str, ...]] = {}
    for argument in arguments:
        if argument.name:
            found[argument.name] = (*found.get(argument.name, ()), argument.value)
    return found
