"""Secrets in one cluster, ServiceAccounts in another: the tokens open the other one."""

import asyncio
from random import Random

from tests.component.operators.tokenrequestor.conftest import Asking

from certwright.apiserver import ApiServer
from certwright.client import Client
from certwright.kube import Resource
from certwright.kube.kinds import Secret, ServiceAccount
from certwright.operators.tokenrequestor import token_requestor
from certwright.operators.tokenrequestor.request import TARGET_NAME, TARGET_NAMESPACE
from certwright.runtime import Manager
from certwright.testkit import EmbeddedCluster


async def test_accounts_and_targets_live_in_the_other_cluster(
    embedded_cluster: EmbeddedCluster, asking: Asking
) -> None:
    await asking.create("own", account="web")
    where = {TARGET_NAME: "taken", TARGET_NAMESPACE: "default"}
    await asking.create("away", account="web", more=where)
    server = ApiServer(clock=embedded_cluster.clock, rng=Random(1))  # noqa: S311 - repeatable
    other = Client(server.transport(), clock=embedded_cluster.clock)
    source = Client(embedded_cluster.server.transport(), clock=embedded_cluster.clock)
    manager = Manager(source, [token_requestor(other)], clock=embedded_cluster.clock)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(manager.run())
        while not (await asking.data("own")).get("token") or await _absent(other, Secret, "taken"):
            await asyncio.sleep(0.1)
        assert await embedded_cluster.find(ServiceAccount, "web") is None
        assert await embedded_cluster.find(Secret, "taken") is None
        assert await asking.who((await asking.data("own"))["token"]) == ""  # here it opens nothing
        await embedded_cluster.delete(Secret, "own")
        await embedded_cluster.delete(Secret, "away")
        while not await _absent(other, ServiceAccount, "web"):
            await asyncio.sleep(0.1)
        await embedded_cluster.gone(Secret, "away")
        assert await _absent(other, Secret, "taken")
        counted = (await manager.exposition()).decode()
        assert 'certwright_token_requests_total{cause="due"} 2.0' in counted
        manager.stop()
        await asyncio.wait([running])


async def _absent(client: Client, kind: Resource, name: str) -> bool:
    found = await client.list(kind, "default", fields=f"metadata.name={name}")
    return not found.items
