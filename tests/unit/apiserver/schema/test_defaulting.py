from typing import Any

import pytest

from certwright.apiserver.schema.schema import Schema
from certwright.apiserver.schema.structural import default
from certwright.kube import JsonObject

INNER = Schema("object", properties={"a": Schema("integer", default=3), "b": Schema("string")})
SCHEMA = Schema(
    "object",
    properties={
        "plain": Schema("string", default="x"),
        "nullable": Schema("string", nullable=True, default="y"),
        "none": Schema("string"),
        "inner": Schema("object", properties=INNER.properties, default={}),
        "list": Schema("array", items=INNER),
        "map": Schema("object", additional=INNER),
    },
)
ALWAYS = {"plain": "x", "nullable": "y", "inner": {"a": 3}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ALWAYS),
        ({"plain": "z"}, {**ALWAYS, "plain": "z"}),
        ({"plain": None}, ALWAYS),
        ({"nullable": None}, {**ALWAYS, "nullable": None}),
        ({"inner": {"a": 5}}, {**ALWAYS, "inner": {"a": 5}}),
        ({"inner": {"a": None}}, ALWAYS),
        ({"list": [{}, {"b": "c"}]}, {**ALWAYS, "list": [{"a": 3}, {"a": 3, "b": "c"}]}),
        ({"map": {"k": {}}}, {**ALWAYS, "map": {"k": {"a": 3}}}),
        ({"none": None}, {**ALWAYS, "none": None}),
    ],
)
def test_missing_fields_get_their_defaults(given: JsonObject, expected: JsonObject) -> None:
    default(given, SCHEMA)

    assert given == expected


def test_objects_do_not_share_their_defaults() -> None:
    schema = Schema("object", properties={"list": Schema("array", default=[1])})
    one: dict[str, Any] = {}
    other: dict[str, Any] = {}
    default(one, schema)
    default(other, schema)

    one["list"].append(2)

    assert other == {"list": [1]}


def test_defaults_are_found_in_schemas_that_contain_themselves() -> None:
    plain = Schema("object")
    plain.properties["inner"] = plain
    assert not plain.has_defaults_below()
    tree = Schema("object", properties={"size": Schema("integer", default=1)})
    tree.properties["children"] = Schema("array", items=tree)
    above = Schema("object", additional=tree)
    value = {"a": {"children": [{}, {"size": 2}]}}
    default(value, above)
    assert value == {"a": {"size": 1, "children": [{"size": 1}, {"size": 2}]}}
