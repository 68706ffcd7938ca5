"""Rules of Jobs and CronJobs."""

import re
from typing import Final

from certwright.apiserver.builtins.rules.checks import (
    all_non_negative,
    immutable,
    non_negative,
    one_of,
    selector_causes,
)
from certwright.apiserver.builtins.rules.pods import complete_spec, template_causes
from certwright.apiserver.causes import invalid_value, required, unsupported_value
from certwright.kube.errors import Cause
from certwright.kube.objects import JsonObject

_UID: Final = "batch.kubernetes.io/controller-uid"
_JOB_NAME: Final = "batch.kubernetes.io/job-name"
_COUNTS: Final = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
    "ttlSecondsAfterFinished",
)  # fmt: skip
_UNLIMITED: Final = (1 << 31) - 1
_CRON_FIELD = re.compile(r"[-*/,0-9A-Za-z?]+")


def complete_job(obj: JsonObject) -> None:
    """Fill in how often and how many."""
    spec = obj["spec"]
    complete_spec(spec["template"]["spec"])
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _UNLIMITED if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    replaced = "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed"
    spec.setdefault("podReplacementPolicy", replaced)
    labels = spec["template"]["metadata"].get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)


def prepare_job(new: JsonObject, old: JsonObject | None) -> None:
    """Give a new Job a selector of its own, unless the client brings one."""
    spec = new["spec"]
    if old is not None or spec.get("manualSelector"):
        return
    uid, name = new["metadata"]["uid"], new["metadata"].get("name", "")
    labels = spec["template"]["metadata"].setdefault("labels", {})
    are_defaults = (new["metadata"].get("labels") or {}) == labels
    labels.setdefault("controller-uid", uid)
    labels.setdefault(_UID, uid)
    if len(name) <= 63:
        labels.setdefault("job-name", name)
        labels.setdefault(_JOB_NAME, name)
    spec.setdefault("selector", {}).setdefault("matchLabels", {}).setdefault(_UID, uid)
    if are_defaults:
        new["metadata"]["labels"] = dict(labels)


def validate_job(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Check that a Job can end, and that its template does not change."""
    spec = new["spec"]
    causes = _job_spec_causes(spec, "spec")
    causes += selector_causes(spec.get("selector"), "spec.selector")
    if not spec.get("manualSelector"):
        causes += _generated_causes(new)
    if old is not None:
        before = old["spec"]
        causes += immutable(spec.get("selector"), before.get("selector"), "spec.selector")
        if not (spec.get("suspend") and before.get("suspend")):
            causes += immutable(spec["template"], before["template"], "spec.template")
        fixed = [
            "completionMode",
            "podFailurePolicy",
            "backoffLimitPerIndex",
            "managedBy",
            "successPolicy",
        ]
        if spec.get("completionMode") != "Indexed":
            fixed.append("completions")
        for field in fixed:
            causes += immutable(spec.get(field), before.get(field), f"spec.{field}")
    return causes


def _generated_causes(job: JsonObject) -> list[Cause]:
    """A generated selector holds the Job's uid and nothing else, and the template matches."""
    selector = job["spec"].get("selector") or {}
    labels = job["spec"]["template"]["metadata"].get("labels") or {}
    causes: list[Cause] = []
    if selector != {"matchLabels": {_UID: job["metadata"]["uid"]}}:
        why = "`selector` not auto-generated"
        causes.append(invalid_value("spec.selector", selector, why))
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        why = "`selector` does not match template `labels`"
        causes.append(invalid_value("spec.template.metadata.labels", labels, why))
    return causes


def _job_spec_causes(spec: JsonObject, path: str) -> list[Cause]:
    causes = all_non_negative(spec, _COUNTS, path)
    modes = ("NonIndexed", "Indexed")
    causes += one_of(spec.get("completionMode"), modes, f"{path}.completionMode")
    template = spec["template"]
    causes += template_causes(template, f"{path}.template")
    policy = template["spec"]["restartPolicy"]
    where = f"{path}.template.spec.restartPolicy"
    if policy == "Always":
        causes.append(required(where, 'valid values: "OnFailure", "Never"'))
    elif policy not in {"OnFailure", "Never"}:
        causes.append(unsupported_value(where, policy, ["OnFailure", "Never"]))
    return causes


def complete_cron_job(obj: JsonObject) -> None:
    """Fill in the template of the Jobs to come."""
    complete_spec(obj["spec"]["jobTemplate"]["spec"]["template"]["spec"])


def validate_cron_job(new: JsonObject, _old: JsonObject | None) -> list[Cause]:
    """Check the schedule and the template of the Jobs."""
    spec, name = new["spec"], new["metadata"].get("name") or ""
    schedule = spec.get("schedule")
    causes = _schedule_causes(schedule) if schedule else [required("spec.schedule")]
    causes += non_negative(spec.get("startingDeadlineSeconds"), "spec.startingDeadlineSeconds")
    policies = ("Allow", "Forbid", "Replace")
    causes += one_of(spec["concurrencyPolicy"], policies, "spec.concurrencyPolicy")
    path = "spec.jobTemplate.spec"
    job = spec["jobTemplate"]["spec"]
    if job.get("manualSelector"):
        supported = ["nil", "false"]
        causes.append(unsupported_value(f"{path}.manualSelector", True, supported))
    if job.get("selector") is not None:
        why = "`selector` will be auto-generated"
        causes.append(invalid_value(f"{path}.selector", job["selector"], why))
    causes += _job_spec_causes(job, path)
    if len(name) > 52:
        why = "must be no more than 52 characters"
        causes.append(invalid_value("metadata.name", name, why))
    return causes


def _schedule_causes(schedule: str) -> list[Cause]:
    if "TZ" in schedule:
        why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        return [invalid_value("spec.schedule", schedule, why)]
    fields = schedule.split()
    if schedule.startswith("@") or (
        len(fields) == 5 and all(_CRON_FIELD.fullmatch(field) for field in fields)
    ):
        return []
    listed = " ".join(fields)
    why = f"expected exactly 5 fields, found {len(fields)}: [{listed}]"
    return [invalid_value("spec.schedule", schedule, why)]
