"""JSON as bytes: measured and taken apart without recursion, like a decoder would."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.kube import JsonObject
from certwright.kube.rawjson import (
    MAX_DEPTH,
    elements,
    foreign_entries,
    identity,
    is_deep,
    members,
    shallow,
    without_managed_fields,
)

WORDS = st.sampled_from(["a", "managedFields", "{", "}]", '"', "\\", '\\"[', "ü\n", ""])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers(-9, 9) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=12,
)
INDENTS = st.sampled_from([None, 0, 2])


def nested(levels: int) -> Any:
    """Return a value of so many levels, objects and lists in turns."""
    value: Any = {}
    for level in range(levels - 1):
        value = {"f:x": value, "{": "["} if level % 2 else [value, "}"]
    return value


def tower(levels: int) -> bytes:
    """Return JSON of any number of levels, which json.dumps cannot write."""
    return b'{"f:x":' * (levels - 1) + b"{}" + b"}" * (levels - 1)


def depth(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


@given(VALUES, INDENTS, st.integers(0, 6))
def test_depth_is_what_a_decoder_finds(value: Any, indent: int | None, limit: int) -> None:
    raw = json.dumps(value, indent=indent).encode()
    assert is_deep(raw, limit) == (depth(value) > limit)


@pytest.mark.parametrize("levels", [1, 199, 200, 201, 300])
def test_the_limit_is_exact(levels: int) -> None:
    assert is_deep(json.dumps(nested(levels)).encode()) == (levels > 200)


def test_many_brackets_side_by_side_are_not_deep() -> None:
    assert not is_deep(json.dumps([{"a": []}] * 1000).encode())
    assert not is_deep(json.dumps("[{" * 1000).encode())
    assert is_deep(tower(10_000))


@given(st.dictionaries(WORDS, VALUES, max_size=4), INDENTS)
def test_members_are_those_of_the_object(obj: dict[str, Any], indent: int | None) -> None:
    raw = json.dumps(obj, indent=indent).encode()
    assert {name: json.loads(raw[start:end]) for name, start, end in members(raw)} == obj


@given(st.lists(VALUES, max_size=4), INDENTS)
def test_elements_are_those_of_the_list(values: list[Any], indent: int | None) -> None:
    raw = json.dumps(values, indent=indent).encode()
    assert [json.loads(raw[start:end]) for start, end in elements(raw)] == values


@pytest.mark.parametrize("raw", [b"", b"{", b'{"a":', b'{"a":1', b'{"a":[1}', b"<html>", b'{"a" '])
def test_what_is_not_json_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match="not a JSON document"):
        list(members(raw))
    with pytest.raises(ValueError, match="not a JSON document"):
        list(elements(raw.replace(b"{", b"[").replace(b"}", b"")))


def test_deep_managed_fields_are_cut_out() -> None:
    deep = b'{"kind":"X","metadata":{"name":"a","managedFields":[%b],"uid":"u"},"spec":{}}'
    assert json.loads(without_managed_fields(deep % tower(20_000))) == {
        "kind": "X",
        "metadata": {"name": "a", "uid": "u"},
        "spec": {},
    }


def test_only_deep_objects_lose_them() -> None:
    obj = b'{"metadata":{"name":"a","managedFields":[%b]}}'
    assert shallow(obj % b"{}") == obj % b"{}"
    assert json.loads(shallow(obj % tower(5_000))) == {"metadata": {"name": "a"}}


def test_what_names_a_deep_object_is_found() -> None:
    raw = (
        b'{"spec":%b,"apiVersion":"v1","kind":"X","metadata":{"name":"a","namespace":"n",'
        b'"labels":{"l":"v"},"managedFields":%b,"odd":%b},"status":1,"more":{}}'
    ) % (tower(3_000), tower(3_000), tower(3_000))
    assert json.loads(identity(raw)) == {
        "apiVersion": "v1",
        "kind": "X",
        "metadata": {"name": "a", "namespace": "n", "labels": {"l": "v"}},
    }


OURS = frozenset({b'"me"'})


def reduced(*entries: JsonObject) -> list[JsonObject]:
    found: list[JsonObject] = orjson.loads(
        foreign_entries(orjson.dumps(list(entries)), OURS) or b"[]"
    )
    return found


def test_of_managed_fields_stays_what_others_hold() -> None:
    fields: JsonObject = {"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:x": {}}}
    times = {"apiVersion": "v1", "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1"}
    own = {"manager": "me", "operation": "Update", **times, "fieldsV1": fields}
    others = {"manager": "they", "operation": "Apply", **times, "fieldsV1": fields}
    metadata = {"f:metadata": fields["f:metadata"]}
    mine = {"manager": "me", "operation": "Update", "fieldsV1": metadata}
    theirs = {"manager": "they", "operation": "Apply", "fieldsV1": fields}
    assert reduced(own) == [mine]
    assert reduced({**own, "fieldsV1": {}}) == [{**mine, "fieldsV1": {"f:metadata": {}}}]
    assert reduced(own, others, {**others, "subresource": "status"}) == [mine, theirs]
    assert reduced({**own, "subresource": "scale"}) == [
        {"manager": "me", "operation": "Update", "subresource": "scale", "fieldsV1": fields}
    ]


def test_managed_fields_of_another_shape_tell_nothing() -> None:
    deep: JsonObject = {}
    for _ in range(MAX_DEPTH):
        deep = {"f:a": deep}
    assert reduced({"manager": "they", "fieldsV1": deep}) == []
    assert foreign_entries(b'[{"manager":1}]', OURS) == b""
