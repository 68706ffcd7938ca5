"""Labels that every object gets, annotations that change hands, and objects left alone."""

import pytest
from tests.component.operators.managedresource.conftest import Keeping, Toys

from certwright.kube import JsonObject
from certwright.kube.kinds import ConfigMap, CronJob, Deployment, StatefulSet
from certwright.testkit.builders import config_map, deployment, stateful_set

MANAGED_BY = "resources.gardener.cloud/managed-by"
MODE = "resources.gardener.cloud/mode"
ORIGIN = "resources.gardener.cloud/origin"
DESCRIPTION = "resources.gardener.cloud/description"
IGNORE = "resources.gardener.cloud/ignore"


def with_claims(obj: JsonObject) -> JsonObject:
    """Return a StatefulSet that wants a volume for each pod."""
    claim = {
        "metadata": {"name": "data", "labels": {"own": "yes"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    return {**obj, "spec": {**obj["spec"], "volumeClaimTemplates": [claim]}}


def cron_job(name: str) -> JsonObject:
    pod = {"containers": [{"name": "main", "image": "app"}], "restartPolicy": "Never"}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name},
        "spec": {
            "schedule": "0 0 1 1 *",
            "jobTemplate": {"spec": {"template": {"spec": pod}}},
        },
    }


@pytest.mark.scenario("MR-42")
async def test_labels_go_where_pods_and_volumes_get_them_from(keeping: Keeping) -> None:
    await keeping.declare("web", with_claims(stateful_set("db")), injectLabels={"foo": "bar"})
    await keeping.settle()
    ours = {"foo": "bar", MANAGED_BY: keeping.namespace}
    found = await keeping.find(StatefulSet, "db")
    assert found["metadata"]["labels"] == ours
    assert found["spec"]["template"]["metadata"]["labels"] == {"app": "db", **ours}
    [claim] = found["spec"]["volumeClaimTemplates"]
    assert claim["metadata"]["labels"] == {"own": "yes", **ours}
    [entry] = (await keeping.status("web"))["resources"]
    assert entry["labels"] == ours
    assert (await keeping.restart()).writes == 0


@pytest.mark.scenario("MR-42")
async def test_of_a_cron_job_jobs_and_pods_get_them_too(keeping: Keeping) -> None:
    await keeping.declare("web", cron_job("nightly"), injectLabels={"foo": "bar"})
    await keeping.settle()
    ours = {"foo": "bar", MANAGED_BY: keeping.namespace}
    found = await keeping.find(CronJob, "nightly")
    job = found["spec"]["jobTemplate"]
    assert found["metadata"]["labels"] == ours
    assert job["metadata"]["labels"] == ours
    assert job["spec"]["template"]["metadata"]["labels"] == ours


async def test_the_mark_of_the_installation_cannot_be_injected(keeping: Keeping) -> None:
    await keeping.declare("web", deployment("web"), injectLabels={MANAGED_BY: "foo"})
    await keeping.settle()
    found = await keeping.find(Deployment, "web")
    assert found["metadata"]["labels"][MANAGED_BY] == keeping.namespace
    assert found["spec"]["template"]["metadata"]["labels"][MANAGED_BY] == keeping.namespace


async def test_labels_no_longer_injected_disappear(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("a"), injectLabels={"foo": "bar", "old": "one"})
    await keeping.settle()
    await keeping.change("web", injectLabels={"foo": "new", "old": None})
    calls = await keeping.settle()
    labels = (await keeping.find(ConfigMap, "a"))["metadata"]["labels"]
    assert labels == {"foo": "new", MANAGED_BY: keeping.namespace}
    assert calls.of("ConfigMap").writes == 1
    assert await keeping.conditions("web") == healthy


@pytest.mark.scenario("MR-43")
async def test_a_template_that_is_none_is_left_alone(
    keeping: Keeping, toys: Toys, healthy: dict[str, str]
) -> None:
    await keeping.cluster.install(toys.definition())
    toy = toys.toy("bear", template="a text", volumeClaimTemplates=["texts", "too"])
    await keeping.declare("web", toy, injectLabels={"foo": "bar"})
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    found = await keeping.find(toys.resource, "bear")
    assert found["spec"] == {"template": "a text", "volumeClaimTemplates": ["texts", "too"]}
    assert found["metadata"]["labels"] == {"foo": "bar", MANAGED_BY: keeping.namespace}


@pytest.mark.scenario("MR-53")
async def test_an_object_to_be_ignored_is_released(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("a", {"n": "1"}), config_map("b"))
    await keeping.settle()
    kept = await keeping.find(ConfigMap, "a")
    ignored = config_map("a", {"n": "2"}, annotations={MODE: "Ignore"})
    await keeping.rewrite("web", ignored, config_map("b"))
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert await keeping.inventory("web") == ["ConfigMap/b"]
    found = await keeping.find(ConfigMap, "a")
    assert found["metadata"]["uid"] == kept["metadata"]["uid"]
    assert found["data"] == {"n": "1"}
    assert not {ORIGIN, DESCRIPTION} & set(found["metadata"].get("annotations") or {})
    assert found["metadata"]["labels"] == {MANAGED_BY: keeping.namespace}, "labels are left"
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "a", "b") == {"a"}


@pytest.mark.scenario("MR-53")
async def test_what_is_anothers_by_now_is_not_touched(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("a"))
    await keeping.settle()
    await keeping.cluster.stop()
    theirs = {ORIGIN: "elsewhere/other", DESCRIPTION: "theirs"}
    await keeping.cluster.patch(ConfigMap, "a", {"metadata": {"annotations": theirs}})
    await keeping.rewrite("web", config_map("a", annotations={MODE: "Ignore"}))
    calls = await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert await keeping.inventory("web") == []
    left = (await keeping.find(ConfigMap, "a"))["metadata"]["annotations"]
    assert {name: left[name] for name in theirs} == theirs
    assert calls.of("ConfigMap").writes == 0


async def test_an_object_ignored_from_the_start_is_never_created(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("a", annotations={MODE: "Ignore"}))
    calls = await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert await keeping.inventory("web") == []
    assert calls.of("ConfigMap").writes == 0
    assert await keeping.exists(ConfigMap, "a") == set()


@pytest.mark.scenario("MR-58")
async def test_deletion_counts_more_than_being_ignored(keeping: Keeping) -> None:
    await keeping.declare("web", config_map("a"), config_map("b"))
    await keeping.settle()
    await keeping.annotate("web", IGNORE, "true")
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "a", "b") == {"a", "b"}
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "a", "b") == set()
    await keeping.cluster.gone(keeping.kind, "web")
