"""The controller of ReplicaSets: as many pods as wanted, and the status."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from certwright.kube import ApiError, Conflict, JsonObject, Key, LabelSelector, format_time
from certwright.kube.kinds import Pod, ReplicaSet
from certwright.runtime import (
    DONE,
    Channel,
    Context,
    Controller,
    Outcome,
    again,
    select,
)
from certwright.testkit.workloads.adoption import candidates_of, claim, controller_of
from certwright.testkit.workloads.podstate import (
    is_active,
    is_available,
    is_deleting,
    is_ready,
    is_terminating,
    next_availability,
    phase_of,
    ready_since,
    restarts_of,
)
from certwright.testkit.workloads.templates import pod_from

BURST: Final = 500
"""How many pods are made or deleted in one pass."""
_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


def replica_set_controller(namespace: str, channel: Channel) -> Controller:
    """Return the controller of ReplicaSets, of one namespace or all."""
    return Controller(
        select(ReplicaSet, namespace=namespace),
        _reconcile,
        name="replicaset-controller",
        owns=[select(Pod, namespace=namespace)],
        channels=[channel],
        conditions=(),
    )


async def _reconcile(ctx: Context, key: Key) -> Outcome:
    replica_set = ctx.get(ReplicaSet, key)
    if replica_set is None:
        return DONE
    active = await claim(ctx, Pod, replica_set, is_active)
    terminating = _terminating(ctx, replica_set)
    failure: ApiError | None = None
    if not is_deleting(replica_set):
        try:
            await _manage(ctx, replica_set, active)
        except Conflict:
            raise  # a pod changed meanwhile: decide again
        except ApiError as error:
            failure = error
    now = ctx.clock.now()
    status = replica_set_status(replica_set, active, len(terminating), str(failure or ""), now)
    await ctx.status(replica_set, status)
    if failure is not None:
        raise failure
    after = next_availability(active, replica_set["spec"].get("minReadySeconds", 0), now)
    return again(after) if after else DONE


async def _manage(ctx: Context, replica_set: JsonObject, active: Sequence[JsonObject]) -> None:
    missing = replica_set["spec"].get("replicas", 1) - len(active)
    for _ in range(min(missing, BURST)):
        try:
            pod = await ctx.create(
                pod_from(replica_set["spec"]["template"], replica_set), owner=replica_set
            )
        except ApiError as error:
            ctx.event(replica_set, "Warning", "FailedCreate", f"Error creating: {error}")
            raise
        name = pod["metadata"]["name"]
        ctx.event(replica_set, "Normal", "SuccessfulCreate", f"Created pod: {name}")
    if missing < 0:
        related = _related(ctx, replica_set)
        for pod in pods_to_delete(active, related, min(-missing, BURST)):
            await ctx.delete(pod)
            name = pod["metadata"]["name"]
            ctx.event(replica_set, "Normal", "SuccessfulDelete", f"Deleted pod: {name}")


def _terminating(ctx: Context, replica_set: JsonObject) -> list[JsonObject]:
    selector = LabelSelector.from_spec(replica_set["spec"].get("selector"))
    uid = replica_set["metadata"]["uid"]
    return [
        pod
        for pod in candidates_of(ctx, Pod, replica_set)
        if is_terminating(pod)
        and (controller_of(pod) or {}).get("uid") == uid
        and selector.matches(pod["metadata"].get("labels") or {})
    ]


def _related(ctx: Context, replica_set: JsonObject) -> list[JsonObject]:
    """Return the pods of all ReplicaSets of the same owner."""
    owner = controller_of(replica_set)
    sets = (
        [entry.obj() for entry in ctx.store(ReplicaSet).by_owner(owner["uid"])]
        if owner
        else [replica_set]
    )
    return [pod for each in sets for pod in ctx.owned(Pod, each)]


def replica_set_status(
    replica_set: JsonObject,
    active: Sequence[JsonObject],
    terminating: int,
    failure: str,
    now: datetime,
) -> JsonObject:
    """Return the status by the pods that were there before the pass changed their number."""
    spec = replica_set["spec"]
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    minimum = spec.get("minReadySeconds", 0)
    numbers = {
        "fullyLabeledReplicas": sum(
            labels.items() <= (pod["metadata"].get("labels") or {}).items() for pod in active
        ),
        "readyReplicas": sum(map(is_ready, active)),
        "availableReplicas": sum(is_available(pod, minimum, now) for pod in active),
    }
    conditions = _failure_conditions(replica_set, len(active), failure, now)
    return {
        "replicas": len(active),
        **{name: number for name, number in numbers.items() if number},
        "terminatingReplicas": terminating,
        "observedGeneration": replica_set["metadata"]["generation"],
        **({"conditions": conditions} if conditions else {}),
    }


def _failure_conditions(
    replica_set: JsonObject, present: int, failure: str, now: datetime
) -> list[JsonObject]:
    before: Iterable[JsonObject] = (replica_set.get("status") or {}).get("conditions") or ()
    kept = [each for each in before if each["type"] != "ReplicaFailure"]
    found = [each for each in before if each["type"] == "ReplicaFailure"]
    if not failure:
        return kept
    if found:
        return [*kept, *found]
    lacking = present < replica_set["spec"].get("replicas", 1)
    return [
        *kept,
        {
            "type": "ReplicaFailure",
            "status": "True",
            "lastTransitionTime": format_time(now),
            "reason": "FailedCreate" if lacking else "FailedDelete",
            "message": failure,
        },
    ]


def pods_to_delete(
    pods: Sequence[JsonObject], related: Iterable[JsonObject], count: int
) -> list[JsonObject]:
    """Choose the pods that are missed least: unscheduled, not ready, crowded, young."""
    crowd = Counter(pod["spec"].get("nodeName", "") for pod in related if is_active(pod))

    def rank(pod: JsonObject) -> tuple[Any, ...]:
        metadata, node = pod["metadata"], pod["spec"].get("nodeName", "")
        cost = (metadata.get("annotations") or {}).get(_COST, "0")
        since = ready_since(pod)
        return (
            bool(node),
            _PHASES.get(phase_of(pod), 0),
            is_ready(pod),
            int(cost) if cost.lstrip("-").isdecimal() else 0,
            -crowd[node],
            -since.timestamp() if since else 0,
            -restarts_of(pod),
            _newest_first(metadata.get("creationTimestamp", "")),
            metadata.get("uid", ""),
        )

    return sorted(pods, key=rank)[:count]


def _newest_first(timestamp: str) -> tuple[int, ...]:
    return tuple(-ord(letter) for letter in timestamp)
