from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.apiserver.fields.fieldset import (
    FieldSet,
    difference,
    field_set,
    intersection,
    is_subset,
    key_step,
    ordered,
    parse,
    paths,
    union,
    value_step,
    without,
)
from certwright.kube import JsonObject

Path = tuple[str, ...]
some_paths = st.frozensets(st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(tuple))


def trie(members: frozenset[Path]) -> FieldSet:
    """Build a set the slow and obvious way."""
    out: FieldSet = {}
    for path in members:
        out = union(out, field_set(".".join(path)))
    return out


def members(fields: FieldSet) -> frozenset[Path]:
    return frozenset(tuple(path[1:].split(".")) for path in paths(fields))


@given(some_paths)
def test_a_set_has_the_members_put_into_it(one: frozenset[Path]) -> None:
    assert members(trie(one)) == one


@given(some_paths, some_paths)
def test_set_operations_are_those_of_sets(one: frozenset[Path], two: frozenset[Path]) -> None:
    left, right = trie(one), trie(two)

    assert members(union(left, right)) == one | two
    assert members(difference(left, right)) == one - two
    assert members(intersection(left, right)) == one & two
    assert is_subset(left, right) == (one <= two)


@given(some_paths, some_paths)
def test_without_takes_what_is_below_too(one: frozenset[Path], two: frozenset[Path]) -> None:
    kept = {p for p in one if not any(p[: len(gone)] == gone for gone in two)}

    assert members(without(trie(one), trie(two))) == kept


@given(some_paths, some_paths)
@pytest.mark.parametrize("operation", [union, difference, intersection, without])
def test_results_are_printed_like_sets_of_their_members(
    operation: Callable[[FieldSet, FieldSet], FieldSet],
    one: frozenset[Path],
    two: frozenset[Path],
) -> None:
    result = operation(trie(one), trie(two))

    assert result == trie(members(result))


def test_steps_are_printed_alphabetically() -> None:
    fields: JsonObject = {"f:b": {"f:z": {}, ".": {}}, "f:a": {}}

    assert list(ordered(fields)) == ["f:a", "f:b"]
    assert list(ordered(fields)["f:b"]) == [".", "f:z"]


def test_paths_list_parents_first_and_items_by_value() -> None:
    ports: JsonObject = {
        key_step({"port": 443}): {".": {}, "f:name": {}},
        key_step({"port": 80, "protocol": "UDP"}): {},
    }
    fields = {"f:tags": {value_step("b"): {}, value_step("a"): {}}, "f:ports": ports}

    assert list(paths(fields)) == [
        '.ports[port=80,protocol="UDP"]',
        ".ports[port=443]",
        ".ports[port=443].name",
        '.tags[="a"]',
        '.tags[="b"]',
    ]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"f:a": {}}, {"f:a": {}}),
        ({'k:{"b":1,"a":"x"}': {}}, {'k:{"a":"x","b":1}': {}}),
        ({"v:1.0": {}}, {"v:1": {}}),
        ({'v:"<&>"': {}}, {'v:"\\u003c\\u0026\\u003e"': {}}),
        ({"z:future": {}, "f:a": {".": {}, "i:3": {}}}, {"f:a": {".": {}, "i:3": {}}}),
    ],
)
def test_sets_of_clients_are_read_into_the_servers_form(written: FieldSet, read: FieldSet) -> None:
    assert parse(written) == read


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ({"nonsense": {}}, "missing colon: nonsense"),
        ({"v:{": {}}, "unexpected end of data"),
        ({"k:[1]": {}}, "not an object: k:"),
        ({"f:a": []}, "fieldsV1 must be an object"),
    ],
)
def test_malformed_sets_are_refused(written: FieldSet, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse(written)
