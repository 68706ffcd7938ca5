"""Annotations on objects, from the manifest in a Secret to what is done about the object.

What the engine does by its rules is tested with the engine; here, that the words of the
interface lead to these rules.
"""

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.api import resourcekeys as keys
from certwright.kube import JsonObject, Key
from certwright.kube.kinds import ConfigMap, Deployment, Job, Namespace
from certwright.testkit.builders import config_map, deployment, job, namespace

HELD = {"metadata": {"finalizers": ["example.com/hold"]}}


async def scale(keeping: Keeping, count: int) -> None:
    key, patch = Key(keeping.namespace, "d"), {"spec": {"replicas": count}}
    await keeping.cluster.client.patch(Deployment, key, patch, subresource="scale")


async def pod_spec(keeping: Keeping) -> JsonObject:
    found: JsonObject = (await keeping.find(Deployment, "d"))["spec"]["template"]["spec"]
    return found


@pytest.mark.scenario("MR-31")
@pytest.mark.parametrize(("value", "expected"), [("true", 5), ("True", 2), ("1", 2), (None, 2)])
async def test_only_the_literal_true_preserves_replicas(
    keeping: Keeping, value: str | None, expected: int
) -> None:
    annotations = {} if value is None else {keys.PRESERVE_REPLICAS: value}
    await keeping.declare("web", deployment("d", replicas=2, annotations=annotations))
    await keeping.settle()
    await scale(keeping, 5)
    await keeping.rewrite("web", deployment("d", replicas=2, image="x", annotations=annotations))
    await keeping.settle()
    found = await keeping.find(Deployment, "d")
    assert found["spec"]["replicas"] == expected
    assert (await pod_spec(keeping))["containers"][0]["image"] == "x"


@pytest.mark.scenario("MR-31")
async def test_replicas_that_no_manifest_names_stay(keeping: Keeping) -> None:
    unscaled = deployment("d")
    del unscaled["spec"]["replicas"]
    await keeping.declare("web", unscaled)
    await keeping.settle()
    await scale(keeping, 5)
    await keeping.settle()
    assert (await keeping.find(Deployment, "d"))["spec"]["replicas"] == 5
    assert (await keeping.restart()).of("Deployment").writes == 0


def sized(value: str, cpu: str, **more: str) -> JsonObject:
    workload = deployment("d", annotations={keys.PRESERVE_RESOURCES: value})
    requests = {"requests": {"cpu": cpu, **more}}
    workload["spec"]["template"]["spec"]["containers"][0]["resources"] = requests
    return workload


@pytest.mark.scenario("MR-34")
@pytest.mark.parametrize(("value", "cpu"), [("true", "100m"), ("True", "50m")])
async def test_only_the_literal_true_preserves_sizes(
    keeping: Keeping, value: str, cpu: str
) -> None:
    await keeping.declare("web", sized(value, "50m"))
    await keeping.settle()
    path = "/spec/template/spec/containers/0/resources/requests/cpu"
    resize = [{"op": "replace", "path": path, "value": "100m"}]
    await keeping.cluster.patch(Deployment, "d", resize, type="application/json-patch+json")
    await keeping.settle()
    wanted = sized(value, "50m", **{"ephemeral-storage": "1Gi"})
    new = {"name": "new", "image": "x", "resources": {"requests": {"cpu": "7m"}}}
    wanted["spec"]["template"]["spec"]["containers"].append(new)
    wanted["spec"]["template"]["spec"]["initContainers"] = [{**new, "name": "init"}]
    await keeping.rewrite("web", wanted)
    await keeping.settle()
    pod = await pod_spec(keeping)
    requests = {one["name"]: one["resources"]["requests"] for one in pod["containers"]}
    assert requests == {"main": {"cpu": cpu, "ephemeral-storage": "1Gi"}, "new": {"cpu": "7m"}}
    assert pod["initContainers"][0]["resources"]["requests"] == {"cpu": "7m"}


