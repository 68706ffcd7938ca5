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
    _merged_lists: bool | None = field(default=None, init=False, repr=False, compare=False)

    def has_defaults_below(self) -> bool:
        """Return whether anything inside has a default. Call it on finished trees only."""
        if self._defaults_below is None:
            self._defaults_below = any(node.default is not UNSET for node in self._below())
        return self._defaults_below

    def has_merged_lists(self) -> bool:
        """Return whether this is, or anything inside, a list whose items have identities."""
        if self._merged_lists is None:
            nodes = (self, *self._below())
            self._merged_lists = any(node.list_type is not ListType.ATOMIC for node in nodes)
        return self._merged_lists

    def _below(self) -> "Iterator[Schema]":
        """Yield each schema inside once; they may contain themselves."""
        seen: set[int] = set()
        ahead: list[Schema] = [self]
        while ahead:
            node = ahead.pop()
            others = (child for child in (node.additional, node.items) if child is not None)
            for child in (*node.properties.values(), *others):
                if id(child) not in seen:
                    seen.add(id(child))
                    ahead.append(child)
                    yield child

    def defaulted(self) -> "tuple[tuple[str, Schema], ...]":
        """Return the properties that have defaults. Call it on finished trees only."""
        if self._defaulted is None:
            self._defaulted = tuple(
                (name, node) for name, node in self.properties.items() if node.default is not UNSET
            )
        return self._defaulted
