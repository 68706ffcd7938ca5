"""Duplicate and unknown fields; what is expected here was read off a real server."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.apiserver.http.strictness import duplicate_keys, stray_fields


def strays(body: str, unknown: list[str], *, custom: bool) -> list[str]:
    raw = body.encode()
    return stray_fields(raw, unknown, custom=custom)


def test_built_ins_report_in_the_order_of_the_document() -> None:
    body = (
        '{"foo":1,"metadata":{"name":"d","name":"d","labels":{"a":"1","a":"2","a":"3"},"bar":1},'
        '"data":{"x":"1","x":"1"},"data":{"x":"1"},"zz":{"k":1,"k":2}}'
    )

    assert strays(body, ["foo", "metadata.bar", "zz"], custom=False) == [
        'unknown field "foo"',
        'duplicate field "metadata.name"',
        'duplicate field "metadata.labels.a"',
        'unknown field "metadata.bar"',
        'duplicate field "data.x"',
        'duplicate field "data"',
        'unknown field "zz"',
    ]


def test_custom_resources_report_duplicates_then_metadata_then_the_rest() -> None:
    body = (
        '{"foo":1,"metadata":{"name":"d","name":"d","bar":1},'
        '"spec":{"title":"a","title":"b","zz":1,"items":[{"name":"a","name":"b","yy":2}]},"aa":1}'
    )

    assert strays(
        body, ["foo", "metadata.bar", "spec.zz", "spec.items[0].yy", "aa"], custom=True
    ) == [
        'duplicate field "metadata.name"',
        'duplicate field "spec.title"',
        'duplicate field "spec.items[0].name"',
        'unknown field "metadata.bar"',
        'unknown field "aa"',
        'unknown field "foo"',
        'unknown field "spec.items[0].yy"',
        'unknown field "spec.zz"',
    ]


@pytest.mark.parametrize("custom", [True, False])
@pytest.mark.parametrize(
    "body",
    [
        r'{"a":"\"","a":"x"}',
        r'{"a":"x","\u0061":"y"}',
        '{"a":{"b":1},"a":{"c":1}}',
        '{"a":1,"a":"no"}',
    ],
)
def test_no_duplicate_escapes(body: str, custom: bool) -> None:  # noqa: FBT001 - parametrized
    assert strays(body, [], custom=custom) == ['duplicate field "a"']


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)


@given(json_values)
def test_bodies_without_duplicates_have_none(value: Any) -> None:
    assert stray_fields(orjson.dumps(value), [], custom=True) == []
    assert duplicate_keys(orjson.dumps(value), value) == []


@pytest.mark.parametrize(
    ("body", "messages"),
    [
        ("data:\n  a: b\n  a: c\n", ['line 3: key "a" already set in map']),
        (
            '{"data":{"a":"a",\n"a":"b","b":"1",\n"b":"2"}}',
            ['line 2: key "a" already set in map', 'line 3: key "b" already set in map'],
        ),
        ("items:\n- {a: 1, b: 2}\n- {a: 1}\n", []),
        ("a: '1'\nb: [{c: 1, c: 2}]\n", ['line 2: key "c" already set in map']),
    ],
)
def test_yaml_reports_lines(body: str, messages: list[str]) -> None:
    assert duplicate_keys(body.encode(), {"a": "1"}) == messages


def test_deep_bodies_are_survived() -> None:
    body = b'{"a":' * 5000 + b'"","a":1' + b"}" * 5000

    assert stray_fields(body, [], custom=True) == []
    assert duplicate_keys(body, {}) == []
