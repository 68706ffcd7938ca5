"""When health is judged, and what is said about objects that are not there.

Some tests run the controller ``health`` alone, on statuses that another process wrote.
"""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from tests.component.operators.managedresource.conftest import Keeping, KeepingOn, Toys

from certwright.client import Client, Request, Response
from certwright.kube import JsonObject, ServiceUnavailable
from certwright.kube.kinds import ConfigMap, CustomResourceDefinition, Deployment, Pod
from certwright.testkit import EmbeddedCluster
from certwright.testkit.builders import config_map, deployment
from certwright.testkit.faults.faults import At, Refuse
from certwright.testkit.faults.interference import Interference

IGNORE = "resources.gardener.cloud/ignore"
MANAGED_BY = "resources.gardener.cloud/managed-by"
ORIGIN = "resources.gardener.cloud/origin"
THEN = "2026-01-01T00:00:00Z"


def condition(type_: str, status: str, reason: str = "Why", message: str = "because") -> JsonObject:
    times = {"lastTransitionTime": THEN, "lastUpdateTime": THEN}
    return {"type": type_, "status": status, "reason": reason, "message": message, **times}


def reference(keeping: Keeping, kind: str, name: str, api_version: str = "v1") -> JsonObject:
    place = {"namespace": keeping.namespace, "name": name}
    return {"apiVersion": api_version, "kind": kind, **place}


@pytest.fixture
def judging(keeping: Keeping) -> Keeping:
    """The controller that judges, without the one that applies."""
    keeping.running = keeping.operator(enabled=False)
    return keeping


async def left_behind(
    keeping: Keeping,
    *resources: JsonObject,
    applied: Any = "True",
    annotations: Any = None,
    **spec: Any,
) -> None:
    """Create a ManagedResource as another process left it: applied, or not, or not yet."""
    await keeping.install()
    await keeping.cluster.create(keeping.managed_resource("web", annotations=annotations, **spec))
    conditions = [condition("ResourcesApplied", applied)] if applied else []
    status = {"conditions": conditions, "resources": list(resources)}
    await keeping.cluster.patch(keeping.kind, "web", {"status": status}, subresource="status")


async def said(keeping: Keeping) -> tuple[str | None, str | None]:
    """Return what the two conditions of the controller say."""
    conditions = await keeping.conditions("web")
    return conditions.get("Healthy"), conditions.get("Progressing")


ROLLED_OUT = condition("Progressing", "True", "NewReplicaSetAvailable")
ALL_WELL = ("True/ResourcesHealthy", "False/ResourcesRolledOut")


async def test_nothing_at_all_is_healthy(judging: Keeping) -> None:
    await left_behind(judging)
    await judging.settle()
    assert await said(judging) == ALL_WELL


@pytest.mark.parametrize("applied", ["False", "Progressing", "Unknown", None])
async def test_what_is_not_applied_is_not_judged(judging: Keeping, applied: str | None) -> None:
    await left_behind(judging, reference(judging, "ConfigMap", "a"), applied=applied)
    calls = await judging.settle()
    assert await said(judging) == (None, None)
    assert calls.writes == 0


async def test_what_is_another_class_is_not_judged_until_it_is_ours(judging: Keeping) -> None:
    await left_behind(judging, **{"class": "theirs"})
    assert (await judging.settle()).writes == 0
    assert await said(judging) == (None, None)
    await judging.change("web", **{"class": None})
    await judging.settle()
    assert await said(judging) == ALL_WELL


async def test_what_is_ignored_is_not_judged_until_it_no_longer_is(judging: Keeping) -> None:
    await left_behind(judging, annotations={IGNORE: "true"})
    assert (await judging.settle()).writes == 0
    assert await said(judging) == (None, None)
    await judging.annotate("web", IGNORE, None)
    await judging.settle()
    assert await said(judging) == ALL_WELL


async def applies(keeping: Keeping, **status: Any) -> None:
    """Let the process that applies write a status."""
    await keeping.cluster.patch(keeping.kind, "web", {"status": status}, subresource="status")


MISSING = ("False/ConfigMapMissing", "False/ResourcesRolledOut")


async def test_another_inventory_is_judged_anew(judging: Keeping) -> None:
    await left_behind(judging)
    await judging.settle()
    await applies(judging, resources=[reference(judging, "ConfigMap", "a")])
    await judging.settle()
    assert await said(judging) == MISSING
    await applies(judging, resources=[])
    await judging.settle()
    assert await said(judging) == ALL_WELL


async def test_what_is_applied_again_is_judged_anew(judging: Keeping) -> None:
    """Also if what happened in between is not seen."""
    await left_behind(judging)
    await judging.settle()
    pending = condition("ResourcesHealthy", "Unknown", "ChecksPending")
    for applied in ("Progressing", "True"):
        await applies(judging, conditions=[condition("ResourcesApplied", applied), pending])
    await judging.settle()
    assert await said(judging) == ("True/ResourcesHealthy", "False/ResourcesRolledOut")


