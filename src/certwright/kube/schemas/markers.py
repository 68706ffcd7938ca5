"""What Python types cannot say about a field, as annotations for CRD schemas.

Bounds, patterns and descriptions are msgspec's own ``Meta``. The markers add what only
Kubernetes knows, and combine with it freely::

    ports: Annotated[list[Port], list_map("name"), Meta(max_length=16)]
    hosts: Annotated[list[str], list_set()]
    limits: QuantityValue = "500m"
    raw: Annotated[dict[str, Any], embedded_resource()]
    max: Annotated[int, rule("self >= oldSelf", message="max may only grow")]

Rules about several fields belong to the type: `marked` attaches them to a Struct.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from msgspec import Meta, Struct

from certwright.kube.quantities import PATTERN

ATOMIC = "x-kubernetes-atomic"
"""Becomes the list type or the map type, whichever the field has."""

IntOrString: TypeAlias = int | str
"""A number or a text, such as a port or a percentage. ``int | str`` means the same."""

QuantityValue: TypeAlias = int | Annotated[str, Meta(pattern=PATTERN)]
"""A quantity as it stands in an object; ``Quantity.parse`` reads it."""

DurationText: TypeAlias = Annotated[
    str, Meta(pattern=r"^[+-]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$")
]
"""A Go duration as it stands in an object; ``parse_duration`` reads it."""

RuleReason: TypeAlias = Literal[
    "FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"
]

_ATTRIBUTE = "__kube_markers__"

S = TypeVar("S", bound=Struct)


def list_map(*keys: str) -> Meta:
    """Let managers own single items of a list of objects, identified by *keys* (API names)."""
    return _marker({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)})


def list_set() -> Meta:
    """Let managers own single items of a list of scalars; items do not repeat."""
    return _marker({"x-kubernetes-list-type": "set"})


def atomic() -> Meta:
    """Give a list, map or object one owner as a whole."""
    return _marker({ATOMIC: True})


def preserve_unknown() -> Meta:
    """Keep fields the schema does not mention, instead of pruning them."""
    return _marker({"x-kubernetes-preserve-unknown-fields": True})


def embedded_resource() -> Meta:
    """Declare that a map is a whole object with apiVersion, kind and metadata."""
    return _marker(
        {"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    )


def rule(
    expression: str,
    *,
    message: str = "",
    message_expression: str = "",
    reason: RuleReason | None = None,
    field_path: str = "",
    optional_old_self: bool = False,
) -> Meta:
    """Have the server check a CEL expression about ``self`` (and ``oldSelf``).

    *message* is what a user reads when the expression is false; *message_expression* is
    CEL that computes it. *field_path* (``.spec.a``) names the field at fault.
    """
    written = {
        "rule": expression,
        "message": message,
        "messageExpression": message_expression,
        "reason": reason,
        "fieldPath": field_path,
        "optionalOldSelf": optional_old_self,
    }
    validation = {name: value for name, value in written.items() if value}
    return _marker({"x-kubernetes-validations": [validation]})


def marked(*markers: Meta) -> Callable[[type[S]], type[S]]:
    """Attach markers to a type, wherever it is used::

        @marked(rule("self.min <= self.max", message="min must not exceed max"))
        class Range(Struct): ...

    Subclasses keep the markers of their base.
    """

    def decorate(cls: type[S]) -> type[S]:
        setattr(cls, _ATTRIBUTE, (*markers_of(cls), *markers))
        return cls

    return decorate


def markers_of(cls: type) -> tuple[Meta, ...]:
    """Return the markers attached to a type."""
    found: tuple[Meta, ...] = getattr(cls, _ATTRIBUTE, ())
    return found


def _marker(schema: dict[str, Any]) -> Meta:
    return Meta(extra_json_schema=schema)
