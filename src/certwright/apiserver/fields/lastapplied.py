"""Moving from kubectl's client-side apply to server-side apply, and back.

Client-side apply remembers the applied configuration in an annotation. The server reads it
when kubectl first applies server-side, and keeps it up to date afterwards.
"""

import orjson

from certwright.apiserver.fields.fieldset import FieldSet, difference
from certwright.apiserver.fields.merge import compare
from certwright.apiserver.fields.typed import check, owned
from certwright.apiserver.gotext import json_text
from certwright.apiserver.kinds.kind import ServedKind
from certwright.kube.objects import JsonObject

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
MANAGER = "kubectl"
"""The field manager of kubectl; others opt out by their name."""


def owned_fields(live: JsonObject, kind: ServedKind) -> FieldSet:
    """Return the fields kubectl owns through the annotation of its client-side apply.

    They are those it applied last and that did not change since: moving to server-side apply must
    not conflict with one's own earlier self.
    """
    text = ((live.get("metadata") or {}).get("annotations") or {}).get(ANNOTATION)
    try:
        last = orjson.loads(text or "")
        if last["apiVersion"] != kind.resource.api_version:
            return {}
        check(last, kind.schema)
        changes = compare(last, live, kind.schema)
    except (ValueError, TypeError, KeyError):  # the annotation can hold any text
        return {}
    fields = owned(last, kind.schema)
    return difference(difference(fields, changes.set), changes.removed)


def kept_in_step(obj: JsonObject, applied: JsonObject) -> JsonObject:
    """Keep kubectl's annotation in step, so that going back to client-side apply works."""
    metadata = obj.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if not annotations.get(ANNOTATION):
        return obj
    config = {**applied, "metadata": dict(applied.get("metadata") or {})}
    if ANNOTATION in (config["metadata"].get("annotations") or {}):
        rest = {k: v for k, v in config["metadata"]["annotations"].items() if k != ANNOTATION}
        config["metadata"]["annotations"] = rest
    text = json_text(config) + "\n"
    if annotations[ANNOTATION] == text:
        return obj
    return {**obj, "metadata": {**metadata, "annotations": {**annotations, ANNOTATION: text}}}
