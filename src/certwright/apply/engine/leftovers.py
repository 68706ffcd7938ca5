"""Labels, annotations and owners of an object: what others put there, and whether it stays."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from certwright.apply.cluster import Live
from certwright.apply.engine.declared import Rules
from certwright.kube import JsonObject

_KEPT_LABELS: Final = ("kubernetes.io/metadata.name",)
_KEPT_ANNOTATIONS: Final = (
    "deployment.kubernetes.io/",
    "deprecated.daemonset.template.generation",
    "batch.kubernetes.io/",
    "pv.kubernetes.io/",
    "volume.kubernetes.io/",
    "volume.beta.kubernetes.io/",
    "control-plane.alpha.kubernetes.io/",
    "autoscaling.alpha.kubernetes.io/",
)
"""What the cluster itself notes on objects, and would write again at once."""
_KEPT_ON_SERVICES: Final = "loadbalancer.openstack.org"
"""Notes of a cloud's controller about the load balancer it made."""


def leftovers(desired: JsonObject, live: Live, rules: Rules) -> JsonObject | None:
    """Return the merge patch that removes what should not be there; None if nothing is."""
    wanted: Mapping[str, Any] = desired.get("metadata") or {}
    labels = _surplus_labels(wanted.get("labels") or {}, live, rules)
    annotations = _surplus_annotations(desired, wanted.get("annotations") or {}, live, rules)
    change: dict[str, Any] = {}
    if labels:
        change["labels"] = dict.fromkeys(labels)
    if annotations:
        change["annotations"] = dict.fromkeys(annotations)
    if rules.exact_owners:
        uids = {ref.get("uid") for ref in wanted.get("ownerReferences") or ()}
        owners = live.metadata.get("ownerReferences") or []
        kept = [ref for ref in owners if ref.get("uid") in uids]
        if len(kept) < len(owners):
            change["ownerReferences"] = kept or None
    if not change:
        return None
    return {"metadata": {"uid": live.uid, "resourceVersion": live.resource_version, **change}}


def merged_metadata(
    desired: JsonObject, live: Live, rules: Rules, own: Mapping[str, Collection[str]]
) -> JsonObject:
    """Return the metadata of an object that is replaced.

    Labels and annotations of others stay, unless the rules say otherwise; *own* are the names
    of those that we set before, which go when they are no longer wanted. Owners are as declared,
    and finalizers are left to those who work with them.
    """
    wanted: Mapping[str, Any] = desired.get("metadata") or {}
    labels, annotations = wanted.get("labels") or {}, wanted.get("annotations") or {}
    surplus = {
        "labels": set(_surplus_labels(labels, live, rules)),
        "annotations": set(_surplus_annotations(desired, annotations, live, rules)),
    }
    merged: dict[str, Any] = {**wanted, "uid": live.uid, "resourceVersion": live.resource_version}
    for name, declared in (("labels", labels), ("annotations", annotations)):
        gone = surplus[name].union(own.get(name, ()))
        present: Mapping[str, str] = live.metadata.get(name) or {}
        others = {key: value for key, value in present.items() if key not in gone}
        merged[name] = {**others, **declared}
    if (generated := live.metadata.get("generateName")) is not None:
        merged["generateName"] = generated
    return merged


def _surplus_labels(wanted: Mapping[str, str], live: Live, rules: Rules) -> list[str]:
    return [
        name
        for name in live.labels
        if name not in wanted
        and name not in _KEPT_LABELS
        and (rules.exact_labels or name.startswith(rules.drop_labels))
    ]


def _surplus_annotations(
    desired: JsonObject, wanted: Mapping[str, str], live: Live, rules: Rules
) -> list[str]:
    surplus: Iterable[str] = (name for name in live.annotations if name not in wanted)
    if not rules.exact_annotations:
        return [name for name in surplus if name.startswith(rules.drop_annotations)]
    kept: tuple[str, ...] = _KEPT_ANNOTATIONS
    if (desired.get("apiVersion"), desired.get("kind")) == ("v1", "Service"):
        kept += (_KEPT_ON_SERVICES,)
    return [
        name
        for name in surplus
        if name.startswith(rules.drop_annotations) or not name.startswith(kept)
    ]
