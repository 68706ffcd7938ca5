"""Patches of webhooks, and the words for those that do not fit."""

from typing import Any

import pytest

from certwright.apiserver.admission.mutation import patch_failure, patched_object
from certwright.apiserver.builtins import served_kinds
from certwright.kube import InternalError, JsonObject

DOCUMENT = {"metadata": {"name": "a", "finalizers": ["x"]}, "data": {"x": "1"}}
CONFIG_MAPS = next(kind for kind in served_kinds() if kind.resource.kind == "ConfigMap")


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (
            {"op": "add", "path": "/a/b", "value": 1},
            'add operation does not apply: doc is missing path: "/a/b": missing value',
        ),
        (
            {"op": "remove", "path": "/data/y"},
            (
                "error in remove for path: '/data/y': Unable to remove nonexistent key: y: missing "
                "value"
            ),
        ),
        (
            {"op": "replace", "path": "/a/b", "value": 1},
            "replace operation does not apply: doc is missing path: /a/b: missing value",
        ),
        (
            {"op": "test", "path": "/data/x", "value": 1},
            "testing value /data/x failed: test failed",
        ),
        (
            {"op": "add", "path": "/metadata/finalizers/7", "value": "y"},
            (
                "error in add for path: '/metadata/finalizers/7': Unable to access invalid index: 7: "
                "invalid index referenced"
            ),
        ),
        (
            {"op": "copy", "path": "/data/y", "from": "/a/b"},
            "copy operation does not apply: doc is missing from path: /a/b: missing value",
        ),
        ({"op": "merge", "path": "/data"}, "Unexpected kind: merge"),
    ],
)
def test_failures(operation: Any, words: str) -> None:
    assert patch_failure(DOCUMENT, operation) == words
    with pytest.raises(InternalError) as failed:
        patched_object({**DOCUMENT}, [operation], CONFIG_MAPS)
    assert failed.value.message == f"Internal error occurred: {words}"


def test_patched_objects_are_of_their_kind() -> None:
    before: JsonObject = {"metadata": {"name": "a"}}
    operations = [{"op": "add", "path": path, "value": {"x": "1"}} for path in ("/data", "/dtaa")]
    assert patched_object(before, operations, CONFIG_MAPS)["data"] == {"x": "1"}
    assert "dtaa" not in patched_object(before, operations, CONFIG_MAPS)
    assert before == {"metadata": {"name": "a"}}, "the object given stays as it is"
    with pytest.raises(InternalError, match="cannot unmarshal"):
        patched_object(before, [{"op": "add", "path": "/data", "value": 5}], CONFIG_MAPS)
