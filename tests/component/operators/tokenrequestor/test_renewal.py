"""Tokens over time: renewed before they expire, once each, whatever the process does."""

from datetime import timedelta

import pytest
from tests.component.operators.tokenrequestor.conftest import Asking

from certwright.kube import parse_time
from certwright.kube.kinds import Secret, ServiceAccount
from certwright.operators.tokenrequestor import token_requestor
from certwright.operators.tokenrequestor.request import EXPIRATION, RENEW_TIMESTAMP
from certwright.testkit import EmbeddedCluster

OPERATOR = token_requestor()


async def test_a_token_is_renewed_at_four_fifths_of_its_life(
    embedded_cluster: EmbeddedCluster, asking: Asking
) -> None:
    await asking.create(more={EXPIRATION: "10h"})
    began = embedded_cluster.clock.now()
    await embedded_cluster.settle(OPERATOR)
    first = await asking.data()
    due = parse_time((await asking.annotations())[RENEW_TIMESTAMP]) - began
    assert timedelta(hours=8) <= due <= timedelta(hours=8, minutes=24)
    calls = await embedded_cluster.advance(hours=7, minutes=59)
    assert calls.writes == 0
    assert await asking.data() == first
    calls = await embedded_cluster.advance(minutes=26)
    assert calls.writes == 2
    second = await asking.data()
    assert await asking.who(first["token"]) == "web"  # until everybody has the new one
    assert await asking.who(second["token"]) == "web"
    assert second != first
    await embedded_cluster.advance(hours=2)
    assert await asking.who(first["token"]) == ""


async def test_no_token_ever_expires_where_it_stands(
    embedded_cluster: EmbeddedCluster, asking: Asking
) -> None:
    for number in range(5):
        await asking.create(f"s{number}", more={EXPIRATION: f"{10 + 7 * number}m"})
    await embedded_cluster.settle(OPERATOR)
    for _ in range(60):
        await embedded_cluster.advance(minutes=5)
        for number in range(5):
            assert await asking.who((await asking.data(f"s{number}"))["token"]) == "web"


async def test_a_renewal_that_came_due_while_no_requestor_ran(
    embedded_cluster: EmbeddedCluster, asking: Asking
) -> None:
    await asking.create()
    await embedded_cluster.settle(OPERATOR)
    first = await asking.data()
    await embedded_cluster.stop()
    await embedded_cluster.advance(hours=11)
    calls = await embedded_cluster.settle(OPERATOR)
    assert await asking.data() != first
    assert calls.writes == 2


async def test_a_day_costs_three_renewals_and_nothing_else(
    embedded_cluster: EmbeddedCluster, asking: Asking
) -> None:
    await asking.create()
    await embedded_cluster.settle(OPERATOR)
    calls = await embedded_cluster.advance(hours=30)
    assert calls.writes == 6
    assert calls.reads == 0


async def test_renewals_are_spread(embedded_cluster: EmbeddedCluster, asking: Asking) -> None:
    for number in range(20):
        await asking.create(f"s{number}")
    await embedded_cluster.settle(OPERATOR)
    times = {(await asking.annotations(f"s{number}"))[RENEW_TIMESTAMP] for number in range(20)}
    assert len(times) >= 18


async def test_tokens_stay_out_of_logs_and_events(
    embedded_cluster: EmbeddedCluster,
    asking: Asking,
    capsys: pytest.CaptureFixture[str],
) -> None:
    await asking.create()
    await embedded_cluster.settle(OPERATOR)
    token = (await asking.data())["token"]
    await asking.put({"kubeconfig": f"current-context: {token}"})
    await embedded_cluster.settle()
    written = capsys.readouterr()
    assert "no context of the name" in written.out
    assert token not in written.out + written.err
    everything = [str(obj) for obj in embedded_cluster.server.objects() if obj["kind"] != "Secret"]
    assert token not in "".join(everything)


async def test_the_last_secret_takes_its_account_along_after_a_day(
    embedded_cluster: EmbeddedCluster, asking: Asking
) -> None:
    await asking.create()
    await embedded_cluster.settle(OPERATOR)
    await embedded_cluster.advance(hours=25)
    await embedded_cluster.delete(Secret, "s")
    await embedded_cluster.settle()
    assert await embedded_cluster.find(ServiceAccount, "web") is None
