"""JSON patches as the API server reads them: it forgives what RFC 6902 does not.

A missing field counts as null, so it can be replaced, copied, and tested for being null; so
does a missing value.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from certwright.kube.patches import PatchError, apply_json_patch


def apply_json_patch_leniently(document: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """Return *document* patched; `PatchError` if an operation is malformed, or fails."""
    try:
        return apply_json_patch(document, operations)
    except PatchError:
        for operation in operations:
            document = apply_json_patch(document, _strict(document, operation))
        return document


def _strict(document: Any, operation: Any) -> list[Any]:
    """Return the operations of RFC 6902 that do what the server does."""
    if not isinstance(operation, dict):
        return [operation]
    path = operation.get("path")
    if "value" not in operation:
        operation = {**operation, "value": None}
    match operation.get("op"):
        case "replace" if _is_missing(document, path):
            return [{**operation, "op": "add"}]
        case "test" if "value" in operation and operation["value"] is None:
            return [] if _is_missing(document, path) else [operation]
        case "copy" if _is_missing(document, operation.get("from")):
            return [{"op": "add", "path": path, "value": None}]
    return [operation]


def _is_missing(document: Any, pointer: Any) -> bool:
    """Tell whether a pointer names a field that is not there, in an object that is."""
    if not isinstance(pointer, str) or not pointer.startswith("/"):
        return False
    *parents, last = (part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/"))
    for part in parents:
        if isinstance(document, dict):
            document = document.get(part)
        elif isinstance(document, list) and part.isdecimal() and int(part) < len(document):
            document = document[int(part)]
        else:
            return False
    return isinstance(document, dict) and last not in document
