"""Annotations on objects, from the manifest in a Secret to what is done about the object.

What the engine does by its rules is tested with the engine; here, that the words of the
interface lead to these rules.
"""

import pytest
from tests.component.operators.managedresource.conftest import Keeping, Toys

from certwright.api import resourcekeys as keys
from certwright.kube import JsonObject, Key
from certwright.kube.kinds import (
    ConfigMap,
    Deployment,
    Job,
    Namespace,
    PersistentVolumeClaim,
    ServiceAccount,
    ValidatingWebhookConfiguration,
)
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


REFERENCE = f"{keys.REFERENCE_PREFIX}configmap-12345678"


@pytest.mark.scenario("MR-27")
async def test_references_of_others_go_and_other_annotations_stay(keeping: Keeping) -> None:
    wanted = f"{keys.REFERENCE_PREFIX}secret-12345678"
    await keeping.declare("web", config_map("a", annotations={wanted: "s"}))
    await keeping.settle()
    theirs = {"metadata": {"annotations": {REFERENCE: "c", "theirs": "x"}}}
    await keeping.cluster.patch(ConfigMap, "a", theirs)
    await keeping.settle()
    annotations = (await keeping.find(ConfigMap, "a"))["metadata"]["annotations"]
    assert REFERENCE not in annotations
    assert (annotations[wanted], annotations["theirs"]) == ("s", "x")


@pytest.mark.scenario("MR-28")
async def test_finalizers_are_left_to_those_who_work_with_them(keeping: Keeping) -> None:
    ours, theirs = "example.com/ours", "example.com/theirs"
    await keeping.declare("web", config_map("a", {"n": "1"}, finalizers=[ours]))
    await keeping.settle()
    assert (await keeping.find(ConfigMap, "a"))["metadata"]["finalizers"] == [ours]
    await keeping.cluster.patch(ConfigMap, "a", {"metadata": {"finalizers": [theirs]}})
    await keeping.rewrite("web", config_map("a", {"n": "2"}, finalizers=[ours]))
    await keeping.settle()
    found = await keeping.find(ConfigMap, "a")
    assert found["data"] == {"n": "2"}
    assert found["metadata"]["finalizers"] == [theirs]
    await keeping.cluster.patch(ConfigMap, "a", {"metadata": {"finalizers": None}})


@pytest.mark.scenario("MR-29")
async def test_owners_are_those_of_the_manifest(keeping: Keeping) -> None:
    owner = await keeping.cluster.create(config_map("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner"}
    reference["uid"] = owner["metadata"]["uid"]
    await keeping.declare("web", config_map("a"))
    await keeping.settle()
    owned = {"metadata": {"ownerReferences": [reference]}}
    await keeping.cluster.patch(ConfigMap, "a", owned)
    await keeping.settle()
    assert not (await keeping.find(ConfigMap, "a"))["metadata"].get("ownerReferences")


@pytest.mark.scenario("MR-30")
async def test_the_status_is_left_to_those_who_write_it(keeping: Keeping, toys: Toys) -> None:
    definition = toys.definition()
    del definition["spec"]["versions"][0]["subresources"]
    await keeping.cluster.install(definition)
    await keeping.declare("web", {**toys.toy("t", size=1), "status": {"phase": "New"}})
    await keeping.settle()
    await keeping.cluster.patch(toys.resource, "t", {"status": {"phase": "Ready", "more": 1}})
    await keeping.rewrite("web", {**toys.toy("t", size=2), "status": {"phase": "New"}})
    await keeping.settle()
    found = await keeping.find(toys.resource, "t")
    assert (found["spec"], found["status"]) == ({"size": 2}, {"phase": "Ready", "more": 1})


@pytest.mark.scenario("MR-35")
async def test_a_restart_of_a_rollout_is_not_undone(keeping: Keeping) -> None:
    restarted = "kubectl.kubernetes.io/restartedAt"
    await keeping.declare("web", deployment("d"))
    await keeping.settle()
    note = {"metadata": {"annotations": {restarted: "2026-01-01T00:00:00Z"}}}
    await keeping.cluster.patch(Deployment, "d", {"spec": {"template": note}})
    await keeping.rewrite("web", deployment("d", image="new"))
    await keeping.settle()
    template = (await keeping.find(Deployment, "d"))["spec"]["template"]
    assert template["spec"]["containers"][0]["image"] == "new"
    assert template["metadata"]["annotations"][restarted] == "2026-01-01T00:00:00Z"


@pytest.mark.scenario("MR-40")
async def test_secrets_that_were_given_to_a_service_account_stay(keeping: Keeping) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "sa"}}
    await keeping.declare("web", {**account, "imagePullSecrets": [{"name": "first"}]})
    await keeping.settle()
    given = {"secrets": [{"name": "token"}], "imagePullSecrets": [{"name": "a"}, {"name": "b"}]}
    await keeping.cluster.patch(ServiceAccount, "sa", given)
    labelled = {**account, "metadata": {"name": "sa", "labels": {"x": "y"}}}
    await keeping.rewrite("web", {**labelled, "imagePullSecrets": [{"name": "first"}]})
    await keeping.settle()
    found = await keeping.find(ServiceAccount, "sa")
    assert found["metadata"]["labels"]["x"] == "y"
    assert found["secrets"] == given["secrets"]
    assert found["imagePullSecrets"] == given["imagePullSecrets"]


