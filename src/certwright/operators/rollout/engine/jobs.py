"""Jobs for new contents: from the template of a CronJob, or in the place of another Job.

The template of a Job cannot be changed. The Job that takes its place is created first, under a name
that follows from the contents, and only then the other is deleted. So whenever a process ends,
nothing is lost: until the other is gone its record says that a restart is due, and the next process
finds the new one there.
"""

from contextlib import suppress
from typing import Final

from certwright.client import Propagation
from certwright.kube import AlreadyExists, Conflict, JsonObject, Key, key_of
from certwright.kube.kinds import CronJob, Job
from certwright.operators.rollout.engine.patches import RECREATED_FROM, restarted_job
from certwright.operators.rollout.workload import Workload
from certwright.runtime import Context

INSTANTIATE: Final = "cronjob.kubernetes.io/instantiate"
_LONGEST_NAME: Final = 52


def job_of(cron_job: JsonObject, digest: str) -> JsonObject:
    """Return the Job for a CronJob and a digest: the same name for the same contents."""
    metadata = cron_job["metadata"]
    template = cron_job["spec"]["jobTemplate"]
    given = template.get("metadata") or {}
    return {
        "apiVersion": Job.api_version,
        "kind": Job.kind,
        "metadata": {
            "namespace": metadata["namespace"],
            "name": derived_name(metadata["name"], digest),
            "labels": given.get("labels") or {},
            "annotations": {**(given.get("annotations") or {}), INSTANTIATE: "manual"},
        },
        "spec": template["spec"],
    }


def derived_name(name: str, digest: str) -> str:
    """Return the name of the Job for a digest: the same for the same contents."""
    mark = "".join(letter for letter in digest.lower() if letter.isalnum())[-10:]
    return f"{name[:_LONGEST_NAME].rstrip('-.')}-{mark}"


async def recreate(ctx: Context, workload: Workload, patch: JsonObject, digest: str) -> None:
    """Put another Job into the place of one, once for the same contents."""
    key = workload.ref.key
    first = workload.annotations.get(RECREATED_FROM) or key.name
    name = derived_name(first, digest)
    if name == key.name:  # nothing may be deleted for which nothing is created
        name = derived_name(f"{first}-again", digest)
    job = await ctx.client.get(Job, key)
    if job["metadata"]["uid"] != workload.uid:
        raise Conflict(f"Job {key} is another one by now")
    known = ctx.store(Job).get(Key(key.namespace, name))
    if known is None or known.meta.deleting or known.annotations.get(RECREATED_FROM) != first:
        await _create(ctx, restarted_job(job, patch, name), first)
    await ctx.delete(job, propagation=Propagation.BACKGROUND)


async def _create(ctx: Context, job: JsonObject, first: str) -> None:
    """Create a Job in the place of the *first* one, unless it is there."""
    try:
        await ctx.create(job)
    except AlreadyExists:
        metadata = (await ctx.client.get(Job, key_of(job)))["metadata"]
        if (metadata.get("annotations") or {}).get(RECREATED_FROM) != first:
            raise  # it is not ours; the one before stays
        if metadata.get("deletionTimestamp"):
            raise AlreadyExists(
                f"Job {key_of(job)} had the same contents and is not gone yet; its finalizers say"
                " what it waits for"
            ) from None


async def instantiate(ctx: Context, workload: Workload, digest: str) -> None:
    """Make a Job from a CronJob, once for the same contents."""
    cron_job = await ctx.client.get(CronJob, workload.ref.key)
    with suppress(AlreadyExists):  # made by a process that did not live to record it
        await ctx.create(job_of(cron_job, digest), owner=cron_job)
