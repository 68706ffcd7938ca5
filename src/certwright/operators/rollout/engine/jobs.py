"""CronJobs that are to run at once with new contents: a Job is made from their template."""

from contextlib import suppress
from typing import Final

from certwright.kube import AlreadyExists, JsonObject
from certwright.kube.kinds import CronJob, Job
from certwright.operators.rollout.workload import Workload
from certwright.runtime import Context

INSTANTIATE: Final = "cronjob.kubernetes.io/instantiate"
_LONGEST_NAME: Final = 52


def job_of(cron_job: JsonObject, digest: str) -> JsonObject:
    """Return the Job for a CronJob and a digest: the same name for the same contents."""
    metadata = cron_job["metadata"]
    template = cron_job["spec"]["jobTemplate"]
    given = template.get("metadata") or {}
    mark = "".join(letter for letter in digest.lower() if letter.isalnum())[-10:]
    return {
        "apiVersion": Job.api_version,
        "kind": Job.kind,
        "metadata": {
            "namespace": metadata["namespace"],
            "name": f"{metadata['name'][:_LONGEST_NAME]}-{mark}",
            "labels": given.get("labels") or {},
            "annotations": {**(given.get("annotations") or {}), INSTANTIATE: "manual"},
        },
        "spec": template["spec"],
    }


async def instantiate(ctx: Context, workload: Workload, digest: str) -> None:
    """Make a Job from a CronJob, once for the same contents."""
    cron_job = await ctx.client.get(CronJob, workload.ref.key)
    with suppress(AlreadyExists):  # made by a process that did not live to record it
        await ctx.create(job_of(cron_job, digest), owner=cron_job)
