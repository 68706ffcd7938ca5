"""What has no structural schema is refused with the field's name and the way out."""

from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional

import msgspec
import pytest
from msgspec import Meta, Struct, field

from certwright.kube import Object, Resource, SchemaError, atomic, list_map, list_set, rule
from certwright.kube.schemas.structural import structural_schema


class Node(Struct):
    name: str
    next: Optional["Node"] = None


class Tree(Struct):
    children: list["Tree"] = field(default_factory=list)


class A(Struct, tag=True):
    x: int


class B(Struct, tag=True):
    y: int


class Item(Struct):
    name: str | None = None
    weight: int = 1
    plain: str | None = None
    nested: dict[str, str] = field(default_factory=dict)


class Pair(Struct, array_like=True):
    x: int


class Widget(Object):
    resource = Resource("example.com", "v1", "Widget", "widgets")


@pytest.mark.parametrize(
    ("annotation", "problem"),
    [
        (Node, "spec.next: Node contains itself; use dict[str, Any] inside"),
        (Tree, "spec.children[]: Tree contains itself; use dict[str, Any] inside"),
        (A | B, "spec: Struct in one field is not structural; use one object with optional fields"),
        (str | list[str], "spec: List or Str in one field is not structural; use one object with optional fields"),
        (bool | str, "spec: Bool or Str in one field is not structural; use one object with optional fields"),
        (A, "spec: A is tagged or array-like; use plain fields"),
        (Pair, "spec: Pair is tagged or array-like; use plain fields"),
        (Widget, "spec: Widget is a whole object; use an embedded_resource() map"),
        (tuple[int, str], "spec: Tuple has no structural schema; use a Struct, list, map or scalar"),
        (timedelta, "spec: timedelta is not how the API writes durations; use DurationText"),
        (Decimal, "spec: Decimal is not how the API writes amounts; use QuantityValue"),
        (dict[int, str], "spec: keys of maps are plain strings in the API"),
        (dict[Literal["a"], str], "spec: keys of maps are plain strings in the API"),
        (Literal["a", 1], "spec: an enum has values of one type, texts or integers"),
        (complex, "spec: complex has no structural schema; use a Struct, list, map or scalar"),
        (Annotated[str, Meta(pattern="(?=a)b")], "spec: the pattern '(?=a)b' uses look-around or back-references, which RE2 lacks"),
        (Annotated[str, Meta(pattern=r"(a)\1")], r"spec: the pattern '(a)\\1' uses look-around or back-references, which RE2 lacks"),
        (Annotated[str, list_set()], "spec: list type set on something that is not a list"),
        (Annotated[str, atomic()], "spec: map type atomic on something that is not a map or object"),
        (Annotated[list[Item], list_set()], "spec: items of a set are scalars, or marked atomic"),
        (Annotated[list[Annotated[list[str], list_set()]], list_set()], "spec: items of a set are scalars, or marked atomic"),
        (set[str | None], "spec: items of a list of type set cannot be null"),
        (Annotated[list[str], list_map("name")], "spec: a list map has Structs as items and names their key fields"),
        (Annotated[list[Item], list_map()], "spec: a list map has Structs as items and names their key fields"),
        (Annotated[list[Item], list_map("id")], "spec: the list map key 'id' is not a field of the items"),
        (Annotated[list[Item], list_map("name")], "spec: the list map key 'name' is not a scalar, or may be null"),
        (Annotated[list[Item], list_map("nested")], "spec: the list map key 'nested' is not a scalar, or may be null"),
        (Annotated[str, rule(" ")], "spec: a rule is empty"),
        (Annotated[str, rule("a", message="b\nc")], "spec: the message of the rule 'a' has line breaks"),
        (Annotated[str, rule("a ||\nb")], "spec: the rule 'a ||\\nb' has line breaks, so it needs a message"),
        (Annotated[str, Meta(extra_json_schema={"$ref": "#/x"})], "spec: $ref is not allowed in a structural schema"),
        (Annotated[dict[str, str], Meta(extra_json_schema={"x-kubernetes-embedded-resource": True})], "spec: an embedded resource is a Struct or dict[str, Any]"),
        (list[dict[str, timedelta]], "spec[][]: timedelta is not how the API writes durations; use DurationText"),
    ],
)  # fmt: skip
def test_names_the_field_and_the_way_out(annotation: Any, problem: str) -> None:
    holder = msgspec.defstruct("Holder", [("spec", annotation)])
    with pytest.raises(SchemaError) as caught:
        structural_schema(holder)
    assert str(caught.value) == problem


def test_a_key_with_a_default_will_do() -> None:
    holder = msgspec.defstruct("Holder", [("spec", Annotated[list[Item], list_map("weight")])])
    assert structural_schema(holder)["required"] == ["spec"]


@pytest.mark.parametrize("item", [str, list[str], Annotated[Item, atomic()]])
def test_sets_hold_scalars_and_atomic_items(item: Any) -> None:
    holder = msgspec.defstruct("Holder", [("spec", Annotated[list[item], list_set()])])
    schema = structural_schema(holder)["properties"]["spec"]
    assert schema["x-kubernetes-list-type"] == "set"


def test_names_are_camel_case() -> None:
    class Snake(Struct):
        max_items: int

    with pytest.raises(SchemaError, match=r"^max_items: API names are camelCase"):
        structural_schema(Snake)


@pytest.mark.parametrize(
    ("annotation", "default"),
    [
        (Annotated[str, Meta(pattern="^[a-z]+$")], ""),
        (Annotated[int, Meta(ge=1)], 0),
        (Literal["a"], "b"),
        (str, 5),
    ],
)
def test_defaults_must_be_valid(annotation: Any, default: Any) -> None:
    holder = msgspec.defstruct("Holder", [("spec", annotation, default)])
    with pytest.raises(SchemaError, match=f"^spec: the default {default!r} is not valid: "):
        structural_schema(holder)
