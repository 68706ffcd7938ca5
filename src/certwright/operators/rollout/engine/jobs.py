"""Jobs for new contents: from the template of a CronJob, or in the place of another Job.

The template of a Job cannot be changed. The Job that takes its place is created first, under a name
that follows from the contents and from the one it replaces, and only then the other is deleted. So
whenever a process ends, nothing is lost: until the other is gone its record says that a restart is
due, and the next process finds the new one there.
"""

from base64 import b32encode
from contextlib import suppress
from hashlib import sha256
from typing import Final

from certwright.client import Propagation
from certwright.kube import AlreadyExists, Conflict, JsonObject, Key, key_of
from certwright.kube.kinds import CronJob, Job
from certwright.operators.rollout.engine.patches import RECREATED_FROM, restarted_job
from certwright.operators.rollout.policy import RESTARTED_AT
from certwright.operators.rollout.workload import Workload
from certwright.runtime import Context

INSTANTIATE: Final = "cronjob.kubernetes.io/instantiate"
_LONGEST_NAME: Final = 52
_MARK: Final = 10


def job_of(cron_job: JsonObject, name: str) -> JsonObject:
    """Return a Job of a CronJob."""
    metadata = cron_job["metadata"]
    template = cron_job["spec"]["jobTemplate"]
    given = template.get("metadata") or {}
    return {
        "apiVersion": Job.api_version,
        "kind": Job.kind,
        "metadata": {
            "namespace": metadata["namespace"],
            "name": name,
            "labels": given.get("labels") or {},
            "annotations": {**(given.get("annotations") or {}), INSTANTIATE: "manual"},
        },
        "spec": template["spec"],
    }


def derived_name(name: str, *facts: str) -> str:
    """Return a name that begins with another: the same for the same facts, and for no others."""
    found = sha256("\n".join(facts).encode(errors="surrogatepass")).digest()
    mark = b32encode(found).decode().lower()[:_MARK]
    return f"{_stem(name)}-{mark}"


def _stem(name: str) -> str:
    return name[:_LONGEST_NAME].rstrip("-.")


def first_name(workload: Workload) -> str:
    """Return the name of the first of the Jobs that took the place of each other.

    A copy under another name is a first one, although it has the annotation of its original.
    """
    name = workload.ref.key.name
    first = workload.annotations.get(RECREATED_FROM, "")
    return first if first and name[: -_MARK - 1] == _stem(first) else name


async def recreate(ctx: Context, workload: Workload, patch: JsonObject, digest: str) -> None:
    """Put another Job into the place of one, once for the same contents."""
    key = workload.ref.key
    first = first_name(workload)
    name = derived_name(first, workload.uid, digest)
    job = await ctx.client.get(Job, key)
    if job["metadata"]["uid"] != workload.uid:
        raise Conflict(f"Job {key} is another one by now")
    known = ctx.store(Job).get(Key(key.namespace, name))
    if known is None or known.meta.deleting or known.annotations.get(RECREATED_FROM) != first:
        await _create(ctx, restarted_job(job, patch, name, first), first)
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
                f"Job {key_of(job)} is to take the place of another and is being deleted; its"
                " finalizers say what it waits for"
            ) from None


async def instantiate(ctx: Context, workload: Workload, digest: str) -> None:
    """Make a Job from a CronJob, once for each restart: the same name until it is on record."""
    cron_job = await ctx.client.get(CronJob, workload.ref.key)
    before = workload.annotations.get(RESTARTED_AT, "")  # as it was when that was decided
    name = derived_name(workload.ref.key.name, workload.uid, before, digest)
    with suppress(AlreadyExists):  # made by a process that did not live to record it
        await ctx.create(job_of(cron_job, name), owner=cron_job)
