from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.kube import patches
from certwright.kube.patches import PatchError, apply_json_patch, copy, equal

KEYS = st.sampled_from(["a", "b", "a/b", "m~n", "", "0", "-", "~1"])
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.floats(0, 2) | st.sampled_from(["", "x"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def create_json_patch(old: Any, new: Any) -> list[dict[str, Any]]:
    return patches.create_json_patch(orjson.dumps(old), new)


@given(DOCUMENTS, DOCUMENTS)
def test_the_patch_between_two_documents_turns_one_into_the_other(old: Any, new: Any) -> None:
    before = copy(old)
    assert equal(apply_json_patch(old, create_json_patch(old, new)), new)
    assert equal(old, before)


@given(DOCUMENTS)
def test_equal_documents_need_no_patch(document: Any) -> None:
    assert create_json_patch(document, copy(document)) == []


def test_patches_are_small() -> None:
    old = {"spec": {"replicas": 1, "list": [1, 2, 3], "gone": True}, "same": {"x": [1]}}
    new = {"spec": {"replicas": 2, "list": [1, 9, 2, 3], "a/b~c": None}, "same": {"x": [1]}}
    assert create_json_patch(old, new) == [
        {"op": "remove", "path": "/spec/gone"},
        {"op": "replace", "path": "/spec/replicas", "value": 2},
        {"op": "add", "path": "/spec/list/1", "value": 9},
        {"op": "add", "path": "/spec/a~1b~0c", "value": None},
    ]
    assert create_json_patch([1, 2, 3, 4], [1, 4]) == [
        {"op": "remove", "path": "/2"},
        {"op": "remove", "path": "/1"},
    ]


@pytest.mark.parametrize(
    "written", [b'{"a": {"c": 1, "b": [1]}, "d": "\\u003c"}', b'{"d":"<","a":{"b":[1],"c":1}}']
)
def test_equal_documents_may_be_written_otherwise(written: bytes) -> None:
    assert patches.create_json_patch(written, {"a": {"b": [1], "c": 1}, "d": "<"}) == []


def test_numbers_too_large_for_a_machine_word_are_compared() -> None:
    large = 2**70
    assert patches.create_json_patch(b'{"a": {"b": 1}}', {"a": {"b": large}}) == [
        {"op": "replace", "path": "/a/b", "value": large}
    ]


def test_true_and_one_differ() -> None:
    assert create_json_patch({"a": 1}, {"a": True}) == [
        {"op": "replace", "path": "/a", "value": True}
    ]
    with pytest.raises(PatchError):
        apply_json_patch({"a": 1}, [{"op": "test", "path": "/a", "value": True}])


@pytest.mark.parametrize(
    ("document", "operation", "result"),
    [
        ({"a": 1}, {"op": "add", "path": "/b", "value": [2]}, {"a": 1, "b": [2]}),
        ({"a": 1}, {"op": "add", "path": "/a", "value": 2}, {"a": 2}),
        ([1, 3], {"op": "add", "path": "/1", "value": 2}, [1, 2, 3]),
        ([1, 2], {"op": "add", "path": "/-", "value": 3}, [1, 2, 3]),
        ([1, 2], {"op": "add", "path": "/2", "value": 3}, [1, 2, 3]),
        ({"a": 1}, {"op": "add", "path": "", "value": 2}, 2),
        ({"": 1}, {"op": "replace", "path": "/", "value": 2}, {"": 2}),
        ({"a": [1, 2]}, {"op": "remove", "path": "/a/0"}, {"a": [2]}),
        ({"a": 1}, {"op": "remove", "path": ""}, None),
        ({"a": None}, {"op": "replace", "path": "/a", "value": 2}, {"a": 2}),
        ([1, 2], {"op": "replace", "path": "/1", "value": 3}, [1, 3]),
        ({"a": 1}, {"op": "replace", "path": "", "value": []}, []),
        ({"a": {"x": 1}}, {"op": "move", "from": "/a/x", "path": "/b"}, {"a": {}, "b": 1}),
        ([1, 2, 3], {"op": "move", "from": "/0", "path": "/2"}, [2, 3, 1]),
        ({"a": 1}, {"op": "move", "from": "/a", "path": "/a"}, {"a": 1}),
        ({"a": [1]}, {"op": "copy", "from": "/a", "path": "/b"}, {"a": [1], "b": [1]}),
        ({"a": 1.0}, {"op": "test", "path": "/a", "value": 1}, {"a": 1.0}),
        (
            {"a": {"b": [1]}},
            {"op": "test", "path": "", "value": {"a": {"b": [1]}}},
            {"a": {"b": [1]}},
        ),
        ({"m~n/o": 1}, {"op": "replace", "path": "/m~0n~1o", "value": 2}, {"m~n/o": 2}),
        ({"~1": 1}, {"op": "remove", "path": "/~01"}, {}),
    ],
)
def test_performs_every_operation(document: Any, operation: dict[str, Any], result: Any) -> None:
    assert apply_json_patch(document, [operation]) == result


@pytest.mark.parametrize(
    ("operation", "problem"),
    [
        ({"op": "add", "path": "/x/y", "value": 1}, "operation 0: '/x' does not exist"),
        ({"op": "add", "path": "/s/y", "value": 1}, "operation 0: '/s/y': only objects and lists have members"),
        ({"op": "add", "path": "/l/4", "value": 1}, "operation 0: '/l/4': the list is shorter"),
        ({"op": "add", "path": "/l/01", "value": 1}, "operation 0: '/l/01': '01' is not an index of a list"),
        ({"op": "add", "path": "/l/-1", "value": 1}, "operation 0: '/l/-1': '-1' is not an index of a list"),
        ({"op": "add", "path": "/l/\u0661", "value": 1}, "operation 0: '/l/\u0661': '\u0661' is not an index of a list"),
        ({"op": "remove", "path": "/l/-"}, "operation 0: '/l/-': '-' is not an index of a list"),
        ({"op": "remove", "path": "/x~1y"}, "operation 0: '/x~1y' does not exist"),
        ({"op": "replace", "path": "/x", "value": 1}, "operation 0: '/x' does not exist"),
        ({"op": "replace", "path": "/l/3", "value": 1}, "operation 0: '/l/3': the list is shorter"),
        ({"op": "move", "from": "/x", "path": "/y"}, "operation 0: '/x' does not exist"),
        ({"op": "move", "from": "/l", "path": "/l/0"}, "operation 0: '/l' cannot move into itself"),
        ({"op": "copy", "path": "/y"}, "operation 0: from None is not a JSON pointer such as /spec/replicas"),
        ({"op": "test", "path": "/s", "value": "t"}, "operation 0: test failed: '/s' has another value"),
        ({"op": "test", "path": "/s"}, "operation 0: test needs a value"),
        ({"op": "add", "path": "/s"}, "operation 0: add needs a value"),
        ({"op": "add", "path": "s", "value": 1}, "operation 0: path 's' is not a JSON pointer such as /spec/replicas"),
        ({"op": "add", "path": 1, "value": 1}, "operation 0: path 1 is not a JSON pointer such as /spec/replicas"),
        ({"op": "increase", "path": "/s"}, "operation 0: 'increase' is not add, remove, replace, move, copy or test"),
        ({"path": "/s"}, "operation 0: None is not add, remove, replace, move, copy or test"),
        ("remove", "operation 0: an operation is an object with op and path"),
    ],
)  # fmt: skip
def test_says_which_operation_fails_and_why(operation: Any, problem: str) -> None:
    document = {"s": "text", "l": [1, 2, 3]}
    with pytest.raises(PatchError) as caught:
        apply_json_patch(document, [operation])
    assert str(caught.value) == problem


def test_a_failing_patch_leaves_the_document_alone() -> None:
    document = {"a": [1]}
    operations = [
        {"op": "add", "path": "/a/-", "value": 2},
        {"op": "test", "path": "/a/0", "value": 5},
    ]
    with pytest.raises(PatchError, match="operation 1: test failed"):
        apply_json_patch(document, operations)
    assert document == {"a": [1]}


def test_the_result_shares_nothing_with_document_or_patch() -> None:
    document, value = {"a": [1]}, {"x": [1]}
    result = apply_json_patch(document, [{"op": "add", "path": "/b", "value": value}])
    result["a"].append(2)
    result["b"]["x"].append(2)
    assert (document, value) == ({"a": [1]}, {"x": [1]})


def test_copies_are_independent() -> None:
    patch: list[dict[str, Any]] = [
        {"op": "copy", "from": "/a", "path": "/b"},
        {"op": "add", "path": "/b/-", "value": 2},
    ]
    assert apply_json_patch({"a": [1]}, patch) == {"a": [1], "b": [1, 2]}


def test_copying_cannot_grow_without_bound() -> None:
    bomb = [{"op": "add", "path": "/x", "value": ["0123456789"] * 100}] + [
        {"op": "copy", "from": "", "path": f"/{number}"} for number in range(40)
    ]
    with pytest.raises(PatchError, match="more than 3145728 bytes would be copied"):
        apply_json_patch({}, bomb)


def test_bounds_the_number_of_operations() -> None:
    with pytest.raises(PatchError, match="10001 operations; 10000 may be"):
        apply_json_patch({}, [{"op": "test", "path": "", "value": {}}] * 10_001)


def nested(levels: int, *, in_lists: bool) -> Any:
    document: Any = 1
    for _ in range(levels):
        document = [document] if in_lists else {"a": document}
    return document


@pytest.mark.parametrize("in_lists", [True, False])
def test_bounds_the_depth(in_lists: bool) -> None:  # noqa: FBT001 - a parameter of the test
    deep, other = nested(300, in_lists=in_lists), nested(300, in_lists=in_lists)
    written = b'{"a":' * 300 + b"2" + b"}" * 300
    for attempt in (
        lambda: create_json_patch({}, deep),
        lambda: patches.create_json_patch(written, nested(300, in_lists=False)),
        lambda: equal(deep, other),
        lambda: apply_json_patch({}, [{"op": "add", "path": "/a", "value": deep}]),
        lambda: apply_json_patch({}, [{"op": "remove", "path": "/a" * 300}]),
        lambda: apply_json_patch(deep, []),
    ):
        with pytest.raises(PatchError, match="nested more than 200 levels"):
            attempt()
    assert equal(nested(200, in_lists=in_lists), nested(200, in_lists=in_lists))
