"""Ways in which objects could be lost, left behind, overlooked or talked about too much."""

from datetime import timedelta

import pytest

from certwright.kube.kinds import ConfigMap, CustomResourceDefinition
from certwright.testkit.builders import config_map

GROUP = "resources.gardener.cloud"
HOLD = {"metadata": {"finalizers": ["example.com/hold"]}}
RELEASE = {"metadata": {"finalizers": None}}
IGNORE = {f"{GROUP}/ignore": "true"}
FALL_BACK = {f"{GROUP}/mode": "FallBack"}
ORIGIN = f"{GROUP}/origin"


# What was never ours, or is not any more


@pytest.mark.parametrize("way", ["removed", "deleted"])
async def test_what_somebody_else_provides_is_theirs_to_delete(keeping, way):
    await keeping.cluster.create(keeping.placed(config_map("theirs", {"by": "them"})))
    await keeping.declare("web", config_map("theirs", {"by": "us"}, annotations=FALL_BACK))
    await keeping.settle()
    if way == "removed":
        await keeping.rewrite("web", config_map("other"))
    else:
        await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    assert (await keeping.find(ConfigMap, "theirs"))["data"] == {"by": "them"}


async def test_what_somebody_else_provides_later_is_theirs_to_delete(embedded_keeping):
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


async def test_what_never_let_itself_be_changed_is_not_deleted(keeping):
    await keeping.cluster.create(keeping.placed(config_map("theirs", {"by": "them"})))
    await keeping.declare("web", config_map("theirs", {"not/a/key": "x"}))
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    assert await keeping.find(keeping.kind, "web") is None
    assert await keeping.exists(ConfigMap, "theirs") == {"theirs"}


@pytest.mark.scenario("MR-67")
async def test_what_carries_the_name_of_another_is_not_deleted(keeping):
    """Also if that one does not exist (any more): it may have left the object on purpose."""
    once = config_map("once", annotations=IGNORE)
    await keeping.declare("web", config_map("a"), once)
    await keeping.settle()
    other = {ORIGIN: f"{keeping.namespace}/other"}
    await keeping.cluster.patch(ConfigMap, "once", {"metadata": {"annotations": other}})
    await keeping.rewrite("web", config_map("a"))
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "once") == {"once"}


# What must not be left behind


async def test_what_went_and_came_back_goes_with_its_managed_resource(keeping):
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


@pytest.mark.scenario("MR-53")
async def test_releasing_what_is_gone_with_its_kind_is_no_failure(keeping, healthy, toys):
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
async def test_an_unknown_object_on_its_way_out_is_followed(embedded_keeping, healthy):
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


async def test_without_a_period_unwatched_objects_are_judged_with_each_pass_only(embedded_keeping):
    keeping = embedded_keeping
    await keeping.declare("web", config_map("once", annotations=IGNORE))
    await keeping.settle(keeping.operator(health_period=timedelta(0)))
    calls = await keeping.cluster.advance(minutes=10)
    assert (calls.reads, calls.writes) == (0, 0)


@pytest.mark.scenario("MR-50")
async def test_a_restart_writes_nothing_for_what_is_only_ever_created(keeping):
    await keeping.declare("web", config_map("once", annotations=IGNORE), config_map("a"))
    await keeping.settle()
    calls = await keeping.restart()
    assert calls.writes == 0


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
async def test_values_of_secrets_are_not_part_of_complaints(embedded_keeping, values):
    keeping = embedded_keeping
    await keeping.declare("web", f"apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\n{values}\n")
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"].startswith("False/")
    assert "hunter2" not in str(await keeping.status("web"))
    assert "hunter2" not in str(await keeping.events("QuestionableInput"))
