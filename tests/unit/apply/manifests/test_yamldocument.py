"""YAML structure: merges, aliases and their price, duplicates, lines of mistakes."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.apply.manifests.limits import Budget, ReadLimits
from certwright.apply.manifests.yamldocument import DocumentError, DuplicateKey, read_yaml
from certwright.kube import JsonObject


def read(text: str, **limits: int) -> Any:
    return read_yaml(text, Budget(ReadLimits(**limits)))[0]


def refusal(text: str, **limits: int) -> tuple[str, int]:
    with pytest.raises(DocumentError) as caught:
        read(text, **limits)
    return caught.value.problem, caught.value.line


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None), ("# only a remark", None), ("---", None), ("- a\n- 1", ["a", 1]), ("{a: b, c}", {"a": "b", "c": None}),
        ("{a:1}", {"a:1": None}), ("a: [1,]", {"a": [1]}), ("a: b\r\nc: d", {"a": "b", "c": "d"}), ("? a", {"a": None}),
        ("a: 'it''s'", {"a": "it's"}), ('a: "x\\\n  y"', {"a": "xy"}), ("a: \U0001f600", {"a": "\U0001f600"}),
        ("a: &x 1\nb: *x", {"a": 1, "b": 1}), ("&x a: *x", {"a": "a"}), ("a: &x 1\nb: &x 2\nc: *x", {"a": 1, "b": 2, "c": 2}),
        ("a: &x {b: 1, d: 3}\nc: {<<: *x, d: 2}", {"a": {"b": 1, "d": 3}, "c": {"b": 1, "d": 2}}),
        ("c: {d: 2, <<: {b: 1, d: 3}}", {"c": {"b": 1, "d": 3}}),
        ("c: {<<: [{a: 1, b: 1}, {b: 2, c: 2}]}", {"c": {"a": 1, "b": 1, "c": 2}}),
        ("c: {'<<': 1}", {"c": {"<<": 1}}), ("c: {!!merge <<: {a: 1}}", {"c": {"a": 1}}), ("c: {<<: []}", {"c": {}}),
        ("c: {<<: {<<: {q: 1}, a: 1}}", {"c": {"a": 1, "q": 1}}),
    ],
)  # fmt: skip
def test_structure(text: str, value: JsonObject | list[int | str] | None) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        ("a: 1\nb: *x", "an alias without an anchor; quote texts that begin with *", 2),
        ("a:\n- &x [*x]", "the value of an anchor contains itself", 2),
        ("c: {<<: 1}", "<< takes a mapping or a list of mappings", 1),
        ("c: {<<: [1]}", "<< takes a mapping or a list of mappings", 1),
        ("a: 1\n---\nb: 2", "a second document begins without a line of ---", 2),
        ("a: 1\nb: c: d", "mapping values are not allowed in this context", 2),
        ("a: 1\nb: \x01", "control characters are not allowed", 2),
    ],
)
def test_mistakes_have_their_line(text: str, problem: str, line: int) -> None:
    assert refusal(text) == (problem, line)


def test_keys_that_occur_twice_are_reported_and_the_last_one_counts() -> None:
    value, duplicates = read_yaml("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n1: x\n'1': z", Budget())
    assert value == {"a": 3, "b": {"c": 2}, "1": "z"}
    assert duplicates == [DuplicateKey("c", 4), DuplicateKey("a", 5), DuplicateKey("1", 7)]


def test_merged_keys_are_no_duplicates() -> None:
    assert read_yaml("a: &x {b: 1}\nc: {<<: *x, b: 2}", Budget())[1] == []


def test_what_an_alias_repeats_is_a_copy() -> None:
    value = read("a: &x {b: [1]}\nc: *x")
    value["a"]["b"].append(2)
    assert value["c"] == {"b": [1]}


def test_nesting_ends_at_the_limit() -> None:
    assert read("[" * 100 + "]" * 100)
    assert refusal("[" * 101 + "]" * 101) == ("nested more than 100 levels deep", 1)


def test_nesting_far_beyond_every_stack_is_refused_and_survived() -> None:
    assert refusal("[" * 200_000) == ("nested more than 100 levels deep", 1)
    assert refusal("- " * 200_000) == ("nested more than 100 levels deep", 1)


def test_aliases_cannot_nest_deeper_than_the_limit() -> None:
    text = "a: &x [[[[1]]]]\nb: [[[*x]]]"
    assert read(text, depth=9)["b"] == [[[[[[[1]]]]]]]
    assert refusal(text, depth=8) == ("nested more than 8 levels deep", 2)


def test_a_billion_laughs_end_early() -> None:
    lines = ["a0: &a0 [" + ",".join(["lol"] * 10) + "]"]
    lines += [f"a{n}: &a{n} [" + ",".join([f"*a{n - 1}"] * 10) + "]" for n in range(1, 12)]
    assert refusal("\n".join(lines), nodes=10_000) == ("more than 10000 values", 4)


def test_aliases_cannot_repeat_text_without_end() -> None:
    text = f"a: &x {'y' * 1000}\nb: [{','.join(['*x'] * 11)}]"
    assert refusal(text, expansion=10_000) == ("aliases repeat more than 10000 characters", 2)
    assert refusal(text, aliases=10) == ("more than 10 aliases", 2)
    assert len(read(text)["b"]) == 11


def test_keys_count_as_values() -> None:
    assert refusal("\n".join(f"k{n}:" for n in range(60)), nodes=100) == (
        "more than 100 values",
        50,
    )


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(DocumentError):
        json.dumps(read(text), allow_nan=False)
