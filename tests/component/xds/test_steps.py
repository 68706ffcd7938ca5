"""Whatever very many Envoys do at once is done in small steps: the loop comes round in between."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from itertools import pairwise

from tests.component.xds.test_server import KEY, check_health
from tests.support.xds.client import ADS, Client, Served, ShiftedClock, accepted, request, until
from tests.support.xds.models import snapshot

from certwright.xds.snapshot import NodeKey
from certwright.xds.typeurls import CLUSTER

ENVOYS = 24
MOST = 5
"""A step lasts four milliseconds, so on a clock that ticks it has no more clients than this."""


class TickingClock(ShiftedClock):
    """A clock on which each look takes a millisecond."""

    def monotonic(self) -> float:
        self.forward(timedelta(milliseconds=1))
        return super().monotonic()


@asynccontextmanager
async def connected(served: Served) -> AsyncIterator[list[tuple[Client, int]]]:
    """Connect Envoys of one node that have accepted its first version."""
    served.snapshots.put(KEY, snapshot(CLUSTER, "v1", x="1"))
    files = served.ca.client("shop")
    async with served.running(), AsyncExitStack() as stack:
        found = []
        for _ in range(ENVOYS):
            client = await stack.enter_async_context(served.client(files))
            call = client.call(ADS)
            client.send(call, request(CLUSTER, "gateway"))
            client.send(call, accepted(await client.response(call)))
            found.append((client, call))
        await until(lambda: took(served) == ENVOYS)
        yield found


def sent(served: Served) -> float:
    return served.count("responses_total", type="Cluster")


def took(served: Served) -> float:
    return served.count("requests_total", type="Cluster", result="accepted")


async def steps(count: Callable[[], float], end: float) -> list[float]:
    """Return by how much a number grows in each turn of the loop until it has reached its end."""
    seen = [count()]
    async with asyncio.timeout(10):
        while seen[-1] < end:
            await asyncio.sleep(0)
            seen.append(count())
    return [after - before for before, after in pairwise(seen)]


async def test_a_new_version_is_pushed_to_a_few_envoys_at_a_time() -> None:
    served = Served(clock=TickingClock())
    async with connected(served):
        served.snapshots.put(KEY, snapshot(CLUSTER, "v2", x="2"))
        assert max(await steps(lambda: sent(served), 2 * ENVOYS)) <= MOST


async def test_answers_that_come_all_at_once_are_taken_a_few_at_a_time() -> None:
    served = Served(clock=TickingClock())
    async with connected(served) as clients:
        served.snapshots.put(KEY, snapshot(CLUSTER, "v2", x="2"))
        answers = [accepted(await client.response(call)) for client, call in clients]
        for (client, call), answer in zip(clients, answers, strict=True):
            client.send(call, answer)
        assert max(await steps(lambda: took(served), 2 * ENVOYS)) <= MOST


async def test_a_version_that_is_replaced_before_its_turn_is_not_sent() -> None:
    served = Served()
    async with connected(served) as clients:
        for version in ("2", "3", "4"):
            served.snapshots.put(KEY, snapshot(CLUSTER, f"v{version}", x=version))
        for client, call in clients:
            assert (await client.response(call)).version_info == "v4"
        assert sent(served) == 2 * ENVOYS


async def test_what_a_client_shall_have_is_told_before_its_turn_comes() -> None:
    served = Served()
    async with connected(served):
        served.snapshots.put(KEY, snapshot(CLUSTER, "v2", x="2"))
        seen = served.server.connections.observe([KEY])
        assert {one.types[0].wanted for one in seen} == {"v2"}
        assert not any(one.in_sync for one in seen)


async def test_an_error_of_ours_cuts_off_one_client_and_no_other() -> None:
    served = Served()
    errors = [ValueError("a listener that fails")]

    def fail(node: NodeKey) -> None:
        if node.node_id == "unlucky" and errors:
            raise errors.pop()

    served.server.connections.listen(fail)
    async with served.running(), served.client() as unlucky, served.client() as other:
        call = unlucky.call(ADS)
        unlucky.send(call, request(CLUSTER, "unlucky"))
        assert (await unlucky.ended(call)).code < 0
        await check_health(other)
        await until(lambda: served.count("connections") == 1)
    assert served.refused("internal") == 1
