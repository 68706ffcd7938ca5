"""Ways in which objects could be lost, left behind, overlooked or talked about too much."""

import gc
from datetime import timedelta
from uuid import uuid4

import pytest
from tests.component.operators.managedresource.conftest import Keeping, Toys

from certwright.apply import Memory
from certwright.kube import JsonObject, Key
from certwright.kube.kinds import (
    ConfigMap,
    CustomResourceDefinition,
    Deployment,
    HorizontalPodAutoscaler,
)
from certwright.runtime import DONE, Context, Controller, Outcome, select
from certwright.testkit.builders import config_map

GROUP = "resources.gardener.cloud"
HOLD = {"metadata": {"finalizers": ["example.com/hold"]}}
RELEASE = {"metadata": {"finalizers": None}}
IGNORE = {f"{GROUP}/ignore": "true"}
FALL_BACK = {f"{GROUP}/mode": "FallBack"}
ORIGIN = f"{GROUP}/origin"


# What was never ours, or is not any more


@pytest.mark.parametrize("way", ["removed", "deleted"])
async def test_what_somebody_else_provides_is_theirs_to_delete(keeping: Keeping, way: str) -> None:
    await keeping.cluster.create(keeping.placed(config_map("theirs", {"by": "them"})))
    await keeping.declare("web", config_map("theirs", {"by": "us"}, annotations=FALL_BACK))
    await keeping.settle()
    if way == "removed":
        await keeping.rewrite("web", config_map("other"))
    else:
        await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    assert (await keeping.find(ConfigMap, "theirs"))["data"] == {"by": "them"}


async def test_what_somebody_else_provides_later_is_theirs_to_delete(
    embedded_keeping: Keeping,
) -> None:
    keeping = embedded_keeping
    await keeping.declare("web", config_map("theirs", {"by": "us"}, annotations=FALL_BACK))
    await keeping.settle()
    await keeping.cluster.advance(minutes=1)
    await keeping.cluster.stop()
    await keeping.cluster.delete(ConfigMap, "theirs")
    await keeping.cluster.create(keeping.placed(config_map("theirs", {"by": "them"})))
    await keeping.settle()
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    assert (await keeping.find(ConfigMap, "theirs"))["data"] == {"by": "them"}


async def test_what_never_let_itself_be_changed_is_not_deleted(keeping: Keeping) -> None:
    await keeping.cluster.create(keeping.placed(config_map("theirs", {"by": "them"})))
    await keeping.declare("web", config_map("theirs", {"not/a/key": "x"}))
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    assert await keeping.find(keeping.kind, "web") is None
    assert await keeping.exists(ConfigMap, "theirs") == {"theirs"}


@pytest.mark.scenario("MR-67")
async def test_what_carries_the_name_of_another_is_not_deleted(keeping: Keeping) -> None:
    """Also if that one does not exist (any more): it may have left the object on purpose."""
    once = config_map("once", annotations=IGNORE)
    await keeping.declare("web", config_map("a"), once)
    await keeping.settle()
    other = {ORIGIN: f"{keeping.namespace}/other"}
    await keeping.cluster.patch(ConfigMap, "once", {"metadata": {"annotations": other}})
    await keeping.rewrite("web", config_map("a"))
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "once") == {"once"}


async def test_the_intent_of_a_copied_managed_resource_is_that_of_the_original(
    keeping: Keeping,
) -> None:
    """Who copies a ManagedResource copies its annotations and finalizers, but not its status."""
    await keeping.declare("web", config_map("a"), config_map("once", annotations=IGNORE))
    await keeping.settle()
    await keeping.cluster.stop()
    copy = keeping.managed_resource("copy", "copy")
    original = (await keeping.get("web"))["metadata"]
    copy["metadata"] |= {name: original[name] for name in ("annotations", "finalizers")}
    await keeping.cluster.create(keeping.secret_with("copy", config_map("b")))
    await keeping.cluster.create(copy)
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "a", "b", "once") == {"a", "b", "once"}


# What must not be left behind


