"""The controller of Jobs: pods until enough of them have succeeded, or too many have failed."""

from datetime import timedelta

from certwright.client import Propagation
from certwright.kube import ApiError, JsonObject, Key
from certwright.kube.kinds import Job, Pod
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
from certwright.testkit.workloads.adoption import claim
from certwright.testkit.workloads.jobplan import (
    FINALIZER,
    JobPlan,
    decide_job,
    ended_at,
    finished_status,
    is_tracked,
)


def job_controller(namespace: str, channel: Channel) -> Controller:
    """Return the controller of Jobs, of one namespace or all."""
    return Controller(
        select(Job, namespace=namespace),
        _reconcile,
        name="job-controller",
        owns=[select(Pod, namespace=namespace)],
        channels=[channel],
        rbac=[allow(Job, "delete")],
        conditions=(),
    )


async def _reconcile(ctx: Context, key: Key) -> Outcome:
    job = ctx.get(Job, key)
    if job is None:
        await _release_orphans(ctx, key)
        return DONE
    if ended_at(job) is not None:
        await _release_all(ctx, [pod for pod in ctx.owned(Pod, job) if is_tracked(pod)])
        return await _expire(ctx, job)
    now = ctx.clock.now()
    pods = await claim(ctx, Pod, job)
    plan = decide_job(job, pods, now)
    try:
        await _create(ctx, job, plan)
    finally:
        await _count(ctx, job, pods, plan)
    return again(plan.after) if plan.after else DONE


async def _create(ctx: Context, job: JsonObject, plan: JobPlan) -> None:
    for index, pod in enumerate(plan.create):
        try:
            created = await ctx.create(pod, owner=job)
        except ApiError as error:
            lacking = len(plan.create) - index
            plan.status["active"] = max(plan.status.get("active", 0) - lacking, 0)
            ctx.event(job, "Warning", "FailedCreate", f"Error creating: {error}")
            raise
        note = f"Created pod: {created['metadata']['name']}"
        ctx.event(job, "Normal", "SuccessfulCreate", note)


async def _count(ctx: Context, job: JsonObject, pods: list[JsonObject], plan: JobPlan) -> None:
    """Note ended pods, let them go, delete what is too much, and write the numbers."""
    if plan.release:
        await ctx.status(job, plan.status)
    await _release_all(ctx, plan.release)
    for pod in plan.delete:
        found = ctx.get(Pod, Key(pod["metadata"]["namespace"], pod["metadata"]["name"]))
        if found is not None and found["metadata"]["uid"] == pod["metadata"]["uid"]:
            await ctx.delete(found)
            note = f"Deleted pod: {pod['metadata']['name']}"
            ctx.event(job, "Normal", "SuccessfulDelete", note)
    released = {pod["metadata"]["uid"] for pod in plan.release}
    held = {pod["metadata"]["uid"] for pod in pods if is_tracked(pod)} - released
    status, ended = finished_status(plan, held, ctx.clock.now())
    await ctx.status(job, status)
    if ended and plan.finish is not None:
        type_, reason, message = plan.finish
        if type_ == "Complete":
            ctx.event(job, "Normal", "Completed", "Job completed")
        else:
            ctx.event(job, "Warning", reason, message)


async def _release_all(ctx: Context, pods: list[JsonObject]) -> None:
    for pod in pods:
        await ctx.release(pod, FINALIZER)


async def _release_orphans(ctx: Context, key: Key) -> None:
    """Let go of the pods of a Job that is gone."""
    for entry in ctx.store(Pod).by_namespace(key.namespace):
        owner = entry.meta.controller
        if owner is None or (owner.kind, owner.name) != (Job.kind, key.name):
            continue
        if FINALIZER in entry.meta.finalizers:
            await ctx.release(entry.obj(), FINALIZER)


async def _expire(ctx: Context, job: JsonObject) -> Outcome:
    """Delete an ended Job when its time is over."""
    seconds, ended = job["spec"].get("ttlSecondsAfterFinished"), ended_at(job)
    if seconds is None or ended is None or "deletionTimestamp" in job["metadata"]:
        return DONE
    left = (ended + timedelta(seconds=seconds) - ctx.clock.now()).total_seconds()
    if left > 0:
        return again(left)
    await ctx.delete(job, propagation=Propagation.FOREGROUND)
    return DONE
