"""The example controller under every fault at every point: the same end, all of them."""

import pytest

from certwright.kube import ObjectMeta
from certwright.kube.kinds import ConfigMap
from certwright.testkit import (
    EmbeddedCluster,
    break_each_watch,
    crash_after_every_write,
    delay_each_event,
    drop_each_event,
    fail_every_request,
    lose_every_answer,
    refuse_every_write,
    repeat_each_event,
    simulate,
    stale_restart,
    survives,
)
from greeting import Greeting, GreetingSpec, controller


def greeting(name: str, count: int) -> Greeting:
    return Greeting(metadata=ObjectMeta(name=name), spec=GreetingSpec(count=count))


async def life(cluster: EmbeddedCluster) -> None:
    """Everything users do to greetings."""
    await cluster.create(greeting("hi", 2))
    await cluster.settle()
    await cluster.delete(ConfigMap, "hi-1")
    await cluster.create(greeting("bye", 1))
    await cluster.settle()
    await cluster.patch(Greeting, "hi", {"spec": {"count": 3, "text": "hey"}})
    await cluster.settle()
    await cluster.patch(Greeting, "hi", {"spec": {"count": 1}})
    await cluster.delete(Greeting, "bye")
    await cluster.settle()


def test_crash_after_every_write() -> None:
    assert survives(life, controller, crash_after_every_write) > 20


def test_restart_into_every_earlier_state() -> None:
    assert survives(life, controller, stale_restart, most=60) >= 60


def test_every_single_event_dropped() -> None:
    assert survives(life, controller, drop_each_event) > 15


def test_events_repeated_late_and_out_of_order() -> None:
    survives(life, controller, repeat_each_event, delay_each_event)


def test_watches_that_break() -> None:
    survives(life, controller, break_each_watch)


def test_requests_that_fail() -> None:
    tortures = (refuse_every_write, lose_every_answer, fail_every_request)
    survives(life, controller, *tortures, most=40)


async def crowd(cluster: EmbeddedCluster) -> None:
    """Many greetings at once, changing while the controller is at work on the others."""
    names = [f"g{number}" for number in range(12)]
    for name in names:
        await cluster.create(greeting(name, 3))
    await cluster.settle()
    for name in names:
        await cluster.patch(Greeting, name, {"spec": {"text": "hey", "count": 4}})
    await cluster.settle()
    for name in names[::2]:
        await cluster.patch(Greeting, name, {"spec": {"count": 2}})
    for name in names[1::4]:
        await cluster.delete(Greeting, name)
    await cluster.settle()


@pytest.mark.parametrize("part", range(4))
def test_random_storms(part: int) -> None:
    simulate(life, controller, seeds=range(part, 32, 4))


@pytest.mark.parametrize("part", range(2))
def test_random_storms_over_a_crowd(part: int) -> None:
    campaign = simulate(crowd, controller, seeds=range(part, 6, 2))
    assert campaign.requests + campaign.events > campaign.runs * 200
    assert campaign.crashes > 0
