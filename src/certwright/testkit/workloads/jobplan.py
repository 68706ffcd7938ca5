"""What a Job does: how many pods it wants, when it has ended, and how it counts them.

Ended pods are counted once: their uids are noted in the status while a finalizer holds them, and
when it is gone, the uids become numbers. A pass that is cut short goes on where it was.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from certwright.kube import JsonObject, format_time, parse_time
from certwright.testkit.workloads.failurepolicy import is_counted, matched_rule
from certwright.testkit.workloads.jobindexes import (
    INDEX,
    index_of,
    index_ranges,
    matched_success,
    read_indexes,
)
from certwright.testkit.workloads.podstate import (
    has_ended,
    is_active,
    is_deleting,
    is_ready,
    is_terminating,
    phase_of,
    pod_condition,
)
from certwright.testkit.workloads.replicasets import pods_to_delete
from certwright.testkit.workloads.templates import pod_from

FINALIZER: Final = "batch.kubernetes.io/job-tracking"
BURST: Final = 500
_BACKOFF_SECONDS: Final = 10.0
_LONGEST_BACKOFF_SECONDS: Final = 600.0


@dataclass(slots=True)
class JobPlan:
    """What one pass of a Job does."""

    status: JsonObject
    """To be written before finalizers are removed."""
    create: list[JsonObject] = field(default_factory=list)
    release: list[JsonObject] = field(default_factory=list)
    """The pods whose finalizer is removed."""
    delete: list[JsonObject] = field(default_factory=list)
    finish: tuple[str, str, str] | None = None
    """Type, reason and message of the condition that ends the Job, once all pods are counted."""
    terminating: int = 0
    after: float | None = None
    """Seconds until something is due by time alone."""


def decide_job(job: JsonObject, pods: Sequence[JsonObject], now: datetime) -> JobPlan:
    """Decide what one pass does about a Job that has not ended."""
    spec = job["spec"]
    held = [pod for pod in pods if is_tracked(pod)]
    status = _counted(job.get("status") or {}, {pod["metadata"]["uid"] for pod in held})
    suspended = spec.get("suspend", False)
    if not status.get("startTime") and not suspended:
        status["startTime"] = format_time(now)
    active = [pod for pod in pods if is_active(pod)]
    plan = JobPlan(status, terminating=sum(map(is_terminating, pods)))
    succeeded, failed = _totals(job, status, held)
    criterion = _criterion(job, status, pods, failed, now) or _success(job, status, held)
    if criterion is None:
        _manage(plan, job, pods, active, succeeded, now)
        left = len(active) + len(plan.create) - len(plan.delete)
        wanted = spec.get("completions")
        enough = succeeded > 0 if wanted is None else succeeded >= wanted
        if enough and not left:
            message = "Reached expected number of succeeded pods"
            criterion = ("SuccessCriteriaMet", "CompletionsReached", message)
        elif not is_deleting(job):
            _note_suspension(status, now, suspended=suspended)
    else:
        plan.delete = active
    _count_ended(plan, job, held, criterion)
    if criterion is not None:
        plan.finish = _end(status, criterion, now)
    elif spec.get("activeDeadlineSeconds") is not None and not suspended:
        due = _started(status) + timedelta(seconds=spec["activeDeadlineSeconds"])
        plan.after = _sooner(plan.after, (due - now).total_seconds())
    deleted_ready = sum(map(is_ready, plan.delete))
    _set(status, "active", len(active) + len(plan.create) - len(plan.delete))
    status["ready"] = sum(map(is_ready, active)) - deleted_ready
    plan.terminating += len(plan.delete)
    status["terminating"] = plan.terminating
    return plan


def finished_status(plan: JobPlan, held: Collection[str], now: datetime) -> tuple[JsonObject, bool]:
    """Return the status after finalizers were removed, and whether the Job has ended with it.

    *held* are the uids of the pods that still have theirs.
    """
    status = _counted(plan.status, held)
    if plan.finish is None or any(status["uncountedTerminatedPods"].values()) or plan.terminating:
        return status, False
    type_, reason, message = plan.finish
    status["conditions"] = [*status["conditions"], _condition(type_, reason, message, now)]
    if type_ == "Complete":
        status["completionTime"] = format_time(now)
    return status, True


def ended_at(job: JsonObject) -> datetime | None:
    """Return when a Job ended; None if it has not."""
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in {"Complete", "Failed"} and condition["status"] == "True":
            return parse_time(condition["lastTransitionTime"])
    return None


def is_tracked(pod: JsonObject) -> bool:
    """Return whether a pod waits to be counted."""
    return FINALIZER in (pod["metadata"].get("finalizers") or ())


def _criterion(
    job: JsonObject, status: JsonObject, pods: Sequence[JsonObject], failed: int, now: datetime
) -> tuple[str, str, str] | None:
    """Return the condition by which a Job is to end, noted already or found now."""
    for condition in status["conditions"]:
        noted = condition["type"] in {"SuccessCriteriaMet", "FailureTarget"}
        if noted and condition["status"] == "True":
            return condition["type"], condition["reason"], condition["message"]
    for pod in pods:
        rule = matched_rule(job, pod) if _is_failed(pod, job) else None
        if rule is not None and rule.action == "FailJob":
            return "FailureTarget", "PodFailurePolicy", rule.message
    spec = job["spec"]
    limit = spec.get("backoffLimit", 6)
    if failed > limit or _restarted_too_often(job, pods, limit):
        message = "Job has reached the specified backoff limit"
        return "FailureTarget", "BackoffLimitExceeded", message
    seconds = spec.get("activeDeadlineSeconds")
    if seconds is None or spec.get("suspend") or "startTime" not in status:
        return None
    if now - _started(status) < timedelta(seconds=seconds):
        return None
    message = "Job was active longer than specified deadline"
    return "FailureTarget", "DeadlineExceeded", message


def _success(
    job: JsonObject, status: JsonObject, held: Sequence[JsonObject]
) -> tuple[str, str, str] | None:
    """Return the condition by which the policy lets a Job succeed before all indexes have."""
    policy = job["spec"].get("successPolicy")
    message = matched_success(policy, _done(job, status, held)) if policy else ""
    return ("SuccessCriteriaMet", "SuccessPolicy", message) if message else None


def _manage(
    plan: JobPlan, job: JsonObject, pods: Sequence[JsonObject], active: Sequence[JsonObject],
    succeeded: int, now: datetime,
) -> None:  # fmt: skip
    """Decide which pods are made and deleted while the Job goes on."""
    spec = job["spec"]
    if is_deleting(job):
        return
    parallelism, completions = spec.get("parallelism", 1), spec.get("completions")
    if spec.get("suspend"):
        wanted = 0
    elif completions is None:
        wanted = len(active) if succeeded else parallelism
    else:
        wanted = max(min(completions - succeeded, parallelism), 0)
    if len(active) > wanted:
        plan.delete = pods_to_delete(active, (), len(active) - wanted)[:BURST]
        plan.release = [pod for pod in plan.delete if is_tracked(pod)]
        return
    waiting = plan.terminating if spec.get("podReplacementPolicy") == "Failed" else 0
    missing = min(wanted - waiting - len(active), BURST)
    if missing <= 0:
        return
    if (remaining := _backoff([pod for pod in pods if is_counted(job, pod)], now)) > 0:
        plan.after = remaining
        return
    if spec.get("completionMode") == "Indexed":
        taken = {index_of(pod) for pod in active} | _completed(plan.status)
        taken |= {index_of(pod) for pod in pods if phase_of(pod) == "Succeeded"}
        free = [index for index in range(completions) if index not in taken]
        plan.create = [_pod(job, index) for index in free[:missing]]
    else:
        plan.create = [_pod(job) for _ in range(missing)]


def _count_ended(
    plan: JobPlan, job: JsonObject, held: Iterable[JsonObject], criterion: Any
) -> None:
    """Note ended pods in the status, and let go of those that are noted."""
    uncounted = plan.status["uncountedTerminatedPods"]
    failing = criterion is not None and criterion[0] == "FailureTarget"
    indexed = job["spec"].get("completionMode") == "Indexed"
    indexes = _completed(plan.status)
    releasing = {pod["metadata"]["uid"] for pod in plan.release}
    for pod in held:
        uid = pod["metadata"]["uid"]
        succeeded, failed = phase_of(pod) == "Succeeded", _is_failed(pod, job)
        if not (is_deleting(job) or criterion is not None or succeeded or failed):
            continue
        if uid not in releasing:
            plan.release.append(pod)
        if succeeded and uid not in uncounted.get("failed", ()):
            if indexed:
                indexes.add(index_of(pod))
            else:
                _append(uncounted, "succeeded", uid)
        elif (failed or failing) and is_counted(job, pod):
            _append(uncounted, "failed", uid)
    if indexed:
        indexes &= set(range(job["spec"]["completions"]))
        _set(plan.status, "completedIndexes", index_ranges(indexes))
        _set(plan.status, "succeeded", len(indexes))


def _totals(job: JsonObject, status: JsonObject, held: Sequence[JsonObject]) -> tuple[int, int]:
    """Return how many pods have succeeded and failed, counted or not."""
    uncounted = status["uncountedTerminatedPods"]
    noted = {*uncounted.get("succeeded", ()), *uncounted.get("failed", ())}
    fresh = [pod for pod in held if pod["metadata"]["uid"] not in noted]
    succeeded = status.get("succeeded", 0) + len(uncounted.get("succeeded", ()))
    if job["spec"].get("completionMode") == "Indexed":
        succeeded = len(_done(job, status, held))
    else:
        succeeded += sum(phase_of(pod) == "Succeeded" for pod in fresh)
    failed = status.get("failed", 0) + len(uncounted.get("failed", ()))
    return succeeded, failed + sum(_is_failed(pod, job) and is_counted(job, pod) for pod in fresh)


def _done(job: JsonObject, status: JsonObject, held: Iterable[JsonObject]) -> set[int]:
    """Return the indexes that have succeeded, counted or not."""
    fresh = {index_of(pod) for pod in held if phase_of(pod) == "Succeeded"}
    return (_completed(status) | fresh) & set(range(job["spec"]["completions"]))


def _completed(status: JsonObject) -> set[int]:
    return read_indexes(status.get("completedIndexes", ""))


def _counted(before: JsonObject, held: Collection[str]) -> JsonObject:
    """Return a status in which the uids of pods that are let go have become numbers."""
    status = {**before, "conditions": list(before.get("conditions") or ())}
    uncounted = dict(before.get("uncountedTerminatedPods") or {})
    for name in ("succeeded", "failed"):
        uids = uncounted.pop(name, [])
        kept = [uid for uid in uids if uid in held]
        _set(status, name, status.get(name, 0) + len(uids) - len(kept))
        if kept:
            uncounted[name] = kept
    status["uncountedTerminatedPods"] = uncounted
    return status


def _note_suspension(status: JsonObject, now: datetime, *, suspended: bool) -> None:
    before = next((c for c in status["conditions"] if c["type"] == "Suspended"), None)
    wanted = "True" if suspended else "False"
    if (before is None and not suspended) or (before is not None and before["status"] == wanted):
        return
    words = ("JobSuspended", "Job suspended") if suspended else ("JobResumed", "Job resumed")
    condition = {**_condition("Suspended", *words, now), "status": wanted}
    others = [condition if each is before else each for each in status["conditions"]]
    status["conditions"] = others if before is not None else [*others, condition]
    if suspended:
        status.pop("startTime", None)
    else:
        status["startTime"] = format_time(now)


def _end(
    status: JsonObject, criterion: tuple[str, str, str], now: datetime
) -> tuple[str, str, str]:
    """Note by what a Job ends; return the condition that says it has."""
    type_, reason, message = criterion
    if not any(each["type"] == type_ for each in status["conditions"]):
        status["conditions"].append(_condition(type_, reason, message, now))
    return "Failed" if type_ == "FailureTarget" else "Complete", reason, message


def _backoff(pods: Iterable[JsonObject], now: datetime) -> float:
    """Return how long no pod is made, by the failures since the last success."""
    ended = sorted((pod for pod in pods if has_ended(pod)), key=_finished)
    successes = [_finished(pod) for pod in ended if phase_of(pod) == "Succeeded"]
    failures = [_finished(pod) for pod in ended if phase_of(pod) == "Failed"]
    since = [at for at in failures if not successes or at > successes[-1]]
    if not since:
        return 0.0
    wait = min(_BACKOFF_SECONDS * (1 << min(len(since) - 1, 20)), _LONGEST_BACKOFF_SECONDS)
    return wait - (now - since[-1]).total_seconds()


def _finished(pod: JsonObject) -> datetime:
    """Return when a pod ended, as well as can be told."""
    states = [each.get("state") or {} for each in pod["status"].get("containerStatuses") or ()]
    stamps = [state.get("terminated", {}).get("finishedAt") for state in states]
    if stamps and all(stamps):
        return max(map(parse_time, stamps))
    ready = pod_condition(pod, "Ready") or {}
    stamp = ready.get("lastTransitionTime") or pod["metadata"]["creationTimestamp"]
    return parse_time(stamp)


def _is_failed(pod: JsonObject, job: JsonObject) -> bool:
    if phase_of(pod) == "Failed":
        return True
    if job["spec"].get("podReplacementPolicy") == "Failed":
        return False
    return is_deleting(pod) and phase_of(pod) != "Succeeded"


def _restarted_too_often(job: JsonObject, pods: Iterable[JsonObject], limit: int) -> bool:
    if job["spec"]["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(
        status.get("restartCount", 0)
        for pod in pods
        if phase_of(pod) in {"Running", "Pending"}
        for status in pod["status"].get("containerStatuses") or ()
    )
    return bool(restarts >= max(limit, 1))


def _pod(job: JsonObject, index: int | None = None) -> JsonObject:
    pod = pod_from(job["spec"]["template"], job)
    metadata = pod["metadata"]
    metadata["finalizers"] = [*(metadata.get("finalizers") or ()), FINALIZER]
    if index is None:
        return pod
    number, name = str(index), job["metadata"]["name"]
    for kind in ("labels", "annotations"):
        metadata[kind] = {**(metadata.get(kind) or {}), INDEX: number}
    metadata["generateName"] = f"{name}-{index}-"
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    variable = {"name": "JOB_COMPLETION_INDEX", "valueFrom": source}
    containers = [
        {**each, "env": [*(each.get("env") or ()), variable]} for each in pod["spec"]["containers"]
    ]
    spec = {**pod["spec"], "containers": containers, "hostname": f"{name}-{index}"}
    return {**pod, "spec": spec}


def _condition(type_: str, reason: str, message: str, now: datetime) -> JsonObject:
    instant = format_time(now)
    return {
        "type": type_,
        "status": "True",
        "lastProbeTime": instant,
        "lastTransitionTime": instant,
        "reason": reason,
        "message": message,
    }


def _started(status: JsonObject) -> datetime:
    return parse_time(status["startTime"])


def _append(uncounted: JsonObject, name: str, uid: str) -> None:
    if uid not in uncounted.get(name, ()):
        uncounted[name] = [*uncounted.get(name, ()), uid]


def _set(status: JsonObject, name: str, value: int | str) -> None:
    """Set a field, or leave it out if it is zero or empty, as the API does."""
    if value:
        status[name] = value
    else:
        status.pop(name, None)


def _sooner(one: float | None, other: float) -> float:
    return max(other if one is None else min(one, other), 0.001)
