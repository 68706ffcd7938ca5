"""The shape of a kind, as the embedded server sees it.

One `Schema` tree serves validation, defaulting, pruning, field ownership, strategic merge
and OpenAPI. Built-in kinds are declared in `builtins`; CustomResourceDefinitions are
parsed into the same trees by `crds`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final


class ListType(StrEnum):
    """How server-side apply merges a list."""

    ATOMIC = "atomic"
    SET = "set"
    MAP = "map"


class _Unset:
    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = _Unset()
"""No default; distinct from a default of null."""

KEYWORDS: Final = {
    "format": "format",
    "nullable": "nullable",
    "minimum": "minimum",
    "maximum": "maximum",
    "exclusiveMinimum": "exclusive_minimum",
    "exclusiveMaximum": "exclusive_maximum",
    "multipleOf": "multiple_of",
    "minLength": "min_length",
    "maxLength": "max_length",
    "pattern": "pattern",
    "minItems": "min_items",
    "maxItems": "max_items",
    "minProperties": "min_properties",
    "maxProperties": "max_properties",
}
"""Keywords of OpenAPI whose values a `Schema` holds as they are, and its attributes."""

CONTAINERS: Final = (dict, list)
"""The types of values that have values inside. A tuple is checked faster than a union."""


@dataclass(slots=True)
class ValidationRule:
    """A CEL validation rule (``x-kubernetes-validations``)."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str = "FieldValueInvalid"
    field_path: str = ""
    optional_old_self: bool = False


@dataclass(slots=True)
class Schema:
    """A node: one value and what is allowed in it. An empty node allows anything.

    ``type`` is object, array, string, integer, number, boolean, or empty for any value.
    Maps are objects with ``additional``; lists have ``items``.
    """

    type: str = ""
    name: str = ""
    """The definition this node was declared as, such as io.k8s.api.core.v1.Pod; built-ins only."""
    description: str = ""
    format: str = ""
    properties: "dict[str, Schema]" = field(default_factory=dict)
    required: tuple[str, ...] = ()
    additional: "Schema | None" = None
    items: "Schema | None" = None
    default: Any = UNSET
    enum: tuple[Any, ...] = ()
    nullable: bool = False
    optional: bool = False
    """Built-ins: a Go pointer, so that a zero value is kept where it would else be left out."""
    int_or_string: bool = False
    preserve_unknown: bool = False
    embedded_resource: bool = False

    list_type: ListType = ListType.ATOMIC
    list_keys: tuple[str, ...] = ()
    atomic_map: bool = False
    """``x-kubernetes-map-type: atomic``: one owner for the whole object."""

    patch_merge_key: str = ""
    """Strategic merge: the key of a merged list; lists without one are replaced."""
    patch_merge: bool = False
    """Strategic merge: a list of scalars is merged as a set."""
    patch_replace: bool = False
    """Strategic merge: a map that is replaced, not merged."""
    patch_retain_keys: bool = False
    """Strategic merge: a union, of which ``$retainKeys`` keeps the named members."""

    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiple_of: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str = ""
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False
    min_properties: int | None = None
    max_properties: int | None = None
    all_of: "tuple[Schema, ...]" = ()
    any_of: "tuple[Schema, ...]" = ()
    one_of: "tuple[Schema, ...]" = ()
    not_: "Schema | None" = None
    rules: tuple[ValidationRule, ...] = ()

    _defaulted: "tuple[tuple[str, Schema], ...] | None" = field(
        default=None, init=False, repr=False, compare=False
    )

    _defaults_below: bool | None = field(default=None, init=False, repr=False, compare=False)

    def has_defaults_below(self) -> bool:
        """Return whether anything inside has a default. Call it on finished trees only."""
        if self._defaults_below is None:
            seen, ahead = {id(self)}, [*self._children()]
            while ahead and ahead[-1].default is UNSET:
                node = ahead.pop()
                if id(node) not in seen:  # schemas may contain themselves
                    seen.add(id(node))
                    ahead += node._children()  # noqa: SLF001 - of the same class
            self._defaults_below = bool(ahead)
        return self._defaults_below

    def _children(self) -> "Iterator[Schema]":
        yield from self.properties.values()
        yield from (node for node in (self.additional, self.items) if node is not None)

    def defaulted(self) -> "tuple[tuple[str, Schema], ...]":
        """Return the properties that have defaults. Call it on finished trees only."""
        if self._defaulted is None:
            self._defaulted = tuple(
                (name, node) for name, node in self.properties.items() if node.default is not UNSET
            )
        return self._defaulted
