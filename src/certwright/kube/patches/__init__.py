"""Differences between documents, and the media types they travel under.

``create_*`` computes the patch that turns one document into another, ``apply_*`` performs
it. Documents are JSON values as Python spells them; none is ever changed in place. Strategic
merge and server-side apply need a kind's schema, so only their media types are here.
"""

from certwright.kube.patches.documents import PatchError
from certwright.kube.patches.jsonpatch import apply_json_patch, create_json_patch
from certwright.kube.patches.mergepatch import apply_merge_patch, create_merge_patch

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

__all__ = [
    "APPLY_PATCH",
    "JSON_PATCH",
    "MERGE_PATCH",
    "STRATEGIC_MERGE_PATCH",
    "PatchError",
    "apply_json_patch",
    "apply_merge_patch",
    "create_json_patch",
    "create_merge_patch",
]
