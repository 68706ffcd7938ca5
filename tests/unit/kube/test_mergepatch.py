from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.kube.patches import (
    PatchError,
    apply_merge_patch,
    copy,
    create_merge_patch,
    equal,
    merge_into,
)

KEYS = st.sampled_from(["a", "b", "c"])


def documents(scalars: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
        max_leaves=10,
    )


SCALARS = st.booleans() | st.integers(0, 2) | st.sampled_from(["", "x"])
DOCUMENTS = documents(SCALARS)
WITH_NULLS = documents(st.none() | SCALARS)


@given(WITH_NULLS, DOCUMENTS)
def test_the_patch_between_two_documents_turns_one_into_the_other(old: Any, new: Any) -> None:
    before = copy(old)
    assert equal(apply_merge_patch(old, create_merge_patch(old, new)), new)
    assert equal(old, before)


@given(WITH_NULLS, WITH_NULLS)
def test_what_cannot_be_said_is_refused_and_never_said_wrongly(old: Any, new: Any) -> None:
    try:
        patch = create_merge_patch(old, new)
    except PatchError:
        return
    assert equal(apply_merge_patch(old, patch), new)


@given(st.dictionaries(KEYS, WITH_NULLS))
def test_equal_objects_need_an_empty_patch(document: dict[str, Any]) -> None:
    assert create_merge_patch(document, copy(document)) == {}


def test_patches_hold_only_what_differs() -> None:
    old = {"spec": {"a": 1, "b": {"x": 1, "y": 2}, "list": [1, 2]}, "same": [1]}
    new = {"spec": {"a": 1, "b": {"x": 1}, "list": [1]}, "same": [1], "new": {"k": "v"}}
    assert create_merge_patch(old, new) == {
        "spec": {"b": {"y": None}, "list": [1]},
        "new": {"k": "v"},
    }


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merges_as_rfc_7396_shows(document: Any, patch: Any, result: Any) -> None:
    assert apply_merge_patch(document, patch) == result


OBJECTS = st.dictionaries(KEYS, WITH_NULLS)


@given(OBJECTS, OBJECTS)
def test_merging_in_place_gives_the_same_in_the_same_order(document: Any, patch: Any) -> None:
    expected = apply_merge_patch(document, patch)
    merge_into(document, patch)
    assert orjson.dumps(document) == orjson.dumps(expected)


def test_names_the_null_it_cannot_express() -> None:
    with pytest.raises(PatchError, match=r"/a/b becomes null, which a merge patch cannot express"):
        create_merge_patch({"a": {"b": 1}}, {"a": {"b": None}})
    with pytest.raises(PatchError, match="/a becomes null"):
        create_merge_patch([], {"a": None})


def test_the_result_shares_nothing_with_document_or_patch() -> None:
    document, patch = {"a": {"x": [1]}}, {"b": {"y": [1]}}
    result = apply_merge_patch(document, patch)
    result["a"]["x"].append(2)
    result["b"]["y"].append(2)
    assert (document, patch) == ({"a": {"x": [1]}}, {"b": {"y": [1]}})


def test_bounds_the_depth() -> None:
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"a": deep}
    with pytest.raises(PatchError, match="nested more than 200 levels"):
        create_merge_patch({}, deep)
    with pytest.raises(PatchError, match="nested more than 200 levels"):
        apply_merge_patch({}, deep)
    with pytest.raises(PatchError, match="nested more than 200 levels"):
        apply_merge_patch(deep, {"b": 1})
    with pytest.raises(PatchError, match="nested"):
        merge_into({}, deep)
