"""What holds a restart back: it is reported, survives restarts of the operator, and ends."""

from datetime import timedelta

import pytest
from tests.component.operators.rollout.engine.conftest import EmbeddedRolling
from tests.support.rollout import ALLOWED, pair, restarts_in

from certwright.kube import JsonObject, format_time
from certwright.kube.kinds import Deployment, PodDisruptionBudget, StatefulSet
from certwright.operators.rollout.decision.restraint import RolloutLimits
from certwright.operators.rollout.dialects.restraint import (
    CHECK_CERTIFICATES,
    MINIMUM_INTERVAL,
    PAUSED,
    WINDOW,
)

STALLED = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}


async def begun(rolling: EmbeddedRolling, *names: str, **settings: object) -> None:
    """Run the operator with workloads, each with a Secret of its own."""
    for name in names:
        await rolling.secret(f"{name}-tls")
        await rolling.workload(name, [f"{name}-tls"])
    await rolling.run(**settings)
    for name in names:
        await rolling.rolled_out(name)
    await rolling.wait()


def window_at(rolling: EmbeddedRolling, hours: int) -> str:
    opens = rolling.cluster.clock.now() + timedelta(hours=hours)
    return f"{opens.minute} {opens.hour} * * * for 30m"


@pytest.mark.scenario("CMD-78")
async def test_a_closed_window_is_waited_for_across_restarts(rolling: EmbeddedRolling) -> None:
    await rolling.secret()
    await rolling.workload(annotations=ALLOWED | {WINDOW: window_at(rolling, 3)})
    await rolling.run()
    await rolling.renew()
    await rolling.wait(minutes=50)
    assert await rolling.restarts() == 0
    [note] = await rolling.notes("RestartPending")
    assert "maintenance window is closed; until" in note
    await rolling.restart()
    await rolling.wait(minutes=120)
    assert await rolling.restarts() == 0
    await rolling.wait(minutes=15)
    assert await rolling.restarts() == 1


@pytest.mark.scenario("CMD-79")
async def test_a_stalled_rollout_is_told_and_not_restarted_again(rolling: EmbeddedRolling) -> None:
    await begun(rolling, "web")
    await rolling.renew()
    await rolling.wait()
    await rolling.status("web", replicas=2, updatedReplicas=1, conditions=[stalled(rolling)])
    await rolling.wait()
    [event] = await rolling.events("PodRefreshStalled")
    assert event["reportingController"] == "podrefresh-controller"
    await rolling.renew(number=3)
    await rolling.wait(minutes=30)
    assert await rolling.restarts() == 1
    assert len(await rolling.events("PodRefreshStalled")) == 1
    await rolling.rolled_out()
    await rolling.wait()
    assert await rolling.restarts() == 2


def stalled(rolling: EmbeddedRolling) -> JsonObject:
    now = format_time(rolling.cluster.clock.now())
    return STALLED | {"lastUpdateTime": now, "lastTransitionTime": now}


async def test_a_stateful_set_stalls_after_a_while(rolling: EmbeddedRolling) -> None:
    await rolling.secret()
    await rolling.workload(kind="StatefulSet")
    await rolling.status("web", "StatefulSet", replicas=1)
    await rolling.run()
    await rolling.renew()
    await rolling.wait()
    counts = {"replicas": 1, "currentRevision": "a", "updateRevision": "b"}
    await rolling.status("web", "StatefulSet", **counts)
    await rolling.wait(minutes=9)
    assert await rolling.events("PodRefreshStalled") == []
    await rolling.wait(minutes=2)
    assert len(await rolling.events("PodRefreshStalled")) == 1


async def test_no_restart_while_pods_are_being_replaced(rolling: EmbeddedRolling) -> None:
    await begun(rolling, "web")
    await rolling.status("web", replicas=2, updatedReplicas=1)
    await rolling.renew(name="web-tls")
    await rolling.wait(minutes=5)
    assert await rolling.restarts() == 0
    await rolling.rolled_out()
    await rolling.wait(1)
    assert await rolling.restarts() == 1


@pytest.mark.parametrize("where", ["annotation", "spec"])
async def test_no_restart_while_paused(rolling: EmbeddedRolling, where: str) -> None:
    await begun(rolling, "web")
    if where == "spec":
        await rolling.cluster.patch(Deployment, "web", {"spec": {"paused": True}})
        await rolling.rolled_out()
    else:
        await rolling.annotate("web", {PAUSED: "true"})
        await rolling.rolled_out()
    await rolling.renew()
    await rolling.wait(minutes=5)
    assert await rolling.restarts() == 0
    await rolling.annotate("web", {PAUSED: None})
    await rolling.cluster.patch(Deployment, "web", {"spec": {"paused": False}})
    await rolling.rolled_out()
    await rolling.wait()
    assert await rolling.restarts() == 1


async def test_a_minimum_interval_between_restarts(rolling: EmbeddedRolling) -> None:
    await rolling.secret()
    await rolling.workload(annotations=ALLOWED | {MINIMUM_INTERVAL: "1h"})
    await rolling.run()
    await rolling.renew(number=2)
    await rolling.wait(minutes=5)
    await rolling.renew(number=3)
    await rolling.wait(minutes=50)
    assert await rolling.restarts() == 1
    await rolling.wait(minutes=6)
    assert await rolling.restarts() == 2


async def test_contents_that_keep_changing_do_not_put_a_restart_off_for_ever(
    rolling: EmbeddedRolling,
) -> None:
    await rolling.secret()
    await rolling.workload()
    await rolling.run()
    for number in range(12):
        await rolling.renew(number=2 + number % 2, data={"a": str(number)})
        await rolling.wait(3)
    assert 1 <= await rolling.restarts() <= 2


# Certificates


