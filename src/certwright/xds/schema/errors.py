"""What is wrong with a schema, or with what it describes.

::

    SchemaUnusable        there is no schema, or it cannot be used; the message says what to do
    ResourceRefused       a resource is not as the schema asks; its `problems` name the fields
"""

from collections.abc import Sequence
from dataclasses import dataclass


class SchemaUnusable(Exception):
    """There is no schema of Envoy's messages, or the one given cannot be used."""


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """What is wrong with one field. Never shows its value, which may be a key."""

    path: str
    """As Envoy's documentation names fields: ``filter_chains[0].filters[1].name``."""
    problem: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}" if self.path else self.problem

    def below(self, place: str) -> "FieldProblem":
        """Return the problem as seen from an object that holds this one at *place*."""
        return FieldProblem(join(place, self.path), self.problem)


class ResourceRefused(Exception):
    """A resource does not fit the schema."""

    def __init__(self, problems: Sequence[FieldProblem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = tuple(problems)


def join(place: str, path: str) -> str:
    """Return the path of a field below a place."""
    if not place or not path:
        return place or path
    return place + path if path.startswith("[") else f"{place}.{path}"