@pytest.mark.scenario("MR-41")
async def test_a_bound_claim_and_an_injected_bundle_cost_no_write(keeping: Keeping) -> None:
    access = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}}
    rule = {
        "apiGroups": ["example.com"],
        "apiVersions": ["v1"],
        "resources": ["things"],
        "operations": ["CREATE"],
    }
    name = f"hook-{keeping.namespace}"
    hook = {
        "name": "hook.example.com",
        "clientConfig": {"service": {"namespace": "default", "name": "none"}},
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Ignore",
    }
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [hook],
    }
    await keeping.declare("web", {**claim, "spec": access}, configuration)
    await keeping.settle()
    bound = {"spec": {"volumeName": "pv-1"}}
    await keeping.cluster.patch(PersistentVolumeClaim, "c", bound)
    inject = [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": CA}]
    kind = ValidatingWebhookConfiguration
    await keeping.cluster.patch(kind, name, inject, type="application/json-patch+json")
    for calls in (await keeping.settle(), await keeping.restart()):
        assert calls.of("PersistentVolumeClaim").writes == 0
        assert calls.of("ValidatingWebhookConfiguration").writes == 0
    assert (await keeping.find(PersistentVolumeClaim, "c"))["spec"]["volumeName"] == "pv-1"
    found = await keeping.find(kind, name)
    assert found["webhooks"][0]["clientConfig"]["caBundle"] == CA
    assert (await keeping.conditions("web"))["Applied"] == "True/ApplySucceeded"


CA = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJlekNDQVNHZ0F3SUJBZ0lVQVJ6RWRpQTE0OXpO"


@pytest.mark.scenario("MR-51")
async def test_fields_of_a_newer_api_arrive_and_stay(keeping: Keeping, toys: Toys) -> None:
    future = {"deep": [{"x": 1.5}], "flag": False}
    await keeping.cluster.install(toys.definition())
    await keeping.declare("web", toys.toy("t", future=future))
    await keeping.settle()
    assert (await keeping.find(toys.resource, "t"))["spec"] == {"future": future}
    await keeping.rewrite("web", toys.toy("t", future=future, size=1))
    await keeping.settle()
    assert (await keeping.find(toys.resource, "t"))["spec"] == {"future": future, "size": 1}


@pytest.mark.scenario("MR-93")
async def test_an_object_that_is_there_and_not_in_view_is_no_failure(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    """Our cache selects by a label that the object lost: it looks as if it were not there."""
    await keeping.declare("web", config_map("a", {"n": "1"}))
    await keeping.settle()
    before = await keeping.find(ConfigMap, "a")
    await keeping.cluster.stop()
    unlabelled = {"metadata": {"labels": {keys.MANAGED_BY: None}}, "data": {"n": "theirs"}}
    await keeping.cluster.patch(ConfigMap, "a", unlabelled)
    await keeping.rewrite("web", config_map("a", {"n": "2"}))
    await keeping.settle()
    found = await keeping.find(ConfigMap, "a")
    assert found["data"] == {"n": "2"}
    assert found["metadata"]["uid"] == before["metadata"]["uid"]
    assert await keeping.conditions("web") == healthy
    assert await keeping.events("ApplyFailed") == []
