"""Cutting managedFields out of bytes gives what decoding, dropping and encoding would."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from certwright.kube.rawjson import without_managed_fields
from certwright.runtime.cache.decode import managed_fields_span, own_entries

WORDS = st.sampled_from(
    ["a", "name", "metadata", "managedFields", 'x","managedFields":[1],"y', "\\", '"', "ü\n", ""]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-1, 1) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
SPACES = st.sampled_from(["", " ", "  ", "\n", "\t\r\n"])


class _Meta(msgspec.Struct):
    managed: msgspec.Raw = msgspec.field(name="managedFields")


class _Object(msgspec.Struct):
    metadata: _Meta


def managed_fields(raw: bytes) -> bytes:
    return bytes(msgspec.json.decode(raw, type=_Object).metadata.managed)


def cut(raw: bytes) -> bytes:
    """Cut as stores do, out of the middle of something longer."""
    padded = b'"managedFields":[],' + raw + b',"managedFields":1'
    span = managed_fields_span(padded, managed_fields(raw), 19, 19 + len(raw))
    if span is None:
        return without_managed_fields(raw)
    return padded[19 : span[0]] + padded[span[1] : 19 + len(raw)]


def without(obj: dict[str, Any]) -> dict[str, Any]:
    rest = {k: v for k, v in obj["metadata"].items() if k != "managedFields"}
    return {**obj, "metadata": rest}


MEMBERS = st.dictionaries(WORDS, VALUES, max_size=3)


@given(
    members=st.tuples(MEMBERS, MEMBERS, MEMBERS),
    managed=VALUES,
    spaces=st.tuples(SPACES, SPACES, SPACES),
    metadata_first=st.booleans(),
)
@example(({}, {}, {"spec": {"managedFields": [1]}}), [1], ("", "", ""), False)
@example(({"a": 1}, {}, {"x": {"managedFields": []}}), [], ("", " ", ""), True)
def test_it_equals_the_slow_way(
    members: tuple[dict[str, Any], ...],
    managed: Any,
    spaces: tuple[str, str, str],
    metadata_first: bool,  # noqa: FBT001 - given by hypothesis
) -> None:
    before, after, other = members
    other = {name: value for name, value in other.items() if name != "metadata"}
    after = {name: value for name, value in after.items() if name != "managedFields"}
    metadata = {**before, "managedFields": managed, **after}
    obj = {"metadata": metadata, **other} if metadata_first else {**other, "metadata": metadata}
    comma, colon, around = spaces
    text = json.dumps(obj, separators=("," + comma, colon + ":" + colon), ensure_ascii=False)
    raw = (around + text + around).encode()

    shorter = cut(raw)

    assert json.loads(shorter) == without(obj)
    assert list(json.loads(shorter)["metadata"]) == list(without(obj)["metadata"])


def test_a_usual_object_takes_the_fast_way() -> None:
    raw = b'{"metadata":{"name":"a","managedFields":[{"manager":"m"}]},"spec":{}}'
    assert managed_fields_span(raw, managed_fields(raw), 0, len(raw)) == (23, 57)
    around = b'"managedFields"' + raw + b'"managedFields"'
    assert managed_fields_span(around, managed_fields(raw), 15, 15 + len(raw)) == (38, 72)


def test_every_other_byte_of_a_usual_object_stays() -> None:
    raw = (
        b'{"kind":"X","metadata":{"name":"a","uid":"u","managedFields":[{"manager":"m"}]},'
        b'"spec":{"n":1.50,"text":"\\u00e9"}}'
    )
    assert cut(raw) == (
        b'{"kind":"X","metadata":{"name":"a","uid":"u"},"spec":{"n":1.50,"text":"\\u00e9"}}'
    )


def test_a_template_with_the_same_field_keeps_it() -> None:
    entries = '[{"manager":"m","fieldsV1":{"f:spec":{}}}]'
    raw = (
        f'{{"spec":{{"template":{{"metadata":{{"name":"t","managedFields":{entries}}}}}}},'
        f'"metadata":{{"name":"a","managedFields":{entries}}}}}'
    ).encode()
    found = json.loads(cut(raw))
    assert "managedFields" not in found["metadata"]
    assert found["spec"]["template"]["metadata"]["managedFields"] == json.loads(entries)


def test_a_field_given_twice_goes_twice() -> None:
    raw = b'{"metadata":{"a":1,"managedFields":[1],"managedFields":[2]}}'
    assert json.loads(cut(raw)) == {"metadata": {"a": 1}}


@pytest.mark.parametrize(
    "spec", ['{"a":1,"managedFields":[2]}', '["x","managedFields",[1]]', '{"managedFields":[1]}']
)
def test_a_name_in_disguise_is_told_from_its_doubles(spec: str) -> None:
    raw = rf'{{"spec":{spec},"metadata":{{"a":1,"managed\u0046ields":[1]}}}}'.encode()
    assert json.loads(cut(raw)) == {"spec": json.loads(spec), "metadata": {"a": 1}}


ENTRIES = [
    {"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:a": {}}},
    {"manager": "certwright", "operation": "Apply", "fieldsV1": {"f:b": {}}},
    {"manager": "certwright", "operation": "Update", "subresource": "status", "fieldsV1": {}},
    {"operation": "Update"},
]


@pytest.mark.parametrize(
    ("managers", "kept"),
    [
        ({b'"certwright"'}, ENTRIES[1:3]),
        ({b'"kubectl"', b'"other"'}, ENTRIES[:1]),
        ({b'"f:a"'}, []),
        ({b'"other"'}, []),
        (set(), []),
    ],
)
def test_our_own_entries_are_kept(managers: set[bytes], kept: list[dict[str, Any]]) -> None:
    value = json.dumps(ENTRIES).encode()
    own = own_entries(value, frozenset(managers))
    assert json.loads(own or b"[]") == kept


def test_entries_of_another_shape_are_not_ours() -> None:
    value = b'[{"manager":["certwright"]}, "certwright"]'
    assert own_entries(value, frozenset({b'"certwright"'})) == b""