@pytest.mark.scenario("MR-37")
@pytest.mark.parametrize("value", [None, "true", "1", "yes"])
async def test_a_job_that_cannot_change_is_refused_or_replaced(
    embedded_keeping: Keeping, value: str | None
) -> None:
    keeping = embedded_keeping
    annotations = {} if value is None else {keys.DELETE_ON_INVALID_UPDATE: value}
    await keeping.declare("web", job("j", image="one", annotations=annotations))
    await keeping.settle()
    before = await keeping.find(Job, "j")
    await keeping.rewrite("web", job("j", image="two", annotations=annotations))
    await keeping.settle()
    await keeping.cluster.advance(seconds=10)
    after = await keeping.find(Job, "j")
    applied = (await keeping.conditions("web"))["Applied"]
    if keys.truthy(value):
        assert applied == "True/ApplySucceeded"
        assert after["metadata"]["uid"] != before["metadata"]["uid"]
        assert after["spec"]["template"]["spec"]["containers"][0]["image"] == "two"
    else:
        assert applied == "False/ApplyFailed"
        assert "field is immutable" in await keeping.message("web")
        assert after["metadata"]["uid"] == before["metadata"]["uid"]


@pytest.mark.scenario("MR-56")
@pytest.mark.parametrize("value", ["true", "1", "yes"])
async def test_the_live_object_says_whether_it_stays(keeping: Keeping, value: str) -> None:
    kept = {"metadata": {"annotations": {keys.KEEP_OBJECT: value}}}
    names = ("removed", "deleted", "stripped")
    asked = config_map("stripped", annotations={keys.KEEP_OBJECT: value})
    other = config_map("other")
    await keeping.declare("web", config_map("removed"), config_map("deleted"), asked, other)
    await keeping.settle()
    for name in ("removed", "deleted"):
        await keeping.cluster.patch(ConfigMap, name, kept)
    await keeping.settle()
    await keeping.cluster.stop()
    strip = {"metadata": {"annotations": {keys.KEEP_OBJECT: None}}}
    await keeping.cluster.patch(ConfigMap, "stripped", strip)
    await keeping.rewrite("web", config_map("deleted"), other)
    await keeping.settle()
    stays = keys.truthy(value)
    assert await keeping.exists(ConfigMap, *names) == (
        {"removed", "deleted"} if stays else {"deleted"}
    )
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    assert await keeping.find(keeping.kind, "web") is None
    assert await keeping.exists(ConfigMap, *names, "other") == (
        {"removed", "deleted"} if stays else set()
    )


async def stuck(keeping: Keeping, patience: str) -> None:
    """Delete a ManagedResource whose object has a finalizer and says how long to wait for it."""
    annotations = {keys.FINALIZE_DELETION_AFTER: patience}
    await keeping.declare("web", config_map("a", annotations=annotations))
    await keeping.settle()
    await keeping.cluster.patch(ConfigMap, "a", HELD)
    await keeping.settle()
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()


@pytest.mark.scenario("MR-60")
async def test_finalizers_are_cleared_when_the_time_of_an_object_is_over(
    embedded_keeping: Keeping,
) -> None:
    keeping = embedded_keeping
    await stuck(keeping, "1h")
    await keeping.cluster.advance(minutes=59)
    assert await keeping.exists(ConfigMap, "a") == {"a"}
    await keeping.cluster.advance(minutes=2)
    assert await keeping.exists(ConfigMap, "a") == set()
    assert await keeping.find(keeping.kind, "web") is None


@pytest.mark.scenario("MR-60")
async def test_a_time_that_is_none_is_told(embedded_keeping: Keeping) -> None:
    keeping = embedded_keeping
    await stuck(keeping, "bogus")
    await keeping.cluster.advance(hours=2)
    assert await keeping.exists(ConfigMap, "a") == {"a"}
    assert (await keeping.conditions("web"))["Applied"] == "Progressing/DeletionPending"
    assert "bogus" in await keeping.message("web")


@pytest.mark.scenario("MR-60")
async def test_the_time_of_a_namespace_counts_too(embedded_keeping: Keeping) -> None:
    keeping = embedded_keeping
    annotations = {keys.FINALIZE_DELETION_AFTER: "1h"}
    await keeping.declare("web", namespace("room", annotations=annotations))
    await keeping.settle()
    inside = {**config_map("inside", namespace="room")}
    inside["metadata"].update(HELD["metadata"])
    await keeping.cluster.create(inside)
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    await keeping.cluster.advance(minutes=59)
    assert await keeping.find(Namespace, "room") is not None
    await keeping.cluster.advance(minutes=2)
    assert await keeping.find(Namespace, "room") is None
    assert await keeping.find(keeping.kind, "web") is None
