"""The discovery server in the process of a manager, with certificates from a directory."""

import asyncio
from pathlib import Path

import pytest
from tests.component.xds.test_lifetime import as_files
from tests.support.webhook import write_projected
from tests.support.xds.client import ADS, Client, XdsCa, request, tls_of
from tests.support.xds.models import snapshot

from certwright.apiserver import ApiServer
from certwright.client import Client as ApiClient
from certwright.runtime import ListenAddress, Manager
from certwright.tls.directory import CertificateDirectory
from certwright.xds.observations import Connections
from certwright.xds.operator import xds_operator
from certwright.xds.server import XdsServer
from certwright.xds.snapshot import NodeKey
from certwright.xds.store import SnapshotStore
from certwright.xds.typeurls import CLUSTER


async def test_a_manager_serves_envoys_and_sends_them_away_when_it_stops(tmp_path: Path) -> None:
    ca, snapshots, connections = XdsCa(), SnapshotStore(), Connections()
    write_projected(tmp_path, "1", as_files(ca.server()))
    snapshots.put(NodeKey("shop", "gateway"), snapshot(CLUSTER, x="1"))
    source = CertificateDirectory(tmp_path, client_authority="ca.crt")
    operator = xds_operator(snapshots, connections, source, ListenAddress(0))
    manager = Manager(ApiClient(ApiServer().transport()), [operator])
    [server] = [part for part in manager._runnables if isinstance(part, XdsServer)]
    assert {check.problem for check in manager.readiness()} >= {"not listening yet"}
    async with asyncio.TaskGroup() as group:
        running = group.create_task(manager.run())
        async with asyncio.timeout(30):
            port = await server.listening()
            while any(check.problem for check in manager.readiness()):
                await asyncio.sleep(0.01)
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=tls_of(ca.client("shop"), ca.pem), server_hostname="localhost"
        )
        client = Client(reader, writer)
        group.create_task(client.run())
        call = client.call(ADS)
        client.send(call, request(CLUSTER, "gateway"))
        assert (await client.response(call)).resources[0].value == b"1"
        assert [one.node.node_id for one in connections.observe()] == ["gateway"]
        manager.stop()
        assert (await client.ended(call)).code == 14
        writer.transport.abort()
        await running


def test_a_server_without_an_authority_of_clients_is_not_built() -> None:
    with pytest.raises(ValueError, match="client_authority"):
        xds_operator(SnapshotStore(), Connections(), CertificateDirectory("/tls"), ListenAddress(0))
