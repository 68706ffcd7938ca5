"""What is expected here was read off a real server."""

from typing import Any

import pytest

from certwright.apiserver.patch.jsonpatch import apply_json_patch_leniently
from certwright.kube.patches import PatchError

DOCUMENT: dict[str, Any] = {"data": {"a": "b"}, "list": [{"x": 1}]}


@pytest.mark.parametrize(
    ("operation", "data"),
    [
        ({"op": "replace", "path": "/data/z", "value": "1"}, {"a": "b", "z": "1"}),
        ({"op": "replace", "path": "/data/a", "value": "1"}, {"a": "1"}),
        ({"op": "test", "path": "/data/z", "value": None}, {"a": "b"}),
        ({"op": "copy", "from": "/data/z", "path": "/data/y"}, {"a": "b", "y": None}),
        ({"op": "replace", "path": "/data/s~1t", "value": "1"}, {"a": "b", "s/t": "1"}),
    ],
)
def test_a_missing_field_counts_as_null(operation: Any, data: Any) -> None:
    remove = {"op": "remove", "path": "/list"}

    assert apply_json_patch_leniently(DOCUMENT, [remove, operation]) == {"data": data}
    assert "list" in DOCUMENT


def test_fields_of_items_too() -> None:
    operation = {"op": "replace", "path": "/list/0/y", "value": 2}

    assert apply_json_patch_leniently(DOCUMENT, [operation])["list"] == [{"x": 1, "y": 2}]


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "path": "/none/z", "value": "1"},
        {"op": "replace", "path": "/list/7", "value": "1"},
        {"op": "replace", "path": "/list/7/x", "value": "1"},
        {"op": "remove", "path": "/data/z"},
        {"op": "test", "path": "/data/z", "value": "x"},
        {"op": "test", "path": "/data/a", "value": None},
        {"op": "move", "from": "/data/z", "path": "/data/y"},
        {"op": "replace", "path": 1, "value": "1"},
        {"path": "/data/a"},
    ],
)
def test_everything_else_is_refused(operation: Any) -> None:
    with pytest.raises(PatchError):
        apply_json_patch_leniently(DOCUMENT, [operation])