@pytest.mark.parametrize("label", [True, False], ids=["watched", "unwatched"])
async def test_what_others_delete_is_missed_though_it_is_not_ours_to_repair(
    embedded_keeping: Keeping, *, label: bool
) -> None:
    """Embedded, for the period in which unlabelled objects are read."""
    keeping = embedded_keeping
    marks = {ORIGIN: f"{keeping.namespace}/web"}
    labels = {MANAGED_BY: keeping.namespace} if label else {}
    await keeping.cluster.create(config_map("a", labels=labels, annotations=marks))
    await left_behind(keeping, reference(keeping, "ConfigMap", "a"))
    period = timedelta(minutes=10)
    await keeping.settle(keeping.operator(enabled=False, health_period=period))
    assert await said(keeping) == ALL_WELL
    await keeping.cluster.delete(ConfigMap, "a")
    await keeping.settle()
    assert await said(keeping) == (MISSING if label else ALL_WELL)
    await keeping.cluster.advance(minutes=11)
    assert await said(keeping) == MISSING


async def test_the_period_is_kept(embedded_keeping: Keeping) -> None:
    """Health is judged once per period, whatever events tell: others may have written it."""
    keeping = embedded_keeping
    await left_behind(keeping)
    period = timedelta(minutes=10)
    await keeping.settle(keeping.operator(enabled=False, health_period=period))
    wrong = [condition("ResourcesApplied", "True"), condition("ResourcesHealthy", "False")]
    await applies(keeping, conditions=wrong)
    await keeping.cluster.advance(minutes=9)
    assert await said(keeping) == ("False/Why", None)
    await keeping.cluster.advance(minutes=2)
    assert await said(keeping) == ALL_WELL


class Unsteady:
    """A transport on which lists of pods fail at first."""

    def __init__(self, transport: Any, failures: int) -> None:
        self._transport = transport
        self.failures = failures

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    async def send(self, request: Request) -> Response:
        if self.failures and request.verb == "list" and request.resource == Pod:
            self.failures -= 1
            raise ServiceUnavailable("busy")
        response: Response = await self._transport.send(request)
        return response


async def test_a_check_that_failed_is_made_again(
    embedded_keeping: Keeping, healthy: dict[str, str]
) -> None:
    """Embedded, for the time between attempts, and for the faults."""
    keeping = embedded_keeping
    unsteady = Unsteady(keeping.cluster.client.transport, 30)
    target = Client(unsteady, clock=keeping.cluster.clock)
    ignored = deployment("d", replicas=0, annotations={IGNORE: "true"})
    await keeping.declare("web", ignored)
    await keeping.settle(keeping.operator(target=target, health_period=timedelta(hours=10)))
    assert (await keeping.conditions("web"))["Healthy"] == "False/HealthCheckError"
    assert "busy" in await keeping.message("web", "Healthy")
    available = [condition("Available", "True"), ROLLED_OUT]
    status = {"observedGeneration": 1, "conditions": available}
    await keeping.cluster.patch(Deployment, "d", {"status": status}, subresource="status")
    await keeping.cluster.advance(hours=3)
    assert unsteady.failures == 0
    assert (await keeping.conditions("web"))["Healthy"] != "False/HealthCheckError"


@pytest.mark.scenario("MR-75")
@pytest.mark.parametrize(
    ("kind", "api_version"),
    [("ConfigMap", "v1"), ("ManagedResource", "resources.gardener.cloud/v1alpha1")],
)
async def test_what_is_missing_is_named(judging: Keeping, kind: str, api_version: str) -> None:
    await left_behind(judging, reference(judging, kind, "a", api_version))
    await judging.settle()
    assert await said(judging) == (f"False/{kind}Missing", "False/ResourcesRolledOut")
    assert await judging.message("web", "Healthy") == (
        f'Required {kind} "a" in namespace "{judging.namespace}" is missing'
    )


@pytest.mark.scenario("MR-75")
async def test_what_is_missing_with_its_whole_kind_is_named_with_the_error(
    judging: Keeping,
) -> None:
    await left_behind(judging, reference(judging, "ConfigMap", "a", "nobody.example.com/v1"))
    await judging.settle()
    assert (await said(judging))[0] == "False/ConfigMapMissing"
    missing = f'Required ConfigMap "a" in namespace "{judging.namespace}" is missing: '
    message = await judging.message("web", "Healthy")
    assert message.startswith(missing)
    assert "nobody.example.com/v1" in message.removeprefix(missing)


