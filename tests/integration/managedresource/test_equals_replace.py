"""Kept objects end as ``kubectl replace`` of the same manifests would leave them.

A replace is a GET and a PUT of the manifest with the live resourceVersion; it drops what others
added and lets the server fill in defaults anew. What a kept object keeps on purpose (metadata of
others, allocated ports and addresses) is left out of the comparison.
"""

import copy
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from tests.component.operators.managedresource.conftest import Keeping
from tests.support.manifestpairs import PAIRS, Pair

from certwright.kube import Conflict, GroupVersionKind, JsonObject, Resource
from certwright.kube.kinds import Namespace
from certwright.testkit.builders import namespace
from certwright.testkit.calls import is_write
from certwright.testkit.real import RealCluster

LIVE: dict[str, Callable[[Pair], tuple[JsonObject, JsonObject, JsonObject]]] = {
    "the second after the first": lambda pair: (pair.first, {}, pair.second),
    "the first after the second": lambda pair: (pair.second, {}, pair.first),
    "the first with additions": lambda pair: (pair.first, pair.addition, pair.first),
    "the second with additions": lambda pair: (pair.second, pair.addition, pair.second),
    "the second after additions": lambda pair: (pair.first, pair.addition, pair.second),
    "the first after additions": lambda pair: (pair.second, pair.addition, pair.first),
}
"""What there is: a manifest and what others add to it; and the manifest that is declared."""


def compared(obj: JsonObject, place: str) -> Any:
    """Return what must be equal of an object in whichever namespace."""
    obj = orjson.loads(orjson.dumps(obj).replace(place.encode(), b"NAMESPACE"))
    obj.pop("status", None)
    metadata = obj.pop("metadata")
    owners = metadata.get("ownerReferences")
    spec = obj.get("spec") or {}
    for name in ("clusterIP", "clusterIPs"):
        spec.pop(name, None)
    for port in spec.get("ports") or ():
        port.pop("nodePort", None)
    job = spec.get("jobTemplate") or {}
    templates = (
        spec.get("template"),
        obj.get("template"),
        job,
        (job.get("spec") or {}).get("template"),
    )
    for template in filter(None, templates):
        labels = (template.get("metadata") or {}).pop("labels", None) or {}
        generated = ("managed-by", "controller-uid", "job-name")
        kept = {name: value for name, value in labels.items() if not name.endswith(generated)}
        template["metadata"] = {**(template.get("metadata") or {}), "labels": kept}
    if obj["kind"] == "Job":
        spec.pop("selector")
    return {"owners": owners, **obj}


async def resource_of(cluster: RealCluster, pair: Pair) -> Resource:
    return await cluster.client.discovery.resource_for(
        GroupVersionKind.parse(pair.api_version, pair.kind)
    )


async def replace(cluster: RealCluster, resource: Resource, key: str, obj: JsonObject) -> Any:
    """Replace an object; its controller may write to it at the same time."""
    while True:
        live = await cluster.get(resource, key)
        obj["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
        if obj["kind"] == "Job":  # the server generated these, and insists on them
            obj["spec"]["selector"] = live["spec"]["selector"]
            obj["spec"]["template"]["metadata"] = live["spec"]["template"]["metadata"]
        try:
            return await cluster.client.update(obj)
        except Conflict:
            continue


@pytest.mark.parametrize("case", LIVE)
async def test_objects_end_as_replaced(real_cluster: RealCluster, case: str) -> None:
    keeping = Keeping(real_cluster)
    ours, theirs = real_cluster.namespace, f"{real_cluster.namespace}-replaced"
    await real_cluster.create(namespace(theirs))
    declared, replaced, ended = [], {}, {}
    for pair in PAIRS:
        resource = await resource_of(real_cluster, pair)
        before, addition, after = LIVE[case](pair)
        for place in (ours, theirs):
            await real_cluster.create(pair.manifest(before, place))
            if addition:
                await real_cluster.patch(resource, pair.key(place), addition)
        manifest = copy.deepcopy(pair.manifest(after, theirs))
        put = await replace(real_cluster, resource, pair.key(theirs), manifest)
        replaced[pair.kind] = compared(put, theirs)
        declared.append(pair.manifest(after, ours))
    try:
        await keeping.declare("web", *declared)
        await keeping.settle()
        assert (await keeping.conditions("web"))["Applied"] == "True/ApplySucceeded"
        written = [call for call in await keeping.restart() if is_write(call)]
        assert not written, "a restart writes nothing"
        for pair in PAIRS:
            resource = await resource_of(real_cluster, pair)
            ended[pair.kind] = compared(await real_cluster.get(resource, pair.key(ours)), ours)
    finally:
        await real_cluster.delete(Namespace, theirs)
        for pair in (pair for pair in PAIRS if pair.cluster_wide):
            resource = await resource_of(real_cluster, pair)
            for place in (ours, theirs):
                await real_cluster.delete(resource, pair.key(place))
    different = [kind for kind in replaced if ended[kind] != replaced[kind]]
    assert {kind: ended[kind] for kind in different} == {kind: replaced[kind] for kind in different}