async def test_what_went_and_came_back_goes_with_its_managed_resource(keeping: Keeping) -> None:
    await keeping.declare("web", config_map("held"), config_map("free"))
    await keeping.settle()
    await keeping.cluster.patch(ConfigMap, "held", HOLD)
    await keeping.change("web", **{"class": "other"})
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "held", "free") == {"held"}
    await keeping.change("web", **{"class": None})
    await keeping.cluster.patch(ConfigMap, "held", RELEASE)
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "held", "free") == {"held", "free"}
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "held", "free") == set()


@pytest.mark.scenario("MR-22")
async def test_a_part_of_an_inventory_stays_as_it_is_while_a_status_names_it(
    embedded_keeping: Keeping,
) -> None:
    """Else a crash before the next status would lose the objects that moved between parts.

    And a status names it until it is gone: else a crash before that would leave it behind.
    """
    keeping = embedded_keeping
    await keeping.install()
    padded = {"example.com/padding": "x" * 100_000}
    objects = [config_map(f"c{number}", annotations=padded) for number in range(12)]
    await keeping.cluster.create(keeping.secret_with("one", *objects[:7]))
    await keeping.cluster.create(keeping.secret_with("two", *objects[7:]))
    await keeping.cluster.create(keeping.managed_resource("web", "one", "two"))
    await keeping.settle()
    before = await keeping.shards("web")
    await keeping.rewrite("one", *objects[4:7])
    calls = await keeping.settle()
    after = await keeping.shards("web")
    assert set(before).isdisjoint(after)
    assert await keeping.cluster.names(ConfigMap) == {
        *(f"c{number}" for number in range(4, 12)),
        *after,
    }
    about = [call for call in calls if "inventory" in call.path or call.path.endswith("/status")]
    assert [call.verb for call in about] == ["patch"] * 4 + ["delete", "patch"]
    assert calls.reads == 0


async def test_objects_outlive_the_version_they_were_written_in(
    keeping: Keeping, toys: Toys
) -> None:
    definition = toys.definition()
    (version,) = definition["spec"]["versions"]
    old = {**version, "name": "v1beta1", "storage": False}
    definition["spec"]["versions"] = [version, old]
    await keeping.cluster.install(definition)
    await keeping.declare("web", {**toys.toy("t"), "apiVersion": f"{toys.group}/v1beta1"})
    await keeping.settle()
    versions = [version, {**old, "served": False}]
    await keeping.cluster.patch(
        CustomResourceDefinition, toys.name, {"spec": {"versions": versions}}
    )
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    assert await keeping.find(keeping.kind, "web") is None
    assert await keeping.find(toys.resource, "t") is None


@pytest.mark.scenario("MR-53")
async def test_releasing_what_is_gone_with_its_kind_is_no_failure(
    keeping: Keeping, healthy: dict[str, str], toys: Toys
) -> None:
    await keeping.cluster.install(toys.definition())
    await keeping.declare("web", config_map("a"), toys.toy("w"))
    await keeping.settle()
    await keeping.change("web", suspend=True)
    await keeping.settle()
    await keeping.cluster.delete(CustomResourceDefinition, toys.name)
    released = toys.toy("w")
    released["metadata"]["annotations"] = {f"{GROUP}/mode": "Ignore"}
    await keeping.rewrite("web", config_map("a"), released)
    await keeping.change("web", suspend=None)
    await keeping.settle()
    assert await keeping.conditions("web") == healthy


# What nobody tells us


@pytest.mark.scenario("MR-97")
async def test_an_unknown_object_on_its_way_out_is_followed(
    embedded_keeping: Keeping, healthy: dict[str, str]
) -> None:
    keeping = embedded_keeping
    theirs = keeping.placed(config_map("theirs", {"by": "them"}))
    await keeping.cluster.create(theirs)
    await keeping.cluster.patch(ConfigMap, "theirs", HOLD)
    await keeping.cluster.delete(ConfigMap, "theirs")
    await keeping.declare("web", config_map("theirs", {"by": "us"}))
    await keeping.settle(keeping.operator(sync_period=timedelta(hours=1)))
    calls = await keeping.cluster.advance(seconds=20)
    assert calls.by_kind["ManagedResource"] == 0
    await keeping.cluster.patch(ConfigMap, "theirs", RELEASE)
    await keeping.cluster.advance(seconds=40)
    assert (await keeping.find(ConfigMap, "theirs"))["data"] == {"by": "us"}
    assert await keeping.conditions("web") == healthy


