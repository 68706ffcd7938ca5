"""Input that is missing, late or broken: nothing is lost, and somebody is told."""

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.kube.kinds import ConfigMap, Secret
from certwright.testkit.builders import config_map


@pytest.mark.scenario("MR-12")
async def test_what_can_no_longer_be_read_is_not_deleted(keeping: Keeping) -> None:
    await keeping.declare("web", config_map("a", {"n": "1"}), config_map("b"))
    await keeping.settle()
    await keeping.rewrite("web", "{broken: [", config_map("b", {"new": "yes"}))
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "a", "b") == {"a", "b"}
    assert (await keeping.find(ConfigMap, "b"))["data"] == {"new": "yes"}
    assert (await keeping.conditions("web"))["Applied"] == "False/DecodingFailed"
    where = f"at index 0 in 'objects.yaml' in secret '{keeping.namespace}/web'"
    assert where in await keeping.message("web")
    assert await keeping.inventory("web") == ["ConfigMap/a", "ConfigMap/b"]


@pytest.mark.scenario("MR-12")
async def test_what_can_be_read_again_is_kept_as_before(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("a"), config_map("b"))
    await keeping.settle()
    await keeping.rewrite("web", "{broken: [")
    await keeping.settle()
    await keeping.rewrite("web", config_map("a"))
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert await keeping.exists(ConfigMap, "a", "b") == {"a"}


@pytest.mark.scenario("MR-19")
async def test_a_secret_that_comes_late_is_picked_up(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.install()
    await keeping.cluster.create(keeping.managed_resource("web", "late"))
    calls = await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/CannotReadSecret"
    assert await keeping.message("web") == 'secrets "late" not found'
    assert calls.reads == 1
    await keeping.cluster.create(keeping.secret_with("late", config_map("a")))
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert await keeping.exists(ConfigMap, "a") == {"a"}


async def test_a_failure_is_an_event_and_only_when_it_is_new(keeping: Keeping) -> None:
    await keeping.declare("web", config_map("a"))
    await keeping.settle()
    await keeping.rewrite("web", "{broken: [")
    await keeping.settle()
    await keeping.rewrite("web", "{broken: [", config_map("b"))
    await keeping.settle()
    (note,) = await keeping.events("DecodingFailed")
    assert note == await keeping.message("web")


@pytest.mark.scenario("MR-19")
async def test_a_secret_that_disappears_deletes_nothing(keeping: Keeping) -> None:
    await keeping.declare("web", config_map("a"))
    await keeping.settle()
    await keeping.cluster.delete(Secret, "web")
    calls = await keeping.settle()
    assert await keeping.exists(ConfigMap, "a") == {"a"}
    assert (await keeping.conditions("web"))["Applied"] == "False/CannotReadSecret"
    assert (calls.writes, calls.reads) == (2, 0)  # the status and an event


async def test_a_secret_is_found_without_a_read_whether_it_came_first_or_not(
    keeping: Keeping,
) -> None:
    await keeping.settle()
    await keeping.cluster.create(keeping.secret_with("web", config_map("a")))
    await keeping.settle()
    await keeping.cluster.create(keeping.managed_resource("web", "web"))
    calls = await keeping.settle()
    assert (calls.writes, calls.reads) == (3, 0)


async def test_a_secret_deleted_before_its_managed_resource_came_is_missing(
    keeping: Keeping,
) -> None:
    await keeping.settle()
    await keeping.cluster.create(keeping.secret_with("web", config_map("a")))
    await keeping.settle()
    await keeping.cluster.delete(Secret, "web")
    await keeping.settle()
    await keeping.cluster.create(keeping.managed_resource("web", "web"))
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/CannotReadSecret"
