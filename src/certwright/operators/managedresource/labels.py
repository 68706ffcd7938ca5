"""Labels that every object gets, and the places in it where they go."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from certwright.api import resourcekeys as keys
from certwright.kube import JsonObject

_METADATA: Final = ("metadata",)
_POD_TEMPLATE: Final = ("spec", "template", "metadata")
_JOB_TEMPLATE: Final = ("spec", "jobTemplate", "metadata")
_JOB_POD_TEMPLATE: Final = ("spec", "jobTemplate", "spec", "template", "metadata")


def labels_for_all(inject: Mapping[str, str], managed_by: str) -> dict[str, str]:
    """Return the labels every object gets; the mark of our installation wins."""
    return {**inject, keys.MANAGED_BY: managed_by}


def inject_labels(obj: JsonObject, labels: Mapping[str, str]) -> JsonObject:
    """Return *obj* with labels on it, its pod template and its volume claim templates.

    Labels that are there already are overridden. Of a CronJob the templates of job and pod get
    them too. Places that are not mappings, as custom resources may have them, are left alone.
    The input is not changed.
    """
    if not labels:
        return obj

    def label(metadata: JsonObject) -> JsonObject:
        present = metadata.get("labels")
        present = present if isinstance(present, dict) else {}
        return {**metadata, "labels": {**present, **labels}}

    result = _change(obj, _METADATA, label)
    result = _change(result, _POD_TEMPLATE, label)
    if obj.get("kind") == "CronJob" and str(obj.get("apiVersion")).startswith("batch/"):
        result = _change(result, _JOB_TEMPLATE, label)
        result = _change(result, _JOB_POD_TEMPLATE, label)
    return _label_claims(result, label)


def _label_claims(obj: JsonObject, label: Callable[[JsonObject], JsonObject]) -> JsonObject:
    spec = obj.get("spec")
    claims = spec.get("volumeClaimTemplates") if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or not isinstance(claims, list):
        return obj
    changed = [_change(c, _METADATA, label) if isinstance(c, dict) else c for c in claims]
    return {**obj, "spec": {**spec, "volumeClaimTemplates": changed}}


def _change(
    obj: JsonObject, path: tuple[str, ...], change: Callable[[JsonObject], JsonObject]
) -> JsonObject:
    """Return *obj* with the mapping at a path changed; only the last step is created."""
    name, *rest = path
    inner: Any = obj.get(name)
    if inner is None and not rest:
        inner = {}
    if not isinstance(inner, dict):
        return obj
    changed = _change(inner, tuple(rest), change) if rest else change(inner)
    return obj if changed is inner else {**obj, name: changed}
