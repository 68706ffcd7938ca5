"""Workloads that become ready without a node to run on.

Stands in for the controllers of Deployments, StatefulSets, DaemonSets and Jobs on a server
that has none: it writes the status they would write once all pods run. An annotation tells
it otherwise, per object::

    metadata:
      annotations:
        testkit.certwright.dev/workload: fail    # or: hang

``fail`` gives the status of a rollout that missed its deadline or of a Job out of retries,
``hang`` that of one still waiting for its pods. Changing or removing the annotation is
noticed; a Job that has ended stays ended, as Jobs do. It makes no pods and no ReplicaSets.
"""

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from certwright.kube import JsonObject, Key, Resource, format_time
from certwright.kube.kinds import DaemonSet, Deployment, Job, StatefulSet
from certwright.runtime import DONE, Context, Controller, Outcome, select

ANNOTATION: Final = "testkit.certwright.dev/workload"


class WorkloadResult(StrEnum):
    """What becomes of a workload."""

    READY = "ready"
    FAIL = "fail"
    HANG = "hang"


def workload_controllers(namespace: str = "") -> list[Controller]:
    """Return the controllers that simulate workloads, one per kind, of one namespace or all."""
    return [_controller(kind, namespace) for kind in (Deployment, StatefulSet, DaemonSet, Job)]


def _controller(kind: Resource, namespace: str) -> Controller:
    async def reconcile(ctx: Context, key: Key) -> Outcome:
        workload = ctx.get(kind, key)
        if workload is not None and "deletionTimestamp" not in workload["metadata"]:
            await ctx.status(workload, status_of(workload, ctx.clock.now()))
        return DONE

    watched = select(kind, namespace=namespace)
    return Controller(watched, reconcile, name=f"simulate-{kind.plural}")


def result_of(workload: JsonObject) -> WorkloadResult:
    """Read the annotation; what it does not know means ready."""
    wish = (workload["metadata"].get("annotations") or {}).get(ANNOTATION, "")
    return WorkloadResult(wish) if wish in set(WorkloadResult) else WorkloadResult.READY


def status_of(workload: JsonObject, now: datetime) -> JsonObject:
    """Return the whole status a workload should have; given its result it returns the same."""
    return _WRITERS[workload["kind"]](workload, result_of(workload), now)


def _deployment(workload: JsonObject, result: WorkloadResult, now: datetime) -> JsonObject:
    replicas: int = workload["spec"].get("replicas", 1)
    ready = result is WorkloadResult.READY
    progress = {
        WorkloadResult.READY: ("True", "NewReplicaSetAvailable"),
        WorkloadResult.FAIL: ("False", "ProgressDeadlineExceeded"),
        WorkloadResult.HANG: ("True", "ReplicaSetUpdated"),
    }
    available = ("True", "MinimumReplicasAvailable")
    unavailable = ("False", "MinimumReplicasUnavailable")
    conditions = {"Available": available if ready else unavailable, "Progressing": progress[result]}
    return {
        "observedGeneration": workload["metadata"]["generation"],
        **_counted(
            replicas=replicas,
            updatedReplicas=replicas,
            readyReplicas=replicas * ready,
            availableReplicas=replicas * ready,
            unavailableReplicas=replicas * (not ready),
        ),
        "conditions": _conditions(workload, conditions, now, "lastUpdateTime"),
    }


def _stateful_set(workload: JsonObject, result: WorkloadResult, _now: datetime) -> JsonObject:
    replicas: int = workload["spec"].get("replicas", 1)
    generation = workload["metadata"]["generation"]
    revision = f"{workload['metadata']['name']}-{generation}"
    ready = result is WorkloadResult.READY
    before = (workload.get("status") or {}).get("currentRevision", "")
    return {
        "observedGeneration": generation,
        "replicas": replicas,
        "availableReplicas": replicas * ready,
        **_counted(
            readyReplicas=replicas * ready,
            currentReplicas=replicas * ready,
            updatedReplicas=replicas,
        ),
        "currentRevision": revision if ready or not before else before,
        "updateRevision": revision,
        "collisionCount": 0,
    }


def _daemon_set(workload: JsonObject, result: WorkloadResult, _now: datetime) -> JsonObject:
    ready = int(result is WorkloadResult.READY)  # a cluster of one node
    return {
        "observedGeneration": workload["metadata"]["generation"],
        "desiredNumberScheduled": 1,
        "currentNumberScheduled": 1,
        "numberMisscheduled": 0,
        "numberReady": ready,
        **_counted(updatedNumberScheduled=1, numberAvailable=ready, numberUnavailable=1 - ready),
    }


def _job(workload: JsonObject, result: WorkloadResult, now: datetime) -> JsonObject:
    status: JsonObject = workload.get("status") or {}
    if any(c["status"] == "True" for c in status.get("conditions") or ()):
        return status  # it has ended
    start = status.get("startTime") or format_time(now.replace(microsecond=0))
    pods: int = workload["spec"].get("completions") or workload["spec"].get("parallelism") or 1
    match result:
        case WorkloadResult.HANG:
            return {"startTime": start, "active": pods, "ready": 0}
        case WorkloadResult.FAIL:
            reason = ("True", "BackoffLimitExceeded")
            conditions = {"FailureTarget": reason, "Failed": reason}
            ended: JsonObject = {"failed": workload["spec"].get("backoffLimit", 6) + 1}
        case WorkloadResult.READY:
            reason = ("True", "CompletionsReached")
            conditions = {"SuccessCriteriaMet": reason, "Complete": reason}
            ended = {"succeeded": pods, "completionTime": format_time(now.replace(microsecond=0))}
    return {
        "startTime": start,
        "ready": 0,
        "terminating": 0,
        "uncountedTerminatedPods": {},
        **ended,
        "conditions": _conditions(workload, conditions, now, "lastProbeTime"),
    }


_WRITERS: Final[dict[str, Callable[[JsonObject, WorkloadResult, datetime], JsonObject]]] = {
    "Deployment": _deployment,
    "StatefulSet": _stateful_set,
    "DaemonSet": _daemon_set,
    "Job": _job,
}


def _counted(**counts: int) -> JsonObject:
    """Leave out what is zero, as the API does with these fields."""
    return {name: count for name, count in counts.items() if count}


def _conditions(
    workload: JsonObject, wanted: dict[str, tuple[str, str]], now: datetime, stamp: str
) -> list[JsonObject]:
    """Return conditions; times move only when something changes. *stamp* is the kind's own."""
    found: list[Any] = (workload.get("status") or {}).get("conditions") or []
    before = {condition["type"]: condition for condition in found}
    instant = format_time(now.replace(microsecond=0))
    conditions = []
    for type_, (status, reason) in wanted.items():
        old = before.get(type_, {})
        same_status = old.get("status") == status
        same = same_status and old.get("reason") == reason
        conditions.append(
            {
                "type": type_,
                "status": status,
                "reason": reason,
                stamp: old[stamp] if same and stamp in old else instant,
                "lastTransitionTime": old["lastTransitionTime"] if same_status else instant,
            }
        )
    return conditions