async def test_without_a_period_unwatched_objects_are_judged_with_each_pass_only(
    embedded_keeping: Keeping,
) -> None:
    keeping = embedded_keeping
    await keeping.declare("web", config_map("once", annotations=IGNORE))
    await keeping.settle(keeping.operator(health_period=timedelta(0)))
    calls = await keeping.cluster.advance(minutes=10)
    assert (calls.reads, calls.writes) == (0, 0)


@pytest.mark.scenario("MR-50")
async def test_a_restart_writes_nothing_for_what_is_only_ever_created(keeping: Keeping) -> None:
    await keeping.declare("web", config_map("once", annotations=IGNORE), config_map("a"))
    await keeping.settle()
    calls = await keeping.restart()
    assert calls.writes == 0


def deployment(name: str, replicas: int) -> JsonObject:
    container = {"name": "main", "image": "example.com/main"}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    selector = {"matchLabels": {"app": name}}
    spec = {"replicas": replicas, "selector": selector, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def autoscaler(keeping: Keeping, name: str) -> JsonObject:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": keeping.namespace},
        "spec": {"scaleTargetRef": target, "maxReplicas": 9},
    }


async def test_an_autoscaler_that_goes_during_a_pass_is_not_overlooked(
    embedded_keeping: Keeping,
) -> None:
    keeping = embedded_keeping
    await keeping.cluster.create(autoscaler(keeping, "web"))
    await keeping.declare("web", deployment("web", 2))
    await keeping.settle()
    await keeping.cluster.patch(Deployment, "web", {"spec": {"replicas": 5}})

    async def remove_autoscaler(ctx: Context, key: Key) -> Outcome:
        if key.name == "signal" and ctx.get(ConfigMap, key) is not None:
            await ctx.client.delete(HorizontalPodAutoscaler, Key(key.namespace, "web"))
        return DONE

    watched = select(ConfigMap, namespace=keeping.namespace)
    await keeping.cluster.settle(Controller(watched, remove_autoscaler, name="vandal"))
    others = [config_map(f"z{number}") for number in range(30)]
    await keeping.rewrite("web", deployment("web", 2), config_map("signal"), *others)
    await keeping.settle()
    assert await keeping.find(HorizontalPodAutoscaler, "web") is None
    assert (await keeping.find(Deployment, "web"))["spec"]["replicas"] == 2


# What need not be remembered


@pytest.mark.parametrize(
    ("annotations", "spec"),
    [
        ({f"{GROUP}/keep-object": "true"}, {}),
        ({}, {"keepObjects": True}),
    ],
)
async def test_objects_that_stay_are_forgotten(
    embedded_keeping: Keeping, annotations: dict[str, str], spec: JsonObject
) -> None:
    keeping, name = embedded_keeping, f"stays-{uuid4().hex}"  # the name is in no other memory
    await keeping.declare("web", config_map(name, annotations=annotations), **spec)
    await keeping.settle()
    memories = [found for found in gc.get_objects() if isinstance(found, Memory)]
    key = Key(keeping.namespace, name)
    (memory,) = [found for found in memories if found.get(ConfigMap, key)]
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    assert await keeping.exists(ConfigMap, name) == {name}
    assert memory.get(ConfigMap, key) is None


# What nobody should read


@pytest.mark.parametrize(
    "values",
    [
        "stringData: {password: *hunter2}",
        "stringData: hunter2",
        "stringData: [hunter2]",
        "stringData: {password: [hunter2]}",
        "stringData: {password: 'hunter2}",
        "stringData: {password: hunter2: x}",
        "data: {password: hunter2!}",
    ],
)
async def test_values_of_secrets_are_not_part_of_complaints(
    embedded_keeping: Keeping, values: str
) -> None:
    keeping = embedded_keeping
    await keeping.declare("web", f"apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\n{values}\n")
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"].startswith("False/")
    assert "hunter2" not in str(await keeping.status("web"))
    assert "hunter2" not in str(await keeping.events("QuestionableInput"))
