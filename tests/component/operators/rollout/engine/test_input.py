"""Input that is wrong: one workload is told, the others go on."""

import asyncio

import orjson
import pytest
from tests.component.operators.rollout.engine.conftest import EmbeddedRolling
from tests.support.rollout import ALLOWED, restarts_in

from certwright.client import Request
from certwright.kube.kinds import Deployment
from certwright.operators.rollout.dialects.redhat import RESOURCE_VERSIONS
from certwright.operators.rollout.dialects.restraint import WINDOW
from certwright.operators.rollout.policy import DIGEST, RECORD
from certwright.testkit import EmbeddedCluster
from certwright.testkit.faults.faults import DelayEvent
from certwright.testkit.faults.interference import Interference
from certwright.testkit.faults.trace import Trace
from certwright.testkit.time.virtual import VirtualLoop

GARBAGE = {
    "null": "null",
    "text": "{not json",
    "list": "[1,2]",
    "numbers": '{"key": 1, "sources": 2}',
    "parts": '{"key": "k", "sources": {"Secret/web-tls": [1]}}',
    "huge": "x" * 100_000,
}


@pytest.mark.scenario("CMD-77")
@pytest.mark.parametrize("kind", sorted(GARBAGE))
async def test_bookkeeping_of_any_shape(rolling: EmbeddedRolling, kind: str) -> None:
    written = {RECORD: GARBAGE[kind], RESOURCE_VERSIONS: GARBAGE[kind]}
    await rolling.secret()
    await rolling.workload(annotations=ALLOWED | written)
    await rolling.workload("plain", labels=None)
    await rolling.run()
    await rolling.wait()
    assert restarts_in(rolling.cluster.calls) == []
    assert orjson.loads(await rolling.record())["sources"]
    await rolling.renew()
    await rolling.wait()
    assert sorted(restarts_in(rolling.cluster.calls)) == ["plain", "web"]
    told = await rolling.events("InvalidRolloutSettings")
    assert [one["regarding"]["name"] for one in told] == ["web"]
    versions = orjson.loads((await rolling.annotations())[RESOURCE_VERSIONS])
    assert versions["web-tls"].isdecimal()


class LateEvents:
    """A plan in which events take a while as soon as they are held up."""

    held_up = False

    def on_request(self, _request: Request, _number: int, _write: int) -> None:
        """Let requests pass."""

    def on_event(self, _number: int) -> DelayEvent | None:
        """Return that an event is late."""
        return DelayEvent(3.0) if self.held_up else None

    def latency(self) -> float:
        """Return that nothing else takes time."""
        return 0.001


@pytest.mark.scenario("CMD-76")
def test_a_conflict_is_decided_anew_on_a_fresh_object() -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.get_loop().run_until_complete(_conflict(LateEvents()))


async def _conflict(plan: LateEvents) -> None:
    async with EmbeddedCluster(interference=Interference(plan, Trace())) as cluster:
        rolling = EmbeddedRolling(cluster)
        await rolling.secret()
        for name in ("web", "other"):
            await rolling.workload(name)
        await rolling.run()
        await rolling.renew()
        await rolling.wait(4.5)
        plan.held_up = True
        await rolling.annotate("web", {"note": "changed meanwhile"})
        await asyncio.sleep(1)  # the restart is due, and the annotation has not arrived
        plan.held_up = False
        await rolling.wait(30)
        made = restarts_in(cluster.calls)
        assert made.count("web") >= 2  # refused, and decided anew
        assert made.count("other") == 1
        web = await cluster.get(Deployment, "web")
        assert web["metadata"]["annotations"]["note"] == "changed meanwhile"
        assert DIGEST in web["spec"]["template"]["metadata"]["annotations"]
        assert len(await rolling.events("PodRefresh")) == 2
        assert await rolling.events("PodRefreshFailure") == []


async def test_another_client_that_undoes_restarts(rolling: EmbeddedRolling) -> None:
    await rolling.secret()
    await rolling.workload()
    await rolling.workload("calm")
    await rolling.run()
    before = await rolling.record()
    await rolling.renew()
    await rolling.wait()
    for _ in range(4):
        await rolling.cluster.patch(
            Deployment,
            "web",
            {
                "metadata": {"annotations": {RECORD: before}},
                "spec": {"template": {"metadata": {"annotations": {DIGEST: None}}}},
            },
        )
        await rolling.wait(minutes=2)
    assert await rolling.restarts() == 1
    assert await rolling.restarts("calm") == 1
    [note] = await rolling.notes("RestartPending")
    assert "another client undid the last restart" in note


async def test_another_client_that_removes_records(rolling: EmbeddedRolling) -> None:
    await rolling.secret()
    await rolling.workload()
    await rolling.run()
    for _ in range(8):
        await rolling.annotate("web", {RECORD: None})
        await rolling.wait()
    assert len(rolling.cluster.calls.of("Deployment")) < 12
    assert await rolling.restarts() == 0
    assert len(await rolling.events("RestartPending")) == 1


async def test_a_lost_record_beside_a_digest_in_the_template(rolling: EmbeddedRolling) -> None:
    await rolling.secret()
    await rolling.workload()
    await rolling.run()
    await rolling.renew()
    await rolling.wait()
    await rolling.embedded.stop()
    await rolling.annotate("web", {RECORD: None})
    await rolling.renew(number=3)
    assert rolling.operator is not None
    await rolling.embedded.settle(rolling.operator)
    await rolling.wait()
    assert await rolling.restarts() == 2


async def test_wrong_settings_are_told_and_hold_restarts_back(rolling: EmbeddedRolling) -> None:
    await rolling.secret()
    await rolling.workload(annotations=ALLOWED | {WINDOW: "whenever"})
    await rolling.workload("other")
    await rolling.run()
    [note] = await rolling.notes("InvalidRolloutSettings")
    assert WINDOW in note
    await rolling.renew()
    await rolling.wait(minutes=5)
    assert [await rolling.restarts(name) for name in ("web", "other")] == [0, 1]
    await rolling.annotate("web", {WINDOW: None})
    await rolling.wait()
    assert await rolling.restarts() == 1


async def test_missing_secrets(rolling: EmbeddedRolling) -> None:
    await rolling.workload(volumes=["missing"])
    await rolling.run()
    assert await rolling.record() == ""
    await rolling.annotate("web", {"note": "another pass"})
    await rolling.wait()
    [note] = await rolling.notes("SourceMissing")
    assert "Secret missing" in note
    await rolling.secret("missing")
    await rolling.wait()
    assert await rolling.restarts() == 0
    await rolling.renew("missing")
    await rolling.wait()
    assert await rolling.restarts() == 1
