"""Differences as values and as text, and what must never be in them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.apply.diff import ABSENT, compare, render
from certwright.kube import JsonObject
from certwright.kube.redaction import masked

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def changes(
    old: JsonObject | None, new: JsonObject | None, **options: Any
) -> list[tuple[str, Any, Any]]:
    return [(c.path, c.old, c.new) for c in compare(old, new, **options).changes]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": 1}, {"a": True}, [("a", 1, True)]),
        ({"a": None}, {}, []),
        ({"a": {}}, {}, [("a", {}, ABSENT)]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 2, "c": 2}}, [("a.b", 1, 2)]),
        ({"a": [1, 2]}, {"a": [1, 3, 4]}, [("a[1]", 2, 3), ("a[2]", ABSENT, 4)]),
        ({"a": [1]}, {"a": {}}, [("a", [1], {})]),
        (
            {"c": [{"name": "x", "v": 1}, {"name": "y"}]},
            {"c": [{"name": "z"}, {"name": "x", "v": 2}]},
            [("c[name=x].v", 1, 2), ("c[name=y]", {"name": "y"}, ABSENT), ("c[name=z]", ABSENT, {"name": "z"})],
        ),
        ({"c": [{"name": "x"}, {"name": "y"}]}, {"c": [{"name": "y"}, {"name": "x"}]}, [("c", ["x", "y"], ["y", "x"])]),
        ({"c": [{"name": "x"}]}, {"c": [{"name": "x"}]}, []),
        ({"c": [{"name": "x"}, {"name": "x"}]}, {"c": [{"name": "x"}]}, [("c[1]", {"name": "x"}, ABSENT)]),
        ({"m": {"a/b": "1"}}, {"m": {"a/b": "2"}}, [('m["a/b"]', "1", "2")]),
        (
            {"metadata": {"name": "x", "generation": 1, "resourceVersion": "1", "managedFields": []}},
            {"metadata": {"name": "x", "generation": 2, "resourceVersion": "2"}},
            [],
        ),
        (None, {"a": 1}, [("a", ABSENT, 1)]),
        (None, {"metadata": {"name": "x", "uid": "u", "generation": 1}}, [("metadata", ABSENT, {"name": "x"})]),
        ({"metadata": {"name": "x", "resourceVersion": "1"}}, None, [("metadata", {"name": "x"}, ABSENT)]),
        ({"a": 1}, None, [("a", 1, ABSENT)]),
    ],
)  # fmt: skip
def test_fields_that_differ(
    old: JsonObject | None, new: JsonObject | None, expected: list[tuple[str, Any, Any]]
) -> None:
    assert changes(old, new) == expected


def test_differences_are_bounded() -> None:
    difference = compare({}, {f"k{n:03}": n for n in range(300)}, limit=10)
    assert len(difference.changes) == 10
    assert difference.omitted == 290
    assert render(difference).splitlines()[-1] == "… 290 more fields differ"


def test_rendering() -> None:
    difference = compare(
        {"spec": {"replicas": 2, "old": "x", "text": "one\ntwo\nthree\nfour\n"}},
        {"spec": {"replicas": 3, "new": {"a": 1}, "text": "one\ntwo\n3\nfour\n"}},
    )
    assert render(difference) == (
        '+ spec.new: {"a":1}\n'
        "- spec.old: x\n"
        "- spec.replicas: 2\n"
        "+ spec.replicas: 3\n"
        "  spec.text:\n"
        "    two\n"
        "-   three\n"
        "+   3\n"
        "    four"
    )


def test_the_end_of_a_text_is_told_too() -> None:
    assert render(compare({"a": "x"}, {"a": "x\n"})) == "  a:\n    x\n+   "


def test_parts_that_come_or_go_are_spread_over_lines() -> None:
    spec = {
        "replicas": 2,
        "labels": {"a": "b"},
        "args": [],
        "containers": [{"name": "c", "tty": True}, 5],
    }
    lines = [
        "spec:",
        "  replicas: 2",
        '  labels: {"a":"b"}',
        "  args: []",
        "  containers:",
        "    - name: c",
        "      tty: true",
        "    - 5",
    ]
    assert render(compare({}, {"spec": spec})).splitlines() == [f"+ {line}" for line in lines]
    assert render(compare({"spec": spec}, {})).splitlines() == [f"- {line}" for line in lines]


def test_what_is_very_deep_ends_in_one_line() -> None:
    deep: object = {"a": 1, "b": 2}
    for _ in range(90):
        deep = {"a": deep, "b": 2}
    assert len(render(compare({}, {"x": deep})).splitlines()) < 100


def test_rendering_is_bounded() -> None:
    text = render(compare({}, {"a": "x" * 1000}))
    assert text == f"+ a: {'x' * 200}… (1000 characters)"
    many = render(compare({"a": "0\n" * 500}, {"a": "1\n" * 500}), lines=50)
    assert len(many.splitlines()) == 51
    assert many.endswith("more lines")
    wide = render(compare({"a": "x\ny"}, {"a": "x\n" + "z" * 1000}))
    assert wide.endswith(f"+   {'z' * 200}… (1000 characters)")
    long = render(compare({"a": "0\n" * 5000}, {"a": "1\n" * 5000}))
    assert len(long.splitlines()) == 2


CANARY = "Y2FuYXJ5"


def secret(**parts: Any) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **parts}


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        (secret(data={"a": CANARY}), secret(data={"a": "b"}), ["data.a"]),
        (secret(data={"a": CANARY}), secret(data={"b": CANARY}), ["data.a", "data.b"]),
        (secret(), secret(data={"a": CANARY}), ["data"]),
        (secret(stringData={"a": CANARY}), secret(), ["stringData"]),
        (secret(data=CANARY), secret(data=[CANARY]), ["data"]),
        (secret(data={"a": {"b": CANARY}}), secret(data={"a": {"b": [CANARY, CANARY]}}), ["data.a.b"]),
        (
            secret(),
            {**secret(), "metadata": {"name": "s", "annotations": {LAST_APPLIED: CANARY}}},
            ["metadata.annotations"],
        ),
        (
            {**secret(), "metadata": {"annotations": {LAST_APPLIED: f"1{CANARY}"}}},
            {**secret(), "metadata": {"annotations": {LAST_APPLIED: f"2{CANARY}"}}},
            [f'metadata.annotations["{LAST_APPLIED}"]'],
        ),
        (None, {**secret(data={"a": CANARY}), "metadata": {"annotations": {LAST_APPLIED: CANARY}}},
         ["apiVersion", "data", "kind", "metadata"]),
    ],
)  # fmt: skip
def test_values_of_secrets_are_never_told(
    old: JsonObject | None, new: JsonObject, paths: list[str]
) -> None:
    difference = compare(old, new)
    assert [change.path for change in difference.changes] == paths
    assert CANARY not in render(difference)
    assert CANARY not in repr(difference)


def test_of_secrets_the_difference_is_told() -> None:
    difference = compare(secret(data={"a": "1", "b": "1"}), secret(data={"a": "2", "b": "1"}))
    assert render(difference) == "- data.a: *** (before)\n+ data.a: *** (after)"


def test_items_of_secret_lists_are_masked_though_they_do_not_say_what_they_are() -> None:
    shown = masked({"kind": "SecretList", "items": [{"data": {"a": CANARY}}]})
    assert shown == {"kind": "SecretList", "items": [{"data": {"a": "***"}}]}


def test_masked_objects_show_keys_only() -> None:
    shown = masked(
        {
            **secret(data={"a": CANARY}, stringData={"b": CANARY}, type="Opaque"),
            "metadata": {"name": "s", "annotations": {LAST_APPLIED: CANARY, "x": "y"}},
        }
    )
    assert shown == {
        **secret(data={"a": "***"}, stringData={"b": "***"}, type="Opaque"),
        "metadata": {"name": "s", "annotations": {LAST_APPLIED: "***", "x": "y"}},
    }
    assert CANARY not in json.dumps(masked({"kind": "List", "items": [secret(data={"a": CANARY})]}))
    assert masked({"kind": "ConfigMap", "data": {"a": "b"}}) == {
        "kind": "ConfigMap",
        "data": {"a": "b"},
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab\n", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abn", max_size=2), inner, max_size=3)
    ),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text("ab", min_size=1, max_size=2), JSON, max_size=4)


@given(OBJECTS, OBJECTS)
def test_comparing_is_symmetric_and_renders(one: JsonObject, other: JsonObject) -> None:
    there, back = compare(one, other), compare(other, one)
    assert sorted(c.path for c in there.changes) == sorted(c.path for c in back.changes)
    render(there)


@given(OBJECTS)
def test_nothing_differs_from_itself(one: JsonObject) -> None:
    assert not compare(one, one)


@given(OBJECTS, OBJECTS)
def test_secrets_leak_nothing_whatever_their_shape(one: JsonObject, other: JsonObject) -> None:
    old, new = (
        {"kind": "Secret", "data": {"k": [part, CANARY]}, "stringData": CANARY}
        for part in (one, other)
    )
    new["stringData"] = [CANARY]
    assert CANARY not in repr(compare(old, new))
