"""Somebody else who keeps changing what we keep."""

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.kube import Key
from certwright.kube.kinds import ConfigMap
from certwright.testkit.builders import config_map


async def attack(keeping: Keeping, rival: str, seconds: int) -> int:
    """Let somebody change an object every second; return how often it was repaired."""
    repairs = 0
    for _ in range(seconds):
        await keeping.cluster.client.patch(
            ConfigMap, Key(keeping.namespace, "a"), {"data": {"color": "red"}}, field_manager=rival
        )
        calls = await keeping.cluster.advance(seconds=1)
        repairs += calls.of("ConfigMap").writes
    return repairs


@pytest.mark.scenario("MR-103")
async def test_a_fight_is_noticed_and_damped(
    embedded_keeping: Keeping, healthy: dict[str, str]
) -> None:
    keeping = embedded_keeping
    await keeping.declare("web", config_map("a", {"color": "blue"}))
    await keeping.settle()
    assert await attack(keeping, "rival", 60) < 10
    [note] = await keeping.events("FightDetected")
    assert "ConfigMap default/a (data.color by rival) is changed again and again by rival" in note
    assert "restored by certwright-resource-manager" in note
    if keeping.reports_objects:
        [told] = (await keeping.status("web"))["objects"]
        assert (told["kind"], told["name"], told["lastWriter"]) == ("ConfigMap", "a", "rival")
    await keeping.cluster.advance(minutes=10)
    assert (await keeping.find(ConfigMap, "a"))["data"] == {"color": "blue"}
    await keeping.cluster.advance(minutes=10)
    assert await keeping.conditions("web") == healthy
    assert "objects" not in await keeping.status("web")


@pytest.mark.scenario("MR-103")
async def test_another_fight_about_the_same_object_is_told_as_well(
    embedded_keeping: Keeping,
) -> None:
    keeping = embedded_keeping
    await keeping.declare("web", config_map("a", {"color": "blue"}))
    await keeping.settle()
    await attack(keeping, "first-rival", 20)
    await keeping.cluster.advance(minutes=20)
    await attack(keeping, "second-rival", 20)
    first, second = await keeping.events("FightDetected")
    assert "first-rival" in first
    assert "second-rival" in second
    if keeping.reports_objects:
        [told] = (await keeping.status("web"))["objects"]
        assert told["lastWriter"] == "second-rival"


async def test_an_object_that_others_keep_deleting_is_awaited_in_peace(
    embedded_keeping: Keeping, healthy: dict[str, str]
) -> None:
    keeping = embedded_keeping
    await keeping.declare("web", config_map("a", {"color": "blue"}))
    await keeping.settle()
    for _ in range(5):
        await keeping.cluster.delete(ConfigMap, "a")
        await keeping.cluster.advance(seconds=1)
    await keeping.cluster.delete(ConfigMap, "a")
    calls = await keeping.cluster.advance(seconds=1)  # too early for another repair
    assert calls.of("ConfigMap").writes == 0
    assert (await keeping.conditions("web"))["Healthy"] == "False/ConfigMapMissing"
    calls = await keeping.cluster.advance(seconds=5)
    assert calls.of("ConfigMap").reads == 0
    await keeping.cluster.advance(minutes=1)
    assert await keeping.exists(ConfigMap, "a") == {"a"}
    assert await keeping.conditions("web") == healthy
