"""Decisions as patches: one for each, with everything in it.

Annotations and labels are merged (RFC 7386), which works for every kind. Variables of containers
need a strategic merge, by the names of the containers, which works for the kinds of the API only.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from certwright.kube import JsonObject
from certwright.kube.timestamps import format_micro_time, format_time
from certwright.operators.rollout.decision.compare import ChangedSource, ContentComparison
from certwright.operators.rollout.decision.record import ABSENT
from certwright.operators.rollout.engine.views import template_path
from certwright.operators.rollout.policy import (
    DIGEST,
    DOMAIN,
    RESTARTED_AT,
    ConsumedSource,
    RestartFacts,
    RestartMarks,
    RestartMode,
    RolloutPolicy,
)
from certwright.operators.rollout.workload import Workload

RECREATED_FROM: Final = f"{DOMAIN}/recreated-from"
"""The annotation of a Job that took the place of another: the name of the first one."""
_GIVEN_LABELS: Final = frozenset(
    {
        "controller-uid",
        "job-name",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-name",
    }
)
_BLOCKS: Final = frozenset({"blockOwnerDeletion"})
"""It takes the right to update finalizers of the owner."""
_LAST_APPLIED: Final = frozenset({"kubectl.kubernetes.io/last-applied-configuration"})


def restart_patch(
    workload: Workload, policy: RolloutPolicy, comparison: ContentComparison, now: datetime
) -> JsonObject:
    """Return what restarts the pods of a workload, and records why."""
    marks = policy.restart_marks(_facts(workload, comparison, now, comparison.changed))
    annotations: dict[str, str | None] = {
        policy.record_annotation: comparison.record.write(),
        RESTARTED_AT: format_micro_time(now),
        **marks.annotations,
    }
    template = _template(policy, marks, comparison.digest)
    spec: JsonObject = dict(marks.spec)
    if policy.mode is RestartMode.RESTART_AT:
        spec["restartAt"] = format_time(now)
    if policy.pause_period is not None:
        spec["paused"] = True
        annotations[policy.pause_period.annotation] = format_time(now)
    patch: JsonObject = {"metadata": _metadata(marks.labels, annotations)}
    if spec:
        patch["spec"] = spec
    return _with_template(patch, workload, template)


def record_patch(
    workload: Workload, policy: RolloutPolicy, comparison: ContentComparison, now: datetime
) -> JsonObject:
    """Return what records contents and restarts nothing: it leaves the template alone."""
    marks = policy.record_marks(_facts(workload, comparison, now, ()))
    annotations = {policy.record_annotation: comparison.record.write(), **marks.annotations}
    return {"metadata": _metadata(marks.labels, annotations)}


def restarted_job(job: JsonObject, patch: JsonObject, name: str, first: str) -> JsonObject:
    """Return the Job that takes the place of another, with what a restart would change.

    What the server gave the other one does not come along: its selector, and labels of its pods.
    Its owners do. *first* is the name of the first one.
    """
    metadata, spec = job["metadata"], job["spec"]
    template = spec["template"]
    pods = template.get("metadata") or {}
    changed = _part(patch, "spec", "template", "metadata")
    labels = {**(pods.get("labels") or {}), **(changed.get("labels") or {})}
    marks = changed.get("annotations") or {}
    annotations = {**(metadata.get("annotations") or {}), **_part(patch, "metadata", "annotations")}
    annotations[RECREATED_FROM] = first
    if not spec.get("manualSelector"):
        spec = {member: value for member, value in spec.items() if member != "selector"}
    return {
        "apiVersion": job["apiVersion"],
        "kind": job["kind"],
        "metadata": {
            "namespace": metadata["namespace"],
            "name": name,
            "labels": _without(metadata.get("labels") or {}, _GIVEN_LABELS),
            "annotations": _without(annotations, _LAST_APPLIED),
            "ownerReferences": [
                _without(owner, _BLOCKS) for owner in metadata.get("ownerReferences") or ()
            ],
        },
        "spec": {
            **spec,
            "template": {
                **template,
                "metadata": {
                    **pods,
                    "labels": _without(labels, _GIVEN_LABELS),
                    "annotations": {**(pods.get("annotations") or {}), **marks},
                },
            },
        },
    }


def _part(patch: JsonObject, *path: str) -> JsonObject:
    for member in path:
        patch = patch.get(member) or {}
    return patch


def _without(values: JsonObject, names: frozenset[str]) -> JsonObject:
    """Return what is left, such as labels; None as a value removes one as well."""
    return {
        name: value for name, value in values.items() if name not in names and value is not None
    }


def resume_patch(annotation: str) -> JsonObject:
    """Return what ends the pause that came with a restart."""
    return {"metadata": {"annotations": {annotation: None}}, "spec": {"paused": False}}


def is_strategic(policy: RolloutPolicy) -> bool:
    """Return whether the patch of a restart is a strategic merge."""
    return policy.mode is RestartMode.ENVIRONMENT


def _facts(
    workload: Workload,
    comparison: ContentComparison,
    now: datetime,
    changed: tuple[ChangedSource, ...],
) -> RestartFacts:
    consumed = {one.use.ref: one for one in comparison.consumed}
    return RestartFacts(
        workload=workload,
        now=now,
        digest=comparison.digest,
        changed=tuple(
            consumed.get(one.use.ref) or ConsumedSource(one.use, "", ABSENT) for one in changed
        ),
        consumed=comparison.consumed,
    )


def _template(policy: RolloutPolicy, marks: RestartMarks, digest: str) -> JsonObject:
    """Return what changes in the pod template."""
    annotations = dict(marks.template_annotations)
    if policy.mode in {RestartMode.TEMPLATE, RestartMode.INSTANTIATE, RestartMode.RECREATE}:
        annotations[DIGEST] = digest
    template: JsonObject = {}
    if metadata := _metadata(marks.template_labels, annotations):
        template["metadata"] = metadata
    if marks.environment:
        template["spec"] = {
            "containers": [
                {"name": container, "env": [{"name": n, "value": v} for n, v in variables.items()]}
                for container, variables in marks.environment.items()
            ]
        }
    return template


def _metadata(labels: Mapping[str, Any], annotations: Mapping[str, Any]) -> JsonObject:
    found: JsonObject = {"labels": dict(labels)} if labels else {}
    return found | ({"annotations": dict(annotations)} if annotations else {})


def _with_template(patch: JsonObject, workload: Workload, template: JsonObject) -> JsonObject:
    if template:
        holder = patch
        *path, last = template_path(workload.ref.kind)
        for member in path:
            holder = holder.setdefault(member, {})
        holder[last] = template
    return patch
