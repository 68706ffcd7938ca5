"""Merge Patch, RFC 7396: the parts that change, with null where something goes away."""

from typing import Any

from certwright.kube.patches.documents import PatchError, check_depth, copy, equal


def create_merge_patch(old: Any, new: Any) -> Any:
    """Return the merge patch that turns *old* into *new*; ``{}`` if they are equal objects.

    Raises:
        PatchError: an object in *new* holds a null that *old* does not. A merge patch says
            null to delete, so it cannot say that.
    """
    if not isinstance(new, dict):
        return copy(new)
    return _difference(old if isinstance(old, dict) else {}, new, "", 0)


def apply_merge_patch(document: Any, patch: Any) -> Any:
    """Return *document* merged with *patch*: objects merge, null deletes, the rest replaces.

    Raises:
        PatchError: document or patch are nested too deeply.
    """
    return _merge(document, patch, 0)


def _difference(old: dict[str, Any], new: dict[str, Any], path: str, depth: int) -> dict[str, Any]:
    check_depth(depth)
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if key in old and equal(before, value, depth + 1):
            continue
        if value is None:
            raise PatchError(f"{path}/{key} becomes null, which a merge patch cannot express")
        if isinstance(value, dict):
            base = before if isinstance(before, dict) else {}
            patch[key] = _difference(base, value, f"{path}/{key}", depth + 1)
        else:
            patch[key] = copy(value, depth + 1)
    return patch


def _merge(document: Any, patch: Any, depth: int) -> Any:
    check_depth(depth)
    if not isinstance(patch, dict):
        return copy(patch, depth)
    # Everything the patch does not mention is copied, so that the result stands alone.
    merged = (
        {key: copy(value, depth + 1) for key, value in document.items() if key not in patch}
        if isinstance(document, dict)
        else {}
    )
    for key, value in patch.items():
        if value is not None:
            before = document.get(key) if isinstance(document, dict) else None
            merged[key] = _merge(before, value, depth + 1)
    return merged