async def flawed(rolling: EmbeddedRolling, kind: str) -> dict[str, str]:
    now = rolling.cluster.clock.now()
    match kind:
        case "expired":
            return pair(7, now - timedelta(days=30), timedelta(days=10))
        case "not valid yet":
            return pair(7, now + timedelta(hours=1), timedelta(days=10))
        case "does not fit":
            return {**pair(7), "tls.key": pair(8)["tls.key"]}
        case _:
            return {**pair(7), "tls.crt": "garbage"}


FLAWS = ["expired", "not valid yet", "does not fit", "not a certificate"]


@pytest.mark.parametrize("kind", FLAWS)
async def test_no_restart_onto_a_certificate_that_does_not_serve(
    rolling: EmbeddedRolling, kind: str
) -> None:
    await begun(rolling, "web")
    await rolling.renew(data=await flawed(rolling, kind))
    await rolling.wait()
    assert await rolling.restarts() == 0
    [note] = await rolling.notes("RestartPending")
    assert kind in note
    assert "Secret default/web-tls" in note
    if kind == "not valid yet":
        await rolling.wait(minutes=61)
    else:
        await rolling.renew(number=9)
        await rolling.wait()
    assert await rolling.restarts() == 1


async def test_the_way_out_of_a_check_is_an_annotation(rolling: EmbeddedRolling) -> None:
    await begun(rolling, "web")
    await rolling.renew(data=await flawed(rolling, "expired"))
    await rolling.annotate("web", {CHECK_CERTIFICATES: "false"})
    await rolling.rolled_out()
    await rolling.wait()
    assert await rolling.restarts() == 1


# Others


async def test_a_budget_that_allows_no_disruption(rolling: EmbeddedRolling) -> None:
    await begun(rolling, "web", "other")
    await rolling.cluster.create(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "careful"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        }
    )
    status = {
        "disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1,
    }  # fmt: skip
    await allow(rolling, status)
    await rolling.renew("web-tls")
    await rolling.renew("other-tls")
    await rolling.wait(minutes=5)
    assert [await rolling.restarts(name) for name in ("web", "other")] == [0, 1]
    [note] = await rolling.notes("RestartPending")
    assert "PodDisruptionBudget careful" in note
    await allow(rolling, status | {"disruptionsAllowed": 1})
    await rolling.wait(1)
    assert await rolling.restarts() == 1


async def allow(rolling: EmbeddedRolling, status: JsonObject) -> None:
    patch = {"status": status}
    await rolling.cluster.patch(PodDisruptionBudget, "careful", patch, subresource="status")


NAMES = tuple(f"w{number}" for number in range(6))


@pytest.mark.parametrize(
    "limits", [RolloutLimits(per_namespace=2), RolloutLimits(per_cluster=2)], ids=str
)
async def test_waves_wait_for_health(rolling: EmbeddedRolling, limits: RolloutLimits) -> None:
    await begun(rolling, *NAMES, limits=limits)
    for name in NAMES:
        await rolling.renew(f"{name}-tls")
    seen: list[str] = []
    for _ in range(3):
        calls = await rolling.wait(minutes=2)
        wave = restarts_in(calls)
        assert len(wave) == 2
        seen += wave
        for name in wave:
            await rolling.rolled_out(name)
    assert sorted(seen) == sorted(NAMES)


async def test_waves_go_on_after_a_restart_of_the_operator(rolling: EmbeddedRolling) -> None:
    await begun(rolling, *NAMES, limits=RolloutLimits(per_cluster=2))
    for name in NAMES:
        await rolling.renew(f"{name}-tls")
    wave = restarts_in(await rolling.wait())
    calls = await rolling.restart()
    assert restarts_in(calls) == []
    assert restarts_in(await rolling.wait(minutes=1)) == []
    await rolling.rolled_out(wave[0])
    assert len(restarts_in(await rolling.wait(1))) == 1


async def test_contents_that_broke_one_workload_do_not_reach_the_next(
    rolling: EmbeddedRolling,
) -> None:
    await rolling.secret("shared")
    for name in ("a", "b"):
        await rolling.workload(name, ["shared"])
    await rolling.run(limits=RolloutLimits(per_cluster=1))
    for name in ("a", "b"):
        await rolling.rolled_out(name)
    await rolling.renew("shared")
    [first] = restarts_in(await rolling.wait())
    await rolling.status(first, replicas=2, updatedReplicas=1, conditions=[stalled(rolling)])
    await rolling.wait(minutes=30)
    other = {"a": "b", "b": "a"}[first]
    assert await rolling.restarts(other) == 0
    [note] = await rolling.notes("RestartPending")
    assert f"Deployment default/{first} did not become healthy with the same contents" in note
    await rolling.renew("shared", 3)
    await rolling.wait()
    assert await rolling.restarts(other) == 1


async def test_pods_that_are_replaced_by_hand_are_reported(rolling: EmbeddedRolling) -> None:
    await rolling.secret()
    await rolling.workload(kind="StatefulSet")
    strategy = {"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}}}
    await rolling.cluster.patch(StatefulSet, "web", strategy)
    await rolling.status("web", "StatefulSet", replicas=1)
    await rolling.run()
    await rolling.renew()
    await rolling.wait()
    [note] = await rolling.notes("RestartPending")
    assert "OnDelete" in note
    assert await rolling.restarts(kind="StatefulSet") == 1


async def test_a_dry_run_tells_and_writes_nothing(rolling: EmbeddedRolling) -> None:
    await begun(rolling, "web", dry_run=True)
    await rolling.renew()
    calls = await rolling.wait()
    assert restarts_in(calls) == []
    [note] = await rolling.notes("RestartPending")
    assert "would be restarted, because Secret web-tls changed" in note