@pytest.mark.scenario("MR-75")
async def test_a_kind_that_goes_away_takes_health_with_it(
    keeping: Keeping, toys: Toys, healthy: dict[str, str]
) -> None:
    await keeping.cluster.install(toys.definition())
    await keeping.declare("web", toys.toy("bear"))
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    await keeping.change("web", suspend=True)
    await keeping.settle()
    await keeping.cluster.delete(CustomResourceDefinition, toys.name)
    await keeping.cluster.gone(CustomResourceDefinition, toys.name)
    await keeping.settle()
    assert (await keeping.conditions("web"))["Healthy"] == "False/ToyMissing"
    await keeping.change("web", suspend=None)
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    assert f"{toys.group}/v1/Toy/{keeping.namespace}/bear" in await keeping.message("web")


async def test_a_kind_that_goes_away_is_missed_at_once(keeping: Keeping, toys: Toys) -> None:
    await keeping.cluster.install(toys.definition())
    await keeping.declare("web", toys.toy("bear"))
    await keeping.settle()
    await keeping.cluster.delete(CustomResourceDefinition, toys.name)
    await keeping.cluster.gone(CustomResourceDefinition, toys.name)
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    await keeping.cluster.install(toys.definition())
    await keeping.until_healthy("web")
    assert await keeping.exists(toys.resource, "bear") == {"bear"}


async def test_a_deployment_that_is_missing_does_not_progress(judging: Keeping) -> None:
    await left_behind(judging, reference(judging, "Deployment", "x", "apps/v1"))
    await judging.settle()
    assert await said(judging) == ("False/DeploymentMissing", "False/ResourcesRolledOut")


@pytest.mark.scenario("MR-82")
async def test_a_custom_resource_may_say_how_it_is(
    keeping: Keeping, toys: Toys, healthy: dict[str, str]
) -> None:
    await keeping.cluster.install(toys.definition())
    await keeping.declare("web", toys.toy("bear"))
    await keeping.settle()
    assert await keeping.conditions("web") == healthy, "it says nothing, so it is well"
    torn = {"status": {"conditions": [condition("Ready", "False", "Torn", "an ear is missing")]}}
    await keeping.cluster.patch(toys.resource, "bear", torn, subresource="status")
    calls = await keeping.settle()
    assert (await keeping.conditions("web"))["Healthy"] == "False/ToyUnhealthy"
    assert await keeping.message("web", "Healthy") == (
        f'Toy "{keeping.namespace}/bear" is unhealthy: condition "Ready" has invalid status False '
        "(expected True) due to Torn: an ear is missing"
    )
    assert (calls.writes, calls.reads) == (2, 0), "the status and an event"
    mended = {"status": {"conditions": [condition("Ready", "True")]}}
    await keeping.cluster.patch(toys.resource, "bear", mended, subresource="status")
    await keeping.settle()
    assert await keeping.conditions("web") == healthy


@pytest.mark.scenario("MR-82")
async def test_a_controller_that_lags_behind_makes_a_custom_resource_progress(
    keeping: Keeping, toys: Toys
) -> None:
    await keeping.cluster.install(toys.definition())
    await keeping.declare("web", toys.toy("bear"))
    await keeping.settle()
    behind = {"status": {"observedGeneration": 0}}
    await keeping.cluster.patch(toys.resource, "bear", behind, subresource="status")
    await keeping.settle()
    assert (await keeping.conditions("web"))["Progressing"] == "True/ToyProgressing"


@pytest.mark.scenario("MR-72")
async def test_a_failing_apply_is_told_and_health_is_not_judged(keeping: Keeping) -> None:
    bad = {**config_map("bad"), "data": {"n": 1}}
    await keeping.declare("web", bad, deployment("x"))
    await keeping.settle()
    conditions = await keeping.conditions("web")
    assert conditions == {
        "Applied": "False/ApplyFailed",
        "Healthy": "Unknown/ChecksPending",
        "Progressing": "Unknown/ChecksPending",
        "Ready": "False/ApplyFailed",
    }
    ready = await keeping.message("web", "Ready")
    assert f"v1/ConfigMap/{keeping.namespace}/bad" in ready
    assert ready.endswith("Health is judged once everything is applied.")
    await keeping.rewrite("web", config_map("bad"), deployment("x"))
    await keeping.settle()
    assert (await keeping.conditions("web"))["Ready"] == "False/DeploymentUnhealthy"


@pytest.mark.scenario("MR-72")
async def test_a_later_failure_leaves_what_was_known_about_the_same_objects(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("a"))
    await keeping.settle()
    await keeping.change("web", secretRefs=[{"name": "web"}, {"name": "nobody"}])
    await keeping.settle()
    assert await keeping.conditions("web") == {
        **healthy,
        "Applied": "False/CannotReadSecret",
        "Ready": "False/CannotReadSecret",
    }
    assert await keeping.message("web", "Ready") == (
        'secrets "nobody" not found. Health is judged once everything is applied.'
    )


