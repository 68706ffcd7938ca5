"""Who applies is asked before anything is written, and can forbid it."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.component.apply.conftest import Bench

from certwright.apply import Rules
from certwright.kube import JsonObject
from certwright.kube.kinds import ConfigMap
from certwright.testkit.builders import config_map


class Forbidden(Exception):
    """The caller does not want anything to be written."""


async def forbid() -> None:
    raise Forbidden


@pytest.mark.parametrize("rules", [Rules(), Rules(create_only=True)])
async def test_nothing_is_created_before_the_caller_agrees(bench: Bench, rules: Rules) -> None:
    with bench.counted() as calls, pytest.raises(Forbidden):
        await bench.apply(config_map("a"), config_map("b"), rules=rules, before_write=forbid)
    assert calls[0].writes == 0
    assert await bench.cluster.find(ConfigMap, "a") is None


async def taken_over(bench: Bench) -> tuple[JsonObject, Rules]:
    await bench.cluster.create(bench.placed(config_map("a", {"k": "v"})))
    return config_map("a", {"k": "v"}), Rules(take_over_from=("test",))


async def cleaned(bench: Bench) -> tuple[JsonObject, Rules]:
    await bench.apply(config_map("a", {"k": "v"}))
    await bench.cluster.patch(ConfigMap, "a", {"metadata": {"annotations": {"old/a": "b"}}})
    return config_map("a", {"k": "v"}), Rules(drop_annotations=("old/",))


async def changed(bench: Bench) -> tuple[JsonObject, Rules]:
    await bench.apply(config_map("a", {"k": "v"}))
    return config_map("a", {"k": "other"}), Rules()


@pytest.mark.parametrize("arrange", [taken_over, cleaned, changed])
async def test_nothing_is_changed_before_the_caller_agrees(
    bench: Bench, arrange: Callable[..., Awaitable[Any]]
) -> None:
    wanted, rules = await arrange(bench)
    before = await bench.cluster.get(ConfigMap, "a")
    with bench.counted() as calls, pytest.raises(Forbidden):
        await bench.apply(wanted, rules=rules, before_write=forbid)
    assert calls[0].writes == 0
    assert await bench.cluster.get(ConfigMap, "a") == before


async def test_the_caller_is_not_asked_when_nothing_differs_or_nothing_is_written(
    bench: Bench,
) -> None:
    await bench.apply(config_map("a"))
    await bench.apply(config_map("a"), before_write=forbid)
    await bench.apply(config_map("a", {"k": "v"}), dry_run=True, before_write=forbid)
