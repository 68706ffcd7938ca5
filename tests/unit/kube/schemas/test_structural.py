"""What each Python type becomes, with literal expectations."""

import uuid
from datetime import date, datetime
from enum import IntEnum, StrEnum
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import UNSET, Meta, Struct, UnsetType, field

from certwright.kube import (
    Condition,
    DurationText,
    IntOrString,
    JsonObject,
    QuantityValue,
    atomic,
    embedded_resource,
    list_map,
    list_set,
    marked,
    preserve_unknown,
    rule,
)
from certwright.kube.schemas.structural import structural_schema


class Mode(StrEnum):
    FAST = "fast"
    SLOW = "slow"


class Level(IntEnum):
    LOW = 1
    HIGH = 9


class Port(Struct):
    """Where a container listens."""

    name: str
    number: int
    protocol: Literal["TCP", "UDP"] = "TCP"


def schema_of(annotation: Any) -> JsonObject:
    """Return the schema of a required field of that type."""
    holder = msgspec.defstruct("Holder", [("field", annotation)])
    found: JsonObject = structural_schema(holder)["properties"]["field"]
    return found


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (bool, {"type": "boolean"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (int | float, {"type": "number"}),
        (datetime, {"type": "string", "format": "date-time"}),
        (date, {"type": "string", "format": "date"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (bytes, {"type": "string", "format": "byte"}),
        (str | None, {"type": "string", "nullable": True}),
        (Mode, {"type": "string", "enum": ["fast", "slow"]}),
        (Level, {"type": "integer", "enum": [1, 9]}),
        (Literal["b", "a"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1, 2] | None, {"type": "integer", "enum": [1, 2], "nullable": True}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (tuple[str, ...], {"type": "array", "items": {"type": "string"}}),
        (
            set[str],
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        ),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (dict[str, Any], {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        (Any, {"x-kubernetes-preserve-unknown-fields": True}),
        (msgspec.Raw, {"x-kubernetes-preserve-unknown-fields": True}),
        (int | str, {"x-kubernetes-int-or-string": True}),
        (IntOrString, {"x-kubernetes-int-or-string": True}),
        (
            QuantityValue,
            {
                "pattern": r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]+)?$",
                "x-kubernetes-int-or-string": True,
            },
        ),
        (
            DurationText,
            {
                "type": "string",
                "pattern": r"^[+-]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$",
            },
        ),
    ],
)
def test_types_become_schemas(annotation: Any, schema: JsonObject) -> None:
    assert schema_of(annotation) == schema


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (Annotated[int, Meta(ge=0, le=9)], {"type": "integer", "minimum": 0, "maximum": 9}),
        (
            Annotated[float, Meta(gt=0, lt=1)],
            {
                "type": "number",
                "minimum": 0,
                "exclusiveMinimum": True,
                "maximum": 1,
                "exclusiveMaximum": True,
            },
        ),
        (Annotated[int, Meta(multiple_of=5)], {"type": "integer", "multipleOf": 5}),
        (
            Annotated[str, Meta(min_length=1, max_length=9, pattern="^a")],
            {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^a"},
        ),
        (
            Annotated[list[str], Meta(min_length=1, max_length=9)],
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 9},
        ),
        (
            Annotated[dict[str, str], Meta(min_length=1, max_length=9)],
            {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "minProperties": 1,
                "maxProperties": 9,
            },
        ),
        (
            Annotated[int, Meta(title="T", description="How many.", examples=[1])],
            {"type": "integer", "description": "How many."},
        ),
        (
            Annotated[int, Meta(ge=1)] | None,
            {"type": "integer", "minimum": 1, "nullable": True},
        ),
        (
            list[Annotated[str, Meta(pattern="^x")]],
            {"type": "array", "items": {"type": "string", "pattern": "^x"}},
        ),
    ],
)
def test_meta_becomes_bounds_and_descriptions(annotation: Any, schema: JsonObject) -> None:
    assert schema_of(annotation) == schema


def test_structs_are_inlined_with_their_docstrings() -> None:
    assert schema_of(Port) == {
        "type": "object",
        "description": "Where a container listens.",
        "properties": {
            "name": {"type": "string"},
            "number": {"type": "integer"},
            "protocol": {"type": "string", "enum": ["TCP", "UDP"], "default": "TCP"},
        },
        "required": ["name", "number"],
    }


def test_the_description_of_a_field_beats_the_docstring_of_its_type() -> None:
    schema = schema_of(Annotated[Port, Meta(description="The main port.")])
    assert schema["description"] == "The main port."


@pytest.mark.parametrize(
    ("annotation", "extension"),
    [
        (
            Annotated[list[Port], list_map("number", "protocol")],
            {
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["number", "protocol"],
            },
        ),
        (Annotated[list[str], list_set()], {"x-kubernetes-list-type": "set"}),
        (Annotated[list[str], atomic()], {"x-kubernetes-list-type": "atomic"}),
        (Annotated[dict[str, str], atomic()], {"x-kubernetes-map-type": "atomic"}),
        (Annotated[Port, atomic()], {"x-kubernetes-map-type": "atomic"}),
        (Annotated[Port, preserve_unknown()], {"x-kubernetes-preserve-unknown-fields": True}),
        (
            Annotated[dict[str, Any], embedded_resource()],
            {
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
            },
        ),
    ],
)
def test_markers_become_extensions(annotation: Any, extension: JsonObject) -> None:
    schema = schema_of(annotation)
    found = {name: value for name, value in schema.items() if name.startswith("x-kubernetes-")}
    assert found == extension


def test_markers_and_meta_combine_on_one_field() -> None:
    assert schema_of(Annotated[list[str], Meta(max_length=3), list_set(), rule("size(self) > 0")]) == {
        "type": "array",
        "items": {"type": "string"},
        "maxItems": 3,
        "x-kubernetes-list-type": "set",
        "x-kubernetes-validations": [{"rule": "size(self) > 0"}],
    }  # fmt: skip


@marked(rule("self.min <= self.max", message="min must not exceed max"))
class Range(Struct):
    min: int = 0
    max: int = 10


def test_rules_of_the_type_come_before_rules_of_the_field() -> None:
    schema = schema_of(
        Annotated[
            Range,
            rule(
                "self.max <= oldSelf.max",
                message_expression="'at most ' + string(oldSelf.max)",
                reason="FieldValueForbidden",
                field_path=".max",
                optional_old_self=True,
            ),
            rule("self.min > 1"),
        ]
    )
    assert schema["x-kubernetes-validations"] == [
        {"rule": "self.min <= self.max", "message": "min must not exceed max"},
        {
            "rule": "self.max <= oldSelf.max",
            "messageExpression": "'at most ' + string(oldSelf.max)",
            "reason": "FieldValueForbidden",
            "fieldPath": ".max",
            "optionalOldSelf": True,
        },
        {"rule": "self.min > 1"},
    ]


def test_subclasses_keep_the_rules_of_their_base_and_bases_do_not_get_theirs() -> None:
    @marked(rule("self.step > 0"))
    class Stepped(Range):
        step: int = 1

    rules = [each["rule"] for each in structural_schema(Stepped)["x-kubernetes-validations"]]
    assert rules == ["self.min <= self.max", "self.step > 0"]
    assert len(structural_schema(Range)["x-kubernetes-validations"]) == 1


class Inner(Struct, rename="camel", omit_defaults=True):
    secret_name: str = "tls"
    range: Range = field(default_factory=lambda: Range(max=20))
    note: str | None = None


class Defaults(Struct, rename="camel"):
    text: str = ""
    number: int = 0
    flag: bool = False
    mode: Mode = Mode.SLOW
    since: datetime | None = None
    items: list[str] = field(default_factory=list)
    filled: list[str] = field(default_factory=lambda: ["a"])
    labels: dict[str, str] = field(default_factory=dict)
    unset: str | UnsetType = UNSET
    maybe: int | None = 3
    inner: Inner = field(default_factory=Inner)
    optional_inner: Inner | None = None
    other_inner: Inner = field(default_factory=lambda: Inner(secret_name="x", note="n"))


def test_defaults_of_structs_are_defaults_of_schemas() -> None:
    """None and empty containers are what absence means already, so they are left out."""
    properties = structural_schema(Defaults)["properties"]
    assert {
        name: schema["default"] for name, schema in properties.items() if "default" in schema
    } == {
        "text": "",
        "number": 0,
        "flag": False,
        "mode": "slow",
        "filled": ["a"],
        "maybe": 3,
        "inner": {"secretName": "tls", "range": {"min": 0, "max": 20}},
        "otherInner": {"secretName": "x", "range": {"min": 0, "max": 20}, "note": "n"},
    }
    assert properties["inner"]["properties"]["range"]["default"] == {"min": 0, "max": 20}
    assert "required" not in structural_schema(Defaults)


def test_what_the_server_reads_from_a_default_is_what_python_reads_from_absence() -> None:
    defaults = {
        name: schema["default"]
        for name, schema in structural_schema(Defaults)["properties"].items()
        if "default" in schema
    }
    assert msgspec.convert(defaults, Defaults) == msgspec.convert({}, Defaults)


def test_conditions_can_be_a_list_map() -> None:
    schema = schema_of(Annotated[list[Condition], list_map("type")])
    assert schema["items"]["required"] == ["status", "type"]
    assert schema["items"]["properties"]["status"] == {
        "type": "string",
        "enum": ["False", "True", "Unknown"],
    }
    assert schema["items"]["properties"]["lastTransitionTime"] == {
        "type": "string",
        "format": "date-time",
        "nullable": True,
    }


def test_an_empty_struct_is_an_empty_object() -> None:
    assert structural_schema(msgspec.defstruct("Empty", [])) == {"type": "object"}
