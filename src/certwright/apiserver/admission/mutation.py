"""What a webhook's patch makes of an object. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from certwright.apiserver.admission.review import internal_error
from certwright.apiserver.kinds.kind import ServedKind, fill_defaults
from certwright.apiserver.patch.jsonpatch import apply_json_patch_leniently
from certwright.apiserver.schema.nulls import drop_nulls
from certwright.kube.errors import BadRequest
from certwright.kube.objects import JsonObject
from certwright.kube.patches import PatchError

_MISSING: Final = "missing value"


def patched_object(
    obj: JsonObject, operations: Sequence[Any], kind: ServedKind | None
) -> JsonObject:
    """Return an object as a webhook wants it: patched, in the shape of its kind, defaulted.

    Without a kind, as of a Scale, it is only patched.

    Raises:
        InternalError: the patch cannot be applied, or what comes out is not of the kind.
    """
    document: Any = obj
    for operation in operations:
        try:
            document = apply_json_patch_leniently(document, [operation])
        except PatchError:
            raise internal_error(patch_failure(document, operation)) from None
    if not isinstance(document, dict):
        raise internal_error("the patched object is not an object")
    if document.get("metadata") is None:
        document["metadata"] = {}
    if kind is None:
        return document
    if kind.custom:
        fill_defaults(document, kind)
        return document
    try:
        kind.decode(document)
    except BadRequest as error:
        resource = kind.resource
        prefix = f'{resource.kind} in version "{resource.version}" cannot be handled as a '
        raise internal_error(
            error.message.removeprefix(prefix).removeprefix(f"{resource.kind}: ")
        ) from None
    document.setdefault("metadata", {})
    fill_defaults(document, kind)
    return document


def pruned_object(obj: JsonObject, kind: ServedKind) -> JsonObject:
    """Return an object that webhooks changed without what its kind does not know.

    Between webhooks, custom resources are not pruned.
    """
    if kind.custom:
        kind.decode(obj)
        obj.setdefault("metadata", {})
        drop_nulls(obj, kind.schema)
    return obj


def patch_failure(document: Any, operation: Any) -> str:
    """Return why an operation of a JSON patch cannot be applied, in the words of Go's library."""
    found = operation if isinstance(operation, Mapping) else {}
    op, path = found.get("op") or "", found.get("path")
    if not isinstance(path, str):
        return f"{op} operation failed to decode path: {_MISSING}"
    parent, last = _parent(document, path)
    match op:
        case "add" | "remove" if parent is None:
            return f'{op} operation does not apply: doc is missing path: "{path}": {_MISSING}'
        case "remove" if isinstance(parent, dict):
            why = f"Unable to remove nonexistent key: {last}: {_MISSING}"
            return f"error in remove for path: '{path}': {why}"
        case "add" | "remove":
            return f"error in {op} for path: '{path}': {_index_failure(last)}"
        case "replace":
            what = "path" if parent is None else "key"
            return f"replace operation does not apply: doc is missing {what}: {path}: {_MISSING}"
        case "test":
            if parent is None:
                return f"test operation does not apply: is missing path: {path}: {_MISSING}"
            return f"testing value {path} failed: test failed"
        case "copy" | "move":
            source, missing = found.get("from") or "", "destination path"
            if _parent(document, source)[0] is None:
                path, missing = source, "from path"
            return f"{op} operation does not apply: doc is missing {missing}: {path}: {_MISSING}"
    return f"Unexpected kind: {op or 'unknown'}"


def _index_failure(last: str) -> str:
    if not last.lstrip("-").isdigit():
        parsing = f'strconv.Atoi: parsing "{last}": invalid syntax'
        return f"value was not a proper array index: '{last}': {parsing}"
    return f"Unable to access invalid index: {last}: invalid index referenced"


def _parent(document: Any, path: str) -> tuple[Any, str]:
    """Return what holds the last part of a pointer, None if nothing does, and that part."""
    *parts, last = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]] or [
        ""
    ]
    for part in parts:
        if isinstance(document, dict):
            document = document.get(part)
        elif isinstance(document, list) and part.isdigit() and int(part) < len(document):
            document = document[int(part)]
        else:
            return None, last
    return (document if isinstance(document, dict | list) else None), last