@pytest.mark.scenario("MR-79")
@pytest.mark.parametrize(
    ("origin", "wakes"),
    [
        ("ours:{}/web", True),
        ("theirs:{}/web", False),
        ("{}/web", False),
        ("ours:{}/web/more", False),
        ("ours:theirs:{}/web", False),
    ],
)
async def test_only_objects_of_this_source_cluster_wake_anybody(
    keeping: Keeping, origin: str, *, wakes: bool
) -> None:
    # With alwaysUpdate, every pass shows at the transport.
    await keeping.declare("web", config_map("a"))
    await keeping.settle(keeping.operator(identity="ours", always_update=True))
    marks = {ORIGIN: origin.format(keeping.namespace)}
    stray = config_map("stray", labels={MANAGED_BY: keeping.namespace}, annotations=marks)
    await keeping.cluster.create(stray)
    calls = await keeping.settle()
    assert bool(calls.of("ConfigMap").writes) is wakes
    await keeping.cluster.patch(ConfigMap, "stray", {"data": {"n": "1"}})
    calls = await keeping.settle()
    assert bool(calls.of("ConfigMap").writes) is wakes


@pytest.mark.scenario("MR-80")
async def test_words_and_status_of_a_condition_change_at_times_of_their_own(
    embedded_keeping: Keeping,
) -> None:
    """Embedded, for the time: conditions count in seconds."""
    keeping = embedded_keeping

    async def applied() -> tuple[str, str, str, str]:
        [found] = [
            (c["status"], c["reason"], c["lastTransitionTime"], c["lastUpdateTime"])
            for c in (await keeping.status("web"))["conditions"]
            if c["type"] == "ResourcesApplied"
        ]
        return found

    await keeping.declare("web", config_map("a"))
    await keeping.change("web", secretRefs=[{"name": "nobody"}])
    await keeping.settle()
    status, reason, since, told = await applied()
    assert (status, reason, since) == ("False", "CannotReadSecret", told)
    await keeping.cluster.advance(minutes=1)
    assert await applied() == (status, reason, since, told)
    await keeping.rewrite("web", "[broken")
    await keeping.change("web", secretRefs=[{"name": "web"}])
    await keeping.settle()
    status, reason, since_now, told_now = await applied()
    assert (status, reason, since_now) == ("False", "DecodingFailed", since)
    assert told_now > told
    await keeping.cluster.advance(minutes=1)
    await keeping.rewrite("web", config_map("a"))
    await keeping.settle()
    status, _, since_now, told_last = await applied()
    assert status == "True"
    assert since_now == told_last > told_now


@pytest.mark.parametrize("spec", [{}, {"suspend": True}])
async def test_who_does_not_judge_health_says_nothing_about_it(
    keeping: Keeping, spec: JsonObject
) -> None:
    pending = "Unknown/ChecksPending"
    await keeping.declare("web", config_map("a"))
    await keeping.settle(keeping.operator(health=False))
    unknown = {"Applied": "True/ApplySucceeded", "Healthy": pending, "Progressing": pending}
    assert await keeping.conditions("web") == {**unknown, "Ready": pending}
    await keeping.change("web", **spec)
    await keeping.cluster.delete(ConfigMap, "a")
    await keeping.settle()
    said = await keeping.conditions("web")
    assert {name: said[name] for name in unknown} == unknown


async def test_who_does_not_judge_health_leaves_the_word_to_who_does(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("a"))
    await keeping.settle()
    await keeping.cluster.stop()
    calls = await keeping.settle(keeping.operator(health=False))
    assert calls.writes == 0
    assert await keeping.conditions("web") == healthy


async def test_what_could_not_be_told_is_told_later(
    embedded_cluster: EmbeddedCluster, keeping_on: KeepingOn
) -> None:
    planned: dict[Any, Any] = {}
    loop: Any = asyncio.get_running_loop()  # a VirtualLoop
    interference = Interference(At(writes=planned), loop.trace, loop.clock.jump)
    async with EmbeddedCluster(interference=interference) as cluster:
        keeping = keeping_on(cluster)
        await keeping.declare("web", deployment("d"))
        await keeping.settle()
        assert (await keeping.conditions("web"))["Healthy"] == "False/DeploymentUnhealthy"
        planned[interference.writes + 1] = Refuse(504)
        available = {"type": "Available", "status": "True"}
        status = {"observedGeneration": 1, "conditions": [available]}
        await cluster.patch(Deployment, "d", {"status": status}, subresource="status")
        await keeping.settle()
        assert (await keeping.conditions("web"))["Healthy"] == "True/ResourcesHealthy"
        assert interference.faults == 1
