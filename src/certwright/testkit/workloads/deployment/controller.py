"""The controller of Deployments: ReplicaSets of the right sizes, and the status.

A pass adopts ReplicaSets, decides what one step changes (`decide_deployment`), writes that, and
writes the status. Each step's own changes wake the next.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from certwright.kube import AlreadyExists, ApiError, JsonObject, Key, key_of
from certwright.kube.kinds import Deployment, Pod, ReplicaSet
from certwright.runtime import (
    DONE,
    Channel,
    Context,
    Controller,
    Outcome,
    again,
    allow,
    select,
)
from certwright.runtime.writes.patches import status_patch
from certwright.testkit.workloads.adoption import claim, controller_of
from certwright.testkit.workloads.deployment import rollout
from certwright.testkit.workloads.deployment import status as states
from certwright.testkit.workloads.podstate import has_ended, is_deleting
from certwright.testkit.workloads.templates import same_template


@dataclass(slots=True)
class DeploymentPlan:
    """What one pass of a Deployment does."""

    status: JsonObject
    revision: str = ""
    """The number of the present revision; empty before there is one."""
    create: rollout.Revision | None = None
    change: list[rollout.Revision] = field(default_factory=list)
    delete: list[JsonObject] = field(default_factory=list)


def deployment_controller(namespace: str, channel: Channel) -> Controller:
    """Return the controller of Deployments, of one namespace or all."""
    return Controller(
        select(Deployment, namespace=namespace),
        _reconcile,
        name="deployment-controller",
        owns=[select(ReplicaSet, namespace=namespace)],
        reads=[select(Pod, namespace=namespace)],
        channels=[channel],
        rbac=[allow(ReplicaSet, "get")],
        conditions=(),
    )


async def _reconcile(ctx: Context, key: Key) -> Outcome:
    deployment = ctx.get(Deployment, key)
    if deployment is None:
        return DONE
    replica_sets = await claim(ctx, ReplicaSet, deployment)
    plan = decide_deployment(
        deployment,
        replica_sets,
        lambda: [pod for each in replica_sets for pod in ctx.owned(Pod, each)],
        ctx.clock.now(),
    )
    if plan.create is not None and not await _create(ctx, deployment, plan):
        return DONE  # the collision count is written, which leads here again
    for revision in plan.change:
        await _change(ctx, deployment, revision)
    for replica_set in plan.delete:
        await ctx.delete(replica_set)
    await _write_status(ctx, deployment, plan)
    after = states.next_check(deployment, plan.status, ctx.clock.now())
    return again(after) if after else DONE


def decide_deployment(
    deployment: JsonObject,
    replica_sets: Sequence[JsonObject],
    pods: Callable[[], Sequence[JsonObject]],
    now: datetime,
) -> DeploymentPlan:
    """Decide one step: which ReplicaSets are made, sized and deleted, and what the status says.

    *pods* returns those of all its ReplicaSets; asked for only if none may run beside the new.
    """
    new, old = rollout.split(deployment, replica_sets)
    if new is not None:
        rollout.sync_annotations(deployment, new, old)
    if is_deleting(deployment):
        return _plan(deployment, new, old, now, rolling=False)
    deployment = _with_pause(deployment, now)
    paused = deployment["spec"].get("paused", False)
    if paused or rollout.is_scaling(deployment, [*old, *([new] if new else [])]):
        rollout.scale(deployment, new, old)
        plan = _plan(deployment, new, old, now, rolling=False)
        plan.delete = rollout.obsolete(deployment, old) if paused else []
        return plan
    if deployment["spec"]["strategy"]["type"] == "Recreate":
        if rollout.recreate(deployment, old) or _old_pods_run(new, old, pods()):
            return _plan(deployment, new, old, now, rolling=True)
        new = new or rollout.new_revision(deployment, old)
        rollout.grow(deployment, new)
    else:
        new = new or rollout.new_revision(deployment, old)
        rollout.roll(deployment, new, old)
    done = states.is_complete(deployment, deployment.get("status") or {})
    plan = _plan(deployment, new, old, now, rolling=True)
    plan.delete = rollout.obsolete(deployment, old) if done else []
    return plan


def _plan(
    deployment: JsonObject, new: rollout.Revision | None, old: Sequence[rollout.Revision],
    now: datetime, *, rolling: bool,
) -> DeploymentPlan:  # fmt: skip
    every = [*old, *([new] if new else [])]
    deployment = _with_discovery(deployment, new, now)
    status = states.counted(deployment, every, new, now)
    if rolling:
        status = states.progressed(deployment, status, every, new, now)
    return DeploymentPlan(
        status,
        new.annotations.get(rollout.REVISION, "") if new else "",
        create=new if new and not new.exists else None,
        change=[each for each in every if each.exists],
    )


def _with_pause(deployment: JsonObject, now: datetime) -> JsonObject:
    """Return the Deployment with the condition that it was paused or resumed, if it was."""
    status = deployment.get("status") or {}
    condition = states.find(status, "Progressing")
    if not states.has_deadline(deployment):
        return deployment
    reason = condition["reason"] if condition else ""
    paused = deployment["spec"].get("paused", False)
    if reason == states.TIMED_OUT or paused == (reason == states.PAUSED):
        return deployment
    words = ("Unknown", "DeploymentResumed", "Deployment is resumed")
    if paused:
        words = ("Unknown", states.PAUSED, "Deployment is paused")
    return _with_progress(deployment, words, now)


def _with_discovery(
    deployment: JsonObject, new: rollout.Revision | None, now: datetime
) -> JsonObject:
    """Return the Deployment with the condition that a new ReplicaSet was made or found."""
    if new is None or not states.has_deadline(deployment):
        return deployment
    if not new.exists:
        words = ("True", "NewReplicaSetCreated", f'Created new replica set "{new.name}"')
    elif states.find(deployment.get("status") or {}, "Progressing") is None:
        words = ("True", "FoundNewReplicaSet", f'Found new replica set "{new.name}"')
    else:
        return deployment
    return _with_progress(deployment, words, now)


def _with_progress(
    deployment: JsonObject, words: tuple[str, str, str], now: datetime
) -> JsonObject:
    status = deployment.get("status") or {}
    status = {**status, "conditions": list(status.get("conditions") or ())}
    states.set_condition(status, "Progressing", words, now)
    return {**deployment, "status": status}


def _old_pods_run(
    new: rollout.Revision | None, old: Sequence[rollout.Revision], pods: Sequence[JsonObject]
) -> bool:
    if any(each.count("replicas") for each in old):
        return True
    newest = new.obj["metadata"]["uid"] if new else ""
    running = [pod for pod in pods if not has_ended(pod)]
    return any((controller_of(pod) or {}).get("uid") != newest for pod in running)


async def _create(ctx: Context, deployment: JsonObject, plan: DeploymentPlan) -> bool:
    """Create the new ReplicaSet; return False if its name is taken by another one."""
    new = plan.create
    assert new is not None, "there is something to create"
    metadata = {**new.obj["metadata"], "annotations": new.annotations}
    spec = {**new.obj["spec"], "replicas": new.replicas}
    try:
        await ctx.create({**new.obj, "metadata": metadata, "spec": spec}, owner=deployment)
    except AlreadyExists:
        taken = await ctx.client.get(ReplicaSet, key_of(new.obj))
        owner = controller_of(taken) or {}
        ours = owner.get("uid") == deployment["metadata"]["uid"]
        if ours and same_template(taken["spec"]["template"], deployment["spec"]["template"]):
            return True  # the cache has not seen it yet
        status = deployment.get("status") or {}
        collisions = (status.get("collisionCount") or 0) + 1
        await ctx.status(deployment, {**status, "collisionCount": collisions})
        return False
    except ApiError as error:
        await _report_refusal(ctx, deployment, new.name, error)
        raise
    if new.replicas:
        _tell_scaled(ctx, deployment, new)
    return True


async def _report_refusal(ctx: Context, deployment: JsonObject, name: str, error: ApiError) -> None:
    message = f'Failed to create new replica set "{name}": {error}'
    ctx.event(deployment, "Warning", "ReplicaSetCreateError", message)
    if states.has_deadline(deployment):
        words = ("False", "ReplicaSetCreateError", message)
        reported = _with_progress(deployment, words, ctx.clock.now())
        await ctx.status(deployment, reported["status"])


async def _change(ctx: Context, deployment: JsonObject, revision: rollout.Revision) -> None:
    if (patch := revision.patch()) is not None:
        await ctx.patch(revision.obj, patch)
        if revision.replicas != revision.was:
            _tell_scaled(ctx, deployment, revision)


def _tell_scaled(ctx: Context, deployment: JsonObject, revision: rollout.Revision) -> None:
    direction = "up" if revision.replicas > revision.was else "down"
    sizes = f"from {revision.was} to {revision.replicas}"
    note = f"Scaled {direction} replica set {revision.name} {sizes}"
    ctx.event(deployment, "Normal", "ScalingReplicaSet", note)


async def _write_status(ctx: Context, deployment: JsonObject, plan: DeploymentPlan) -> None:
    """Write the status, and with it the revision, which then does not raise the generation."""
    annotations = deployment["metadata"].get("annotations") or {}
    patch = status_patch(deployment, plan.status) or {}
    change = {"status": patch["status"]} if patch else {}
    if plan.revision and annotations.get(rollout.REVISION) != plan.revision:
        change["metadata"] = {"annotations": {rollout.REVISION: plan.revision}}
    if change:
        await ctx.patch(deployment, change, subresource="status")
