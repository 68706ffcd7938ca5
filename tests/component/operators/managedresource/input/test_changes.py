"""Input that changes, and people who change objects: what is followed, and what is reverted."""

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.kube import JsonObject, Resource
from certwright.kube.kinds import ConfigMap, Deployment, Secret
from certwright.testkit.builders import config_map, deployment, secret

PREFIX = "resources.gardener.cloud"
OPERATION = "gardener.cloud/operation"
HELD = {"metadata": {"finalizers": ["example.com/hold"]}}


async def uid(keeping: Keeping, kind: Resource, name: str) -> str:
    value: str = (await keeping.find(kind, name))["metadata"]["uid"]
    return value


async def checksum(keeping: Keeping, name: str = "web") -> str:
    value: str = (await keeping.status(name))["secretsDataChecksum"]
    return value


async def test_what_replaces_an_object_that_lingers_is_there_and_health_is_not_known(
    keeping: Keeping,
) -> None:
    await keeping.declare("web", config_map("old"))
    await keeping.settle()
    await keeping.cluster.patch(ConfigMap, "old", HELD)
    await keeping.settle()
    await keeping.rewrite("web", config_map("new"))
    await keeping.settle()
    assert await keeping.conditions("web") == {
        "Applied": "Progressing/DeletionPending",
        "Healthy": "Unknown/ChecksPending",
        "Progressing": "Unknown/ChecksPending",
        "Ready": "Unknown/DeletionPending",
    }
    text = "Could not clean all old resources: 1 error occurred: deletion of old resource "
    id_ = f'"v1/ConfigMap/{keeping.namespace}/old" is still pending'
    assert (await keeping.message("web")).startswith(f"{text}{id_}")
    await keeping.cluster.patch(ConfigMap, "old", {"metadata": {"finalizers": None}})
    await keeping.settle()


async def test_new_data_are_applied_and_counted(keeping: Keeping, healthy: dict[str, str]) -> None:
    await keeping.declare("web", config_map("a", {"n": "1"}))
    await keeping.settle()
    before = await checksum(keeping)
    await keeping.rewrite("web", config_map("a", {"n": "2"}))
    calls = await keeping.settle()
    assert await checksum(keeping) != before
    assert (await keeping.find(ConfigMap, "a"))["data"] == {"n": "2"}
    assert await keeping.conditions("web") == healthy
    assert (calls.writes, calls.reads) == (3, 0)
    assert (await keeping.restart()).writes == 0


async def test_another_key_brings_another_object(keeping: Keeping, healthy: dict[str, str]) -> None:
    await keeping.declare_data("web", {"a": keeping.json(config_map("a"))})
    await keeping.settle()
    both = {"a": keeping.json(config_map("a")), "b": keeping.json(secret("s", {"k": "v"}))}
    await keeping.rewrite_data("web", both)
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert await keeping.exists(ConfigMap, "a") == {"a"}
    assert (await keeping.find(Secret, "s"))["data"] == {"k": "dg=="}
    assert await keeping.inventory("web") == ["ConfigMap/a", "Secret/s"]


async def test_another_object_that_is_invalid_fails_alone(keeping: Keeping) -> None:
    await keeping.declare("web", config_map("a"))
    await keeping.settle()
    bad = {**config_map("Not-A-Name"), "data": {"new": "yes"}}
    await keeping.rewrite("web", config_map("a", {"n": "2"}), bad)
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    message = await keeping.message("web")
    id_ = f"v1/ConfigMap/{keeping.namespace}/Not-A-Name"
    assert message.startswith(f'error during apply of object "{id_}": ')
    [applied] = [
        c for c in (await keeping.status("web"))["conditions"] if c["type"] == "ResourcesApplied"
    ]
    assert applied["codes"] == ["ERR_CONFIGURATION_PROBLEM"]
    assert (await keeping.find(ConfigMap, "a"))["data"] == {"n": "2"}


