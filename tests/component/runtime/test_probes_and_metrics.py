"""A manager on a real event loop: probes and metrics over HTTP."""

import asyncio
import socket

import aiohttp

from certwright.apiserver import ApiServer
from certwright.client import Client
from certwright.kube import Key
from certwright.kube.kinds import Secret
from certwright.runtime import DONE, Context, Controller, ListenAddress, Manager, Outcome


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        value: int = probe.getsockname()[1]
        return value


async def read(session: aiohttp.ClientSession, url: str) -> tuple[int, str]:
    async with session.get(url) as answer:
        return answer.status, await answer.text()


async def test_a_replica_becomes_ready_and_shows_its_numbers() -> None:
    port, working = free_port(), asyncio.Event()

    async def reconcile(_ctx: Context, _key: Key) -> Outcome:
        working.set()
        return DONE

    client = Client(ApiServer().transport())
    metadata = {"namespace": "default", "name": "a"}
    await client.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
    manager = Manager(client, [Controller(Secret, reconcile)], probes=ListenAddress(port))
    base = f"http://127.0.0.1:{port}"
    async with asyncio.TaskGroup() as group, aiohttp.ClientSession() as session:
        running = group.create_task(manager.run())
        await working.wait()
        status, text = await read(session, base + "/readyz?verbose")
        assert status == 200
        assert "[+] watch Secret: ok (watching, heard" in text
        assert (await read(session, base + "/livez")) == (200, "ok")
        _, metrics = await read(session, base + "/metrics")
        assert 'certwright_watch_synced{view="Secret"} 1.0' in metrics
        manager.stop()
        await running
