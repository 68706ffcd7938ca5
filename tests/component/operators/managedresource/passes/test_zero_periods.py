"""Settings at their ends: periods of zero, where events are all there is."""

from datetime import timedelta

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.kube.kinds import ConfigMap
from certwright.operators.managedresource import load_with_flags, resource_operator
from certwright.testkit.builders import config_map

ZERO = timedelta()


async def test_without_periods_events_do_everything(
    embedded_keeping: Keeping, healthy: dict[str, str]
) -> None:
    """Embedded, for the hours in which nothing may happen."""
    keeping = embedded_keeping
    keeping.running = keeping.operator(sync_period=ZERO, health_period=ZERO)
    created_once = {"resources.gardener.cloud/ignore": "true"}
    await keeping.declare("web", config_map("a"), config_map("b", annotations=created_once))
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    calls = await keeping.cluster.advance(hours=6)
    assert (calls.reads, calls.writes) == (0, 0)
    await keeping.cluster.delete(ConfigMap, "a")
    assert (await keeping.settle()).writes == 1 + 1, "the object, and an event that says so"
    assert await keeping.conditions("web") == healthy
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "a", "b") == set()


async def test_what_fails_is_tried_again_without_periods(
    embedded_keeping: Keeping, healthy: dict[str, str]
) -> None:
    keeping = embedded_keeping
    keeping.running = keeping.operator(sync_period=ZERO, health_period=ZERO)
    await keeping.declare("first", config_map("a"))
    await keeping.settle()
    await keeping.declare("web", config_map("a"))
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    await keeping.cluster.delete(keeping.kind, "first")
    await keeping.cluster.advance(minutes=6)
    assert await keeping.conditions("web") == healthy


@pytest.mark.parametrize("as_flags", [True, False], ids=["flags", "file"])
async def test_zero_may_be_said_in_the_file_and_by_flags(
    embedded_keeping: Keeping, healthy: dict[str, str], *, as_flags: bool
) -> None:
    document = {
        "controllers": {
            "minimumPeriod": "0s",
            "managedResource": {"syncPeriod": "0s", "concurrentSyncs": 1},
            "health": {"syncPeriod": "0s", "concurrentSyncs": 1},
            "garbageCollector": {
                "enabled": True, "syncPeriod": "1ms", "minimumObjectLifetime": "0s",
            },
        }
    }  # fmt: skip
    flags = {
        "--minimum-period": "0s",
        "--sync-period": "0s",
        "--max-concurrent-workers": 1,
        "--health-sync-period": "0s",
        "--health-max-concurrent-workers": 1,
        "--garbage-collector-sync-period": "1ms",
        "--garbage-collector-minimum-lifetime": "0s",
    }
    loaded = load_with_flags({}, flags) if as_flags else load_with_flags(document, {})
    other = load_with_flags(document, {}) if as_flags else load_with_flags({}, flags)
    assert loaded == other
    keeping = embedded_keeping
    await keeping.declare("web", config_map("a"))
    await keeping.settle(resource_operator(loaded.configuration))
    assert await keeping.conditions("web") == healthy
