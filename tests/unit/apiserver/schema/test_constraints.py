"""Each rule of a schema, broken once; the words are those of the API server."""

from typing import Any

import pytest

from certwright.apiserver.schema.constraints import validate
from certwright.apiserver.schema.schema import ListType, Schema
from certwright.kube import JsonObject

NAMED = Schema("object", properties={"name": Schema("string"), "value": Schema("integer")})


def told(value: Any, schema: Schema, old: Any = None) -> list[tuple[str, str, str]]:
    root = Schema("object", properties={"f": schema})
    before = None if old is None else {"f": old}
    causes = validate({"f": value}, root, old=before)
    return [(c.reason.removeprefix("FieldValue"), c.field, c.message) for c in causes]


BROKEN = [
    (Schema("integer"), "x", ("TypeInvalid", "f", 'Invalid value: "string": f in body must be of type integer: "string"')),
    (Schema("integer"), True, ("TypeInvalid", "f", 'Invalid value: "boolean": f in body must be of type integer: "boolean"')),
    (Schema("integer"), 1.5, ("TypeInvalid", "f", 'Invalid value: "number": f in body must be of type integer: "number"')),
    (Schema("integer"), None, ("TypeInvalid", "f", 'Invalid value: "null": f in body must be of type integer: "null"')),
    (Schema("string", format="date-time"), 5, ("TypeInvalid", "f", 'Invalid value: "int64": f in body must be of type date-time: "int64"')),
    (Schema("string", format="date-time"), "x", ("TypeInvalid", "f", 'Invalid value: "x": f in body must be of type date-time: "x"')),
    (Schema(int_or_string=True), 1.5, ("TypeInvalid", "f", 'Invalid value: "number": f in body must be of type integer,string: "number"')),
    (Schema("integer", format="int32"), 1 << 31, ("Invalid", "<nil>", 'Invalid value: "": Checked value must be of type integer with format int32 in f')),
    (Schema("integer", minimum=1), 0, ("Invalid", "f", "Invalid value: 0: f in body should be greater than or equal to 1")),
    (Schema("number", minimum=0.5, exclusive_minimum=True), 0.5, ("Invalid", "f", "Invalid value: 0.5: f in body should be greater than 0.5")),
    (Schema("integer", maximum=3), 4, ("Invalid", "f", "Invalid value: 4: f in body should be less than or equal to 3")),
    (Schema("integer", maximum=3, exclusive_maximum=True), 3, ("Invalid", "f", "Invalid value: 3: f in body should be less than 3")),
    (Schema("integer", multiple_of=3), 4, ("Invalid", "f", "Invalid value: 4: f in body should be a multiple of 3")),
    (Schema("string", min_length=2), "é", ("Invalid", "f", 'Invalid value: "é": f in body should be at least 2 chars long')),
    (Schema("string", max_length=1), "ab", ("TooLong", "f", "Too long: may not be more than 1 bytes")),
    (Schema("string", pattern="^a+$"), "b", ("Invalid", "f", "Invalid value: \"b\": f in body should match '^a+$'")),
    (Schema("string", enum=("a", "b")), "c", ("NotSupported", "f", 'Unsupported value: "c": supported values: "a", "b"')),
    (Schema("array", min_items=1), [], ("Invalid", "f", "Invalid value: 0: f in body should have at least 1 items")),
    (Schema("array", max_items=1), [1, 2], ("TooMany", "f", "Too many: 2: must have at most 1 item")),
    (Schema("array", unique_items=True), [1, 1], ("Invalid", "f", "Invalid value: \"\": f in body shouldn't contain duplicates")),
    (Schema("array", items=Schema("integer")), [1, "x"], ("TypeInvalid", "f[1]", 'Invalid value: "string": f[1] in body must be of type integer: "string"')),
    (Schema("array", list_type=ListType.SET), ["a", "b", "a"], ("Duplicate", "f[2]", 'Duplicate value: "a"')),
    (Schema("array", items=NAMED, list_type=ListType.MAP, list_keys=("name",)), [{"name": "a"}, {"name": "a", "value": 1}], ("Duplicate", "f[1]", 'Duplicate value: {"name":"a"}')),
    (Schema("object", min_properties=1), {}, ("Invalid", "f", "Invalid value: 0: f in body should have at least 1 properties")),
    (Schema("object", max_properties=0), {"a": 1}, ("TooMany", "f", "Too many: 1: must have at most 0 items")),
    (Schema("object", required=("a",)), {}, ("Required", "f.a", "Required value")),
    (Schema("object", additional=Schema("string")), {"k": 1}, ("TypeInvalid", "f.k", 'Invalid value: "integer": f.k in body must be of type string: "integer"')),
    (Schema("object", embedded_resource=True), {"apiVersion": "v1"}, ("Required", "f.kind", "Required value")),
    (Schema(any_of=(Schema(minimum=5), Schema(maximum=1))), 3, ("Invalid", "<nil>", 'Invalid value: "": "f" must validate at least one schema (anyOf)')),
    (Schema(one_of=(Schema(minimum=1), Schema(minimum=2))), 3, ("Invalid", "<nil>", 'Invalid value: "": "f" must validate one and only one schema (oneOf). Found 2 valid alternatives')),
    (Schema(one_of=(Schema(minimum=7), Schema(minimum=8))), 3, ("Invalid", "<nil>", 'Invalid value: "": "f" must validate one and only one schema (oneOf). Found none valid')),
    (Schema(all_of=(Schema(minimum=1), Schema(minimum=7))), 3, ("Invalid", "<nil>", 'Invalid value: "": "f" must validate all the schemas (allOf)')),
    (Schema(not_=Schema(minimum=1)), 3, ("Invalid", "<nil>", 'Invalid value: "": "f" must not validate the schema (not)')),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "expected"), BROKEN)
