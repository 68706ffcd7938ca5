"""Very many nodes change at once, and the loop comes round in between."""

import asyncio

import pytest
from tests.support.envoy.smallschema import small_schema

from certwright.apiserver import ApiServer
from certwright.client import Client
from certwright.clock import SYSTEM
from certwright.operators.discoveryservice.config.envoys import reporter as module
from certwright.operators.discoveryservice.config.envoys.reporter import Reporter
from certwright.operators.discoveryservice.config.publisher import Publisher
from certwright.runtime import Cache
from certwright.xds.observations import Connections
from certwright.xds.snapshot import NodeKey
from certwright.xds.store import SnapshotStore

NODES = 100


async def test_nodes_are_looked_at_one_in_each_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GATHER_SECONDS", 0.0)
    client, looked = Client(ApiServer().transport()), list[NodeKey]()
    publisher = Publisher(small_schema(), SnapshotStore(), Cache(client), SYSTEM)
    reporter = Reporter(client, SYSTEM, Connections(), publisher, "replica", looked.append)
    running = asyncio.create_task(reporter.run())
    for number in range(NODES):
        reporter.look_at(NodeKey("shop", f"node-{number}"))
    async with asyncio.timeout(10):
        while len(looked) < NODES:
            before = len(looked)
            await asyncio.sleep(0)
            assert len(looked) - before <= 1
    running.cancel()
