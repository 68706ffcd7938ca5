"""Workloads that are ready without pods, for transcripts in which no pod has a name.

Writes into the status of Deployments, StatefulSets, DaemonSets and Jobs what their controllers
would write once all pods run, and makes no pods and no ReplicaSets.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from certwright.kube import JsonObject, Key, Resource, format_time
from certwright.kube.kinds import DaemonSet, Deployment, Job, StatefulSet
from certwright.runtime import DONE, Context, Controller, Outcome


def ready_workloads() -> list[Controller]:
    """Return the controllers that call workloads ready, one per kind."""
    return [_controller(kind) for kind in (Deployment, StatefulSet, DaemonSet, Job)]


def _controller(kind: Resource) -> Controller:
    async def reconcile(ctx: Context, key: Key) -> Outcome:
        workload = ctx.get(kind, key)
        if workload is not None and "deletionTimestamp" not in workload["metadata"]:
            status = _WRITERS[kind.kind](workload, ctx.clock.now())
            await ctx.status(workload, status)
        return DONE

    return Controller(kind, reconcile, name=f"ready-{kind.plural}")


def _deployment(workload: JsonObject, now: datetime) -> JsonObject:
    replicas: int = workload["spec"].get("replicas", 1)
    reasons = {"Available": "MinimumReplicasAvailable", "Progressing": "NewReplicaSetAvailable"}
    fields = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    return {
        "observedGeneration": workload["metadata"]["generation"],
        **(dict.fromkeys(fields, replicas) if replicas else {}),
        "conditions": _conditions(workload, reasons, now, "lastUpdateTime"),
    }


def _stateful_set(workload: JsonObject, _now: datetime) -> JsonObject:
    replicas: int = workload["spec"].get("replicas", 1)
    generation = workload["metadata"]["generation"]
    revision = f"{workload['metadata']['name']}-{generation}"
    fields = ("readyReplicas", "currentReplicas", "updatedReplicas")
    return {
        "observedGeneration": generation,
        "replicas": replicas,
        "availableReplicas": replicas,
        **(dict.fromkeys(fields, replicas) if replicas else {}),
        "currentRevision": revision,
        "updateRevision": revision,
        "collisionCount": 0,
    }


def _daemon_set(workload: JsonObject, _now: datetime) -> JsonObject:
    fields = (
        "desiredNumberScheduled", "currentNumberScheduled", "numberReady",
        "updatedNumberScheduled", "numberAvailable",
    )  # fmt: skip
    observed = {"observedGeneration": workload["metadata"]["generation"]}
    return {**observed, "numberMisscheduled": 0, **dict.fromkeys(fields, 1)}


def _job(workload: JsonObject, now: datetime) -> JsonObject:
    status: JsonObject = workload.get("status") or {}
    if any(c["status"] == "True" for c in status.get("conditions") or ()):
        return status  # it has ended
    instant = format_time(now)
    spec = workload["spec"]
    reasons = dict.fromkeys(("SuccessCriteriaMet", "Complete"), "CompletionsReached")
    return {
        "startTime": status.get("startTime") or instant,
        "ready": 0,
        "terminating": 0,
        "uncountedTerminatedPods": {},
        "succeeded": spec.get("completions") or spec.get("parallelism") or 1,
        "completionTime": instant,
        "conditions": _conditions(workload, reasons, now, "lastProbeTime"),
    }


_WRITERS: Final[dict[str, Callable[[JsonObject, datetime], JsonObject]]] = {
    "Deployment": _deployment,
    "StatefulSet": _stateful_set,
    "DaemonSet": _daemon_set,
    "Job": _job,
}


def _conditions(
    workload: JsonObject, reasons: dict[str, str], now: datetime, stamp: str
) -> list[JsonObject]:
    """Return conditions that are true; their times stay. *stamp* is the kind's own."""
    found: list[Any] = (workload.get("status") or {}).get("conditions") or []
    before = {condition["type"]: condition for condition in found}
    instant = format_time(now)
    return [
        before.get(type_)
        or {
            "type": type_,
            "status": "True",
            "reason": reason,
            stamp: instant,
            "lastTransitionTime": instant,
        }
        for type_, reason in reasons.items()
    ]
