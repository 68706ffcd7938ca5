"""A real Envoy and the discovery server: mTLS, verdicts, reloads on both sides, both protocols."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.envoy.discovery import bootstrap, write_client
from tests.support.envoy.filexds import require_envoy
from tests.support.xds.client import Served, XdsCa

from certwright.testkit.envoy import RunningEnvoy, envoy
from certwright.xds.observations import EnvoyObservation
from certwright.xds.protocol.observation import SyncState
from certwright.xds.snapshot import NodeKey, NodeSnapshot, XdsResource, resource
from certwright.xds.typeurls import CLUSTER, ENDPOINTS, LISTENER
from certwright.xds.wire import text_field, varint, wrapped

pytestmark = [pytest.mark.real, pytest.mark.timeout(120)]

KEY = NodeKey("shop", "gateway")
EDS, TIMEOUT, NAME = 3, 4, 1


def cluster(
    name: str, *, seconds: int = 1, endpoints: bool = False, broken: bool = False
) -> XdsResource:
    """A cluster; a broken one says that it has endpoints and not where they come from."""
    encoded = text_field(NAME, name) + wrapped(TIMEOUT, b"\x08" + varint(seconds))
    if endpoints:
        encoded += b"\x10" + varint(EDS)
        if not broken:
            from_ads = wrapped(3, b"") + b"\x30\x02"
            encoded += wrapped(3, wrapped(1, from_ads))
    return resource(CLUSTER, name, encoded)


def endpoints_of(name: str, port: int) -> XdsResource:
    address = wrapped(1, text_field(2, "127.0.0.1") + b"\x18" + varint(port))
    locality = wrapped(2, wrapped(1, wrapped(1, address)))
    return resource(ENDPOINTS, name, text_field(1, name) + wrapped(2, locality))


class Rig:
    """A server and one Envoy of it."""

    def __init__(self, served: Served, running: RunningEnvoy, folder: Path) -> None:
        self.served = served
        self.envoy = running
        self.folder = folder

    def publish(self, *resources: XdsResource) -> None:
        self.served.snapshots.put(KEY, NodeSnapshot.of(resources, {LISTENER: "empty"}))

    def seen(self) -> EnvoyObservation | None:
        found = self.served.server.connections.observe()
        return found[-1] if found else None

    def type_seen(self, type_url: str) -> Any:
        seen = self.seen()
        found = [one for one in seen.types if one.type_url == type_url] if seen else []
        return found[0] if found else None

    async def until(self, condition: Any) -> None:
        async def holds() -> bool:
            return bool(condition())

        await self.envoy.until(holds)

    async def until_in_sync(self) -> None:
        await self.until(lambda: (seen := self.seen()) and len(seen.types) >= 2 and seen.in_sync)


@asynccontextmanager
async def rig(tmp_path: Path, api: str, *first: XdsResource) -> AsyncIterator[Rig]:
    require_envoy()
    served = Served()
    served.snapshots.put(KEY, NodeSnapshot.of(first, {LISTENER: "empty"}))
    tls = tmp_path / "tls"
    tls.mkdir()
    write_client(tls, "one", served.ca.client("shop"), served.ca.pem)
    async with served.running():
        settings = bootstrap(tls, served.server.port, api)
        async with envoy(settings, tmp_path) as running:
            found = Rig(served, running, tls)
            yield found


@pytest.mark.parametrize("api", ["GRPC", "DELTA_GRPC"])
@pytest.mark.scenario("DS-64")
async def test_envoy_takes_changes_and_says_what_it_rejects(tmp_path: Path, api: str) -> None:
    first = [cluster("plain"), cluster("fed", endpoints=True), endpoints_of("fed", 9999)]
    async with rig(tmp_path, api, *first) as found:
        await found.until_in_sync()
        seen = found.seen()
        assert seen is not None
        assert (seen.node, seen.delta) == (KEY, api == "DELTA_GRPC")
        assert seen.user_agent.startswith("envoy 1.")
        await found.envoy.until(found.envoy.admin.is_ready)

        # A cluster with endpoints changes: Envoy warms it, and must not wait for anything.
        started = asyncio.get_running_loop().time()
        found.publish(
            cluster("plain"), cluster("fed", seconds=2, endpoints=True), endpoints_of("fed", 9999)
        )
        await found.until_in_sync()
        assert asyncio.get_running_loop().time() - started < 10, "it waited for endpoints (15 s)"

        good = [cluster("plain"), cluster("fed", seconds=2, endpoints=True), endpoints_of("fed", 1)]
        found.publish(cluster("plain"), cluster("fed", endpoints=True, broken=True), good[2])
        await found.until(lambda: found.type_seen(CLUSTER).state is SyncState.REJECTED)
        rejected = found.type_seen(CLUSTER)
        assert "without an EDS config" in rejected.message
        assert rejected.rejected == rejected.wanted
        assert rejected.rejections == 1
        await found.until(lambda: found.type_seen(ENDPOINTS).in_sync)
        before = found.served.count("responses_total", type="Cluster")
        assert found.type_seen(LISTENER).in_sync

        found.publish(*good)
        await found.until_in_sync()
        assert found.served.count("responses_total", type="Cluster") == before + 1


@pytest.mark.parametrize("api", ["GRPC", "DELTA_GRPC"])
@pytest.mark.scenario("DS-19")
async def test_a_renewed_client_pair_is_used_on_the_next_connection(
    tmp_path: Path, api: str
) -> None:
    async with rig(tmp_path, api, cluster("plain")) as found:
        await found.until_in_sync()
        first = found.seen()
        assert first is not None
        renewed = found.served.ca.client("shop")
        write_client(found.folder, "two", renewed, found.served.ca.pem)
        name = "cluster.xds.client_ssl_socket_factory.ssl_context_update_by_sds"

        async def reloaded() -> bool:
            return (await found.envoy.admin.stats(name)).get(name, 0) >= 3

        await found.envoy.until(reloaded)
        still = found.seen()
        assert still is not None
        assert (still.serial, still.since) == (first.serial, first.since), "the stream survived"
        found.served.server.ask_to_reconnect(timedelta(0))
        found.served.server.check()
        await found.until(lambda: (seen := found.seen()) and seen.serial != first.serial)
        await found.until_in_sync()


@pytest.mark.scenario("DS-17")
@pytest.mark.parametrize("api", ["GRPC", "DELTA_GRPC"])
async def test_server_pairs_and_authorities_change_between_connections(
    tmp_path: Path, api: str
) -> None:
    """Trust both, reissue the server, reissue the client, drop the old: no handshake fails."""
    async with rig(tmp_path, api, cluster("plain")) as found:
        served = found.served
        await found.until_in_sync()
        new = XdsCa("new")
        both = served.ca.pem + new.pem

        async def again() -> None:
            before = found.seen()
            served.server.ask_to_reconnect(timedelta(0))
            served.server.check()
            await found.until(lambda: (seen := found.seen()) and seen != before)
            await found.until_in_sync()

        for _ in range(3):
            served.certificate.offer(served.ca.server())
            await again()
        served.certificate.offer(served.ca.server(both))
        write_client(found.folder, "both", served.ca.client("shop"), both)
        await again()
        served.certificate.offer(new.server(both))
        await again()
        write_client(found.folder, "new", new.client("shop"), both)
        await again()
        served.certificate.offer(new.server(new.pem))
        write_client(found.folder, "last", new.client("shop"), new.pem)
        await again()
        stats = await found.envoy.admin.stats("cluster.xds.(ssl|upstream_cx_connect_fail)")
        failures = {k: v for k, v in stats.items() if "fail" in k or "error" in k}
        assert failures
        assert not any(failures.values()), failures
        assert served.refused("untrusted_certificate") == served.refused("handshake") == 0


@pytest.mark.scenario("DS-65")
async def test_envoy_is_refused_the_node_of_another_namespace(tmp_path: Path) -> None:
    async with rig(tmp_path, "GRPC") as found:
        found.served.snapshots.remove(KEY)
        found.served.snapshots.put(
            NodeKey("other", "gateway"), NodeSnapshot.of([cluster("secret")])
        )
        found.served.server.ask_to_reconnect(timedelta(0))
        found.served.server.check()
        await found.until(lambda: found.served.refused("foreign_node") >= 1)
        clusters = await found.envoy.admin.text("/clusters")
        assert "secret" not in clusters