def test_broken_rules(schema: Schema, value: Any, expected: tuple[str, str, str]) -> None:
    assert expected in told(value, schema)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (Schema("integer"), 5.0),
        (Schema("number"), 5),
        (Schema("string", nullable=True), None),
        (Schema(), {"anything": [1]}),
        (Schema(int_or_string=True), "x"),
        (Schema(int_or_string=True), 1),
        (Schema("string", max_length=1), "é"),
        (Schema("string", format="unheard-of"), "x"),
        (Schema("string", enum=("a",)), "a"),
        (Schema("object", preserve_unknown=True), {"a": 1}),
        (Schema("array", items=NAMED), [{"name": "a"}, {"name": "a"}]),
        (Schema(any_of=(Schema(minimum=5), Schema(maximum=3))), 3),
    ],
)
def test_kept_rules(schema: Schema, value: Any) -> None:
    assert told(value, schema) == []


def test_what_did_not_change_is_not_checked_again() -> None:
    """A rule that came later must not block changes elsewhere in an object."""
    schema = Schema(
        "object",
        properties={
            "old": Schema("integer", maximum=3),
            "new": Schema("integer"),
            "atomic": Schema("array", items=Schema("integer", maximum=3)),
            "keyed": Schema(
                "array",
                items=Schema(
                    "object",
                    properties={"name": Schema("string"), "v": Schema("integer", maximum=3)},
                ),
                list_type=ListType.MAP,
                list_keys=("name",),
            ),
        },
    )
    before: JsonObject = {"old": 9, "new": 1, "atomic": [9], "keyed": [{"name": "a", "v": 9}]}

    assert told({**before, "new": 2}, schema, before) == []
    assert told({**before, "keyed": [{"name": "b"}, *before["keyed"]]}, schema, before) == []
    assert [where for _, where, _ in told({**before, "old": 8}, schema, before)] == ["f.old"]
    # Items of other lists have no identity: a changed list is checked whole.
    changed = told({**before, "atomic": [9, 1]}, schema, before)
    assert [where for _, where, _ in changed] == ["f.atomic[0]"]
