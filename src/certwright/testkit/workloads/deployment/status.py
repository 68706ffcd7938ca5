"""The status of a Deployment, word for word as kube-controller-manager writes it."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from certwright.kube import JsonObject, format_time
from certwright.kube.timestamps import parse_time
from certwright.testkit.workloads.deployment.rollout import NO_LIMIT, Revision, limits

PAUSED = "DeploymentPaused"
TIMED_OUT = "ProgressDeadlineExceeded"
_COMPLETE = "NewReplicaSetAvailable"


def has_deadline(deployment: JsonObject) -> bool:
    """Return whether a rollout that does not progress is to be reported."""
    return bool(deployment["spec"].get("progressDeadlineSeconds", NO_LIMIT) != NO_LIMIT)


def counted(
    deployment: JsonObject, revisions: Iterable[Revision], new: Revision | None, now: datetime
) -> JsonObject:
    """Return the status by the numbers of the ReplicaSets, with the Available condition."""
    every, status = list(revisions), deployment.get("status") or {}
    available = sum(each.count("availableReplicas") for each in every)
    missing = sum(each.replicas for each in every) - available
    replicas = sum(each.count("replicas") for each in every)
    ready = sum(each.count("readyReplicas") for each in every)
    numbers = {
        "replicas": replicas,
        "updatedReplicas": new.count("replicas") if new else 0,
        "readyReplicas": ready,
        "availableReplicas": available,
        "unavailableReplicas": max(missing, 0),
    }
    result: JsonObject = {
        "observedGeneration": deployment["metadata"]["generation"],
        **{name: number for name, number in numbers.items() if number},
        "terminatingReplicas": sum(each.count("terminatingReplicas") for each in every),
        "conditions": list(status.get("conditions") or ()),
    }
    if status.get("collisionCount") is not None:
        result["collisionCount"] = status["collisionCount"]
    if available >= deployment["spec"]["replicas"] - limits(deployment)[1]:
        words = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        message = "Deployment does not have minimum availability."
        words = ("False", "MinimumReplicasUnavailable", message)
    set_condition(result, "Available", words, now)
    return result


def progressed(
    deployment: JsonObject, counts: JsonObject, revisions: Iterable[Revision],
    new: Revision | None, now: datetime,
) -> JsonObject:  # fmt: skip
    """Return the status with what is to be said about the progress of a rollout."""
    status: JsonObject = {**counts, "conditions": list(counts["conditions"])}
    if has_deadline(deployment):
        _set_progress(deployment, status, new, now)
    else:
        remove_condition(status, "Progressing")
    failure = _replica_failure(revisions, new)
    if failure is None:
        remove_condition(status, "ReplicaFailure")
    else:
        words = (failure["status"], failure.get("reason", ""), failure.get("message", ""))
        set_condition(status, "ReplicaFailure", words, now)
    return status


def _set_progress(
    deployment: JsonObject, status: JsonObject, new: Revision | None, now: datetime
) -> None:
    before = find(deployment.get("status") or {}, "Progressing")
    replaced = status.get("replicas", 0) == status.get("updatedReplicas", 0)
    if replaced and before is not None and before.get("reason") == _COMPLETE:
        return  # complete already: what happens now is no rollout
    what = f'ReplicaSet "{new.name}"' if new else f'Deployment "{deployment["metadata"]["name"]}"'
    if is_complete(deployment, status):
        words = ("True", _COMPLETE, f"{what} has successfully progressed.")
        set_condition(status, "Progressing", words, now)
    elif _is_progress(deployment.get("status") or {}, status):
        remove_condition(status, "Progressing")
        words = ("True", "ReplicaSetUpdated", f"{what} is progressing.")
        set_condition(status, "Progressing", words, now)
        if before is not None and before["status"] == "True":
            status["conditions"][-1]["lastTransitionTime"] = before["lastTransitionTime"]
    elif _has_timed_out(deployment, status, now):
        words = ("False", TIMED_OUT, f"{what} has timed out progressing.")
        set_condition(status, "Progressing", words, now)


def is_complete(deployment: JsonObject, status: JsonObject) -> bool:
    """Return whether all wanted pods are of the present template, available, and alone."""
    fields = ("updatedReplicas", "replicas", "availableReplicas")
    wanted, metadata = deployment["spec"]["replicas"], deployment["metadata"]
    observed = status.get("observedGeneration", 0) >= metadata["generation"]
    return observed and all(status.get(field, 0) == wanted for field in fields)


def next_check(deployment: JsonObject, status: JsonObject, now: datetime) -> float | None:
    """Return the seconds after which a rollout may have missed its deadline; None if it cannot."""
    condition = find(status, "Progressing")
    if not has_deadline(deployment) or condition is None or deployment["spec"].get("paused"):
        return None
    if is_complete(deployment, status) or condition["reason"] in {TIMED_OUT, _COMPLETE}:
        return None
    return max((_deadline(deployment, condition) - now).total_seconds(), 0) + 1


def _has_timed_out(deployment: JsonObject, status: JsonObject, now: datetime) -> bool:
    condition = find(status, "Progressing")
    if condition is None or condition["reason"] == _COMPLETE:
        return False
    return condition["reason"] == TIMED_OUT or _deadline(deployment, condition) < now


def _deadline(deployment: JsonObject, condition: JsonObject) -> datetime:
    seconds = timedelta(seconds=deployment["spec"]["progressDeadlineSeconds"])
    return parse_time(condition["lastUpdateTime"]) + seconds


def _is_progress(before: JsonObject, after: JsonObject) -> bool:
    def old_pods(status: JsonObject) -> int:
        number: int = status.get("replicas", 0) - status.get("updatedReplicas", 0)
        return number

    grown = ("updatedReplicas", "readyReplicas", "availableReplicas")
    more = any(after.get(field, 0) > before.get(field, 0) for field in grown)
    return more or old_pods(after) < old_pods(before)


def _replica_failure(revisions: Iterable[Revision], new: Revision | None) -> JsonObject | None:
    """Return what the new ReplicaSet, or else an old one, says about pods it cannot make."""
    for revision in (*([new] if new else []), *revisions):
        if found := find(revision.obj.get("status") or {}, "ReplicaFailure"):
            return found
    return None


# Conditions, as Deployments have them


def find(status: JsonObject, type_: str) -> JsonObject | None:
    """Return a condition of a status, or None."""
    conditions: Iterable[JsonObject] = status.get("conditions") or ()
    return next((each for each in conditions if each["type"] == type_), None)


def set_condition(
    status: JsonObject, type_: str, words: tuple[str, str, str], now: datetime
) -> None:
    """Set a condition by status, reason and message, unless status and reason are the same."""
    value, reason, message = words
    before = find(status, type_)
    if before is not None and (before["status"], before["reason"]) == (value, reason):
        return
    instant = format_time(now)
    since = instant
    if before is not None and before["status"] == value:
        since = before["lastTransitionTime"]
    remove_condition(status, type_)
    status["conditions"].append(
        {
            "type": type_,
            "status": value,
            "lastUpdateTime": instant,
            "lastTransitionTime": since,
            "reason": reason,
            "message": message,
        }
    )


def remove_condition(status: JsonObject, type_: str) -> None:
    """Take a condition out of a status."""
    kept = [each for each in status.get("conditions") or () if each["type"] != type_]
    status["conditions"] = kept
