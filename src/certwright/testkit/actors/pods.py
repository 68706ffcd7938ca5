"""Pods for Deployments where no controller of Kubernetes makes any and no node runs them.

Stands in for the controllers of Deployments and ReplicaSets and for a kubelet: a Deployment gets
as many pods of its template as it has replicas, and they run at once. Another template or fewer
replicas take pods away again. What the annotation of `workloads` says goes for the pods, too:
they wait instead of running. Do not use it beside kube-controller-manager, which makes its own.
"""

from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Final

import orjson

from certwright.kube import JsonObject, Key, format_time
from certwright.kube.kinds import Deployment, Pod
from certwright.runtime import DONE, Context, Controller, Outcome, allow, select
from certwright.testkit.actors.workloads import WorkloadResult, result_of

MOST_PODS: Final = 500
"""How many pods one Deployment gets at most."""
_HASH: Final = "pod-template-hash"


def pod_controller(namespace: str = "") -> Controller:
    """Return the controller that gives Deployments their pods, of one namespace or all."""
    owned = select(Pod, namespace=namespace)
    watched = select(Deployment, namespace=namespace)
    rights = [allow(Pod, "patch", subresource="status")]
    return Controller(watched, _reconcile, name="simulate-pods", owns=[owned], rbac=rights)


async def _reconcile(ctx: Context, key: Key) -> Outcome:
    deployment = ctx.get(Deployment, key)
    if deployment is None or "deletionTimestamp" in deployment["metadata"]:
        return DONE  # the garbage collector deletes what it owned
    present = {pod["metadata"]["name"]: pod for pod in ctx.owned(Pod, deployment)}
    wanted = pods_of(deployment)
    for name in present.keys() - {pod["metadata"]["name"] for pod in wanted}:
        await ctx.delete(present[name])
    for pod in wanted:
        found = present.get(pod["metadata"]["name"])
        if found is None:
            await ctx.apply(pod, owner=deployment)  # its event leads here again
        else:
            await ctx.status(found, pod_status(found, result_of(deployment), ctx.clock.now()))
    return DONE


def pods_of(deployment: JsonObject) -> Sequence[JsonObject]:
    """Return the pods a Deployment should have; other names for another template."""
    metadata, spec = deployment["metadata"], deployment["spec"]
    template: JsonObject = spec["template"]
    text = orjson.dumps(template, option=orjson.OPT_SORT_KEYS)
    digest = blake2b(text, digest_size=5).hexdigest()
    given: JsonObject = template.get("metadata") or {}
    named = {**given, "labels": {**(given.get("labels") or {}), _HASH: digest}}
    return [
        {
            "apiVersion": Pod.api_version,
            "kind": Pod.kind,
            "metadata": {
                **named,
                "namespace": metadata["namespace"],
                "name": f"{metadata['name'][:200]}-{digest}-{number}",
            },
            "spec": template["spec"],
        }
        for number in range(min(spec.get("replicas", 1), MOST_PODS))
    ]


def pod_status(pod: JsonObject, result: WorkloadResult, now: datetime) -> JsonObject:
    """Return the status of a pod that runs, or of one that waits; times stay once they are set."""
    before: JsonObject = pod.get("status") or {}
    runs = result is WorkloadResult.READY
    phase = "Running" if runs else "Pending"
    if before.get("phase") == phase and before.get("startTime"):
        return before
    instant = format_time(now.replace(microsecond=0))
    status = "True" if runs else "False"
    conditions = [
        {"type": type_, "status": status, "lastTransitionTime": instant}
        for type_ in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    ]
    return {**before, "phase": phase, "startTime": instant, "conditions": conditions}
