"""The flag of cmd-operator: what runs with it, and that nothing does without it."""

import pytest
from tests.component.operators.rollout.engine.conftest import EmbeddedRolling
from tests.support.rollout import restarts_in

from certwright.cli.manager.flags import parse
from certwright.cli.manager.process import refreshers

RELOADER = {"reloader.stakater.com/auto": "true"}


async def run(rolling: EmbeddedRolling, *flags: str) -> None:
    """Run what the flags of a manager ask for."""
    await rolling.embedded.settle(*refreshers(parse(flags)))


@pytest.mark.scenario("CMD-82")
async def test_without_the_flag_no_secret_is_read(rolling: EmbeddedRolling) -> None:
    await rolling.secret()
    await rolling.workload()
    await run(rolling)
    await rolling.renew()
    await rolling.wait()
    assert len(rolling.cluster.calls) == 0


@pytest.mark.parametrize("flag", ["--enable-pod-refresher", "-enable-pod-refresher=true"])
async def test_with_it_the_annotations_of_cmd_operator_count(
    rolling: EmbeddedRolling, flag: str
) -> None:
    await rolling.secret()
    await rolling.workload()
    await rolling.workload("other", annotations=RELOADER)
    await run(rolling, flag)
    await rolling.renew()
    assert restarts_in(await rolling.wait()) == ["web"]


async def test_rollout_takes_the_dialects_that_are_named(rolling: EmbeddedRolling) -> None:
    await rolling.secret()
    await rolling.workload()
    await rolling.workload("other", annotations=RELOADER)
    await run(rolling, "--operators", "rollout", "--dialects", "reloader")
    await rolling.renew()
    assert restarts_in(await rolling.wait()) == ["other"]
