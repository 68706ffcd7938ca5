"""Webhooks in a manager, beside controllers, on a real event loop."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.support.webhook import Ca, admission_body, as_files, trusting, write_projected

from certwright.apiserver import ApiServer
from certwright.client import Client
from certwright.clock import SYSTEM
from certwright.kube import Key
from certwright.kube.kinds import ConfigMap, ValidatingWebhookConfiguration
from certwright.runtime import ListenAddress, Manager
from certwright.webhook import (
    AdmissionHandler,
    AdmissionReview,
    Allow,
    CertificateDirectory,
    Decision,
    Registration,
    intercept,
    webhook_operator,
)
from certwright.webhook.server import WebhookServer

RULES = [intercept(ConfigMap, "CREATE")]


class Slow:
    """A handler that decides when it is told to."""

    def __init__(self) -> None:
        self.asked, self.go = asyncio.Event(), asyncio.Event()

    async def review(self, _review: AdmissionReview) -> Decision:
        self.asked.set()
        await self.go.wait()
        return Allow()


def server_of(manager: Manager) -> WebhookServer:
    [server] = [part for part in manager._runnables if isinstance(part, WebhookServer)]
    return server


async def test_a_manager_that_stops_finishes_reviews(tmp_path: Path) -> None:
    ca, slow = Ca(now=SYSTEM.now()), Slow()
    write_projected(tmp_path, "1", as_files(ca.serving()))
    webhook = AdmissionHandler("slow.test.certwright.dev", slow.review, RULES, path="/slow")
    where = Registration("slow", url="https://127.0.0.1:1")
    operator = webhook_operator(
        [webhook], CertificateDirectory(tmp_path), ListenAddress(0), registration=where
    )
    client = Client(ApiServer().transport())
    manager = Manager(client, [operator])
    connector = aiohttp.TCPConnector(ssl=trusting(ca.pem))
    async with aiohttp.ClientSession(connector=connector) as session, asyncio.TaskGroup() as group:
        assert {check.problem for check in manager.readiness()} >= {"not listening yet"}
        running = group.create_task(manager.run())
        port = await server_of(manager).listening()
        async with asyncio.timeout(30):
            while any(check.problem for check in manager.readiness()):
                await asyncio.sleep(0.01)

        async def review() -> Any:
            headers = {"Content-Type": "application/json"}
            url = f"https://localhost:{port}/slow"
            async with session.post(url, data=admission_body(), headers=headers) as answer:
                return await answer.json()

        under_way = group.create_task(review())
        await slow.asked.wait()
        manager.stop()
        while not server_of(manager)._ending:
            await asyncio.sleep(0.001)
        slow.go.set()
        await running
    assert under_way.result()["response"]["allowed"]
    kept = await client.get(ValidatingWebhookConfiguration, Key("", "slow"))
    assert kept["webhooks"][0]["clientConfig"]["url"] == "https://127.0.0.1:1/slow"


def test_names_of_clients_need_their_authority(tmp_path: Path) -> None:
    webhook = AdmissionHandler("a.test.certwright.dev", lambda _review: Allow(), RULES)
    with pytest.raises(ValueError, match="client_authority"):
        webhook_operator(
            [webhook], CertificateDirectory(tmp_path), ListenAddress(0), clients=["kube-apiserver"]
        )
