"""What happens to Envoy when its Pod ends."""

import asyncio

import pytest

from certwright.cli.shutdownmanager.serve import Drain, active_connections, answer, listen

METRICS = """\
# TYPE envoy_http_downstream_cx_active gauge
envoy_http_downstream_cx_active{envoy_http_conn_manager_prefix="admin"} 1
envoy_http_downstream_cx_active{envoy_http_conn_manager_prefix="web"} %d
envoy_http_downstream_cx_active_other{envoy_http_conn_manager_prefix="web"} 9
"""


class PlayedEnvoy:
    """Answers as Envoy's administration would."""

    def __init__(self, *connections: int, away: int = 0) -> None:
        self.connections = list(connections)
        self.away = away
        self.asked: list[str] = []

    async def ask(self, method: str, path: str) -> str:
        self.asked.append(f"{method} {path}")
        if self.away:
            self.away -= 1
            raise OSError("refused")
        if path == "/stats/prometheus":
            return METRICS % self.connections.pop(0)
        return "OK"


def test_connections_to_the_administration_do_not_count() -> None:
    assert active_connections(METRICS % 3) == 3
    assert active_connections("") == 0


@pytest.mark.usefixtures("embedded_cluster")
async def test_envoy_is_drained_before_containers_end() -> None:
    played = PlayedEnvoy(2, 1, 0, away=2)
    drain, loop = Drain(played.ask), asyncio.get_running_loop()
    started = loop.time()
    async with asyncio.TaskGroup() as group:
        hook = group.create_task(answer(drain, "/shutdown"))
        first, second = (group.create_task(answer(drain, "/drain")) for _ in range(2))
        await asyncio.sleep(20)
        assert not hook.done(), "connections are left"
    assert (hook.result(), first.result(), second.result()) == (200, 200, 200)
    # Asked again after 0.2 and 1 s, 15 s for load balancers, twice 5 s for connections.
    assert loop.time() - started == pytest.approx(26.2, abs=0.1)
    assert played.asked.count("POST /healthcheck/fail") == 3
    assert played.asked.count("GET /stats/prometheus") == 3


@pytest.mark.usefixtures("embedded_cluster")
async def test_an_envoy_that_is_gone_holds_nothing_up() -> None:
    drain = Drain(PlayedEnvoy(away=100).ask)
    assert await answer(drain, "/drain") == 200
    assert drain.done.is_set()


async def test_hooks_are_answered_over_http() -> None:
    drain = Drain(PlayedEnvoy().ask)

    async def get(port: int, path: str) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        line = await reader.readline()
        writer.close()
        return line

    async with listen(drain, 0, "127.0.0.1") as port:
        assert b" 200 " in await get(port, "/healthz")
        assert b" 404 " in await get(port, "/other")
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(get(port, "/shutdown"))
            await asyncio.sleep(0)
            drain.done.set()
        assert b" 200 " in waiting.result()