async def test_another_secret_brings_its_objects(keeping: Keeping, healthy: dict[str, str]) -> None:
    await keeping.declare("web", config_map("a"))
    await keeping.settle()
    before = await checksum(keeping)
    await keeping.cluster.create(keeping.secret_with("more", config_map("b")))
    await keeping.change("web", secretRefs=[{"name": "web"}, {"name": "more"}])
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "a", "b") == {"a", "b"}
    assert await checksum(keeping) != before
    assert await keeping.conditions("web") == healthy
    await keeping.change("web", secretRefs=[{"name": "more"}])
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "a", "b") == {"b"}


@pytest.mark.parametrize(("changed", "same"), [({"n": "1"}, True), ({"n": "2"}, False)])
async def test_only_an_invalid_change_deletes_and_creates_anew(
    keeping: Keeping, healthy: dict[str, str], changed: dict[str, str], *, same: bool
) -> None:
    marks = {f"{PREFIX}/delete-on-invalid-update": "true"}
    frozen = {**config_map("a", {"n": "1"}, annotations=marks), "immutable": True}
    await keeping.declare("web", frozen)
    await keeping.settle()
    before = await uid(keeping, ConfigMap, "a")
    later = config_map("a", changed, annotations=marks, labels={"new": "yes"})
    await keeping.rewrite("web", {**later, "immutable": True})
    await keeping.settle()
    found = await keeping.find(ConfigMap, "a")
    assert (found["metadata"]["uid"] == before) is same
    assert found["data"] == changed
    assert found["metadata"]["labels"]["new"] == "yes"
    assert await keeping.conditions("web") == healthy


async def test_an_immutable_object_that_somebody_replaced_is_set_right(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", {**config_map("a", {"n": "1"}), "immutable": True})
    await keeping.settle()
    await keeping.cluster.stop()
    live = await keeping.find(ConfigMap, "a")
    await keeping.cluster.delete(ConfigMap, "a")
    kept = {name: live["metadata"][name] for name in ("name", "namespace", "labels", "annotations")}
    replaced = {**config_map("a", {"n": "9"}), "metadata": kept, "immutable": True}
    await keeping.cluster.create(replaced)
    await keeping.annotate("web", OPERATION, "reconcile")
    await keeping.settle()
    assert (await keeping.find(ConfigMap, "a"))["data"] == {"n": "1"}
    assert await keeping.conditions("web") == healthy
    assert OPERATION not in (await keeping.get("web"))["metadata"].get("annotations", {})


def with_cpu(obj: JsonObject, cpu: str) -> JsonObject:
    [container] = obj["spec"]["template"]["spec"]["containers"]
    container["resources"] = {"requests": {"cpu": cpu}}
    return obj


async def replicas_and_cpu(keeping: Keeping) -> tuple[int, str]:
    spec = (await keeping.find(Deployment, "x"))["spec"]
    [container] = spec["template"]["spec"]["containers"]
    return spec["replicas"], container["resources"]["requests"]["cpu"]


@pytest.mark.parametrize(
    ("preserved", "left"),
    [
        ((), (1, "50m")),
        (("replicas",), (5, "50m")),
        (("resources",), (1, "100m")),
        (("replicas", "resources"), (5, "100m")),
    ],
)
async def test_edits_of_workloads_are_reverted_unless_they_are_preserved(
    keeping: Keeping, preserved: tuple[str, ...], left: tuple[int, str]
) -> None:
    marks = {f"{PREFIX}/preserve-{what}": "true" for what in preserved}
    await keeping.declare("web", with_cpu(deployment("x", annotations=marks), "50m"))
    await keeping.settle()
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "100m"}}}
    edit = {"spec": {"replicas": 5, "template": {"spec": {"containers": [container]}}}}
    await keeping.cluster.patch(Deployment, "x", edit)
    await keeping.annotate("web", OPERATION, "reconcile")
    await keeping.settle()
    assert await replicas_and_cpu(keeping) == left
    assert (await keeping.restart()).writes == 0
