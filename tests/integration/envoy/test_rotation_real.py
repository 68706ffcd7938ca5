"""Authorities and pairs rotate between two real Envoys under traffic, and below their own control plane.

One Envoy sends each request to the other over a new mTLS handshake, with leaves and trust from the
discovery server. Step by step all four are replaced, and so are those of the server itself.

CERTWRIGHT_TEST_LAG=120 also plays the rotation with one Envoy that is so many seconds behind in
each step, which takes four times as long.
"""

import asyncio
import http.client
import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.envoy.discovery import ADS, bootstrap, write_client
from tests.support.envoy.filexds import real_schema
from tests.support.xds.client import Served, XdsCa, until

from certwright.kube import JsonObject
from certwright.testkit.controlplane.component import free_ports
from certwright.testkit.envoy import RunningEnvoy, envoy
from certwright.tls.certificates import TlsFiles
from certwright.xds.schema.schema import MessageSchema
from certwright.xds.snapshot import NodeKey, NodeSnapshot, XdsResource, resource
from certwright.xds.typeurls import CLUSTER, LISTENER, SECRET

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]

SERVER, CLIENT = NodeKey("shop", "server"), NodeKey("shop", "client")
NODES = (SERVER, CLIENT)
PER_STEP = 250
"""Requests that must pass before the next step; each is a handshake."""
RENEWALS = 10
"""Of the pair of the discovery server, per step."""
LONG_LAG = float(os.environ.get("CERTWRIGHT_TEST_LAG", "0"))
"""In seconds, of the run that `make test-real` has no time for."""
LAGS = [pytest.param(0.0, id="together"), pytest.param(2.0, id="lagging")]
if LONG_LAG:
    patience = pytest.mark.timeout(8 * LONG_LAG + 240)
    LAGS.append(pytest.param(LONG_LAG, id=f"{LONG_LAG:.0f}s-behind", marks=patience))
TYPE = "type.googleapis.com/envoy."
HTTP = TYPE + "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
ROUTER = TYPE + "extensions.filters.http.router.v3.Router"
TLS = TYPE + "extensions.transport_sockets.tls.v3."
OPTIONS = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
CONNECT = "cluster.xds.upstream_cx_connect_"
SECRETS: JsonObject = {
    "tls_certificate_sds_secret_configs": [{"name": "leaf", "sds_config": ADS}],
    "validation_context_sds_secret_config": {"name": "trust", "sds_config": ADS},
}


def address(port: int) -> JsonObject:
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


def listener(port: int, action: JsonObject, **chain: JsonObject) -> JsonObject:
    routes = [{"match": {"prefix": "/"}, **action}]
    manager = {
        "@type": HTTP,
        "stat_prefix": "s",
        "http_filters": [{"name": "router", "typed_config": {"@type": ROUTER}}],
        "route_config": {"virtual_hosts": [{"name": "v", "domains": ["*"], "routes": routes}]},
    }
    filters = [{"name": "http", "typed_config": manager}]
    return {
        "name": "in",
        "address": address(port),
        "filter_chains": [{"filters": filters, **chain}],
    }


def tls_socket(kind: str, **more: object) -> JsonObject:
    config = {"@type": TLS + kind, "common_tls_context": SECRETS, **more}
    return {"name": "envoy.transport_sockets.tls", "typed_config": config}


def upstream(port: int) -> JsonObject:
    endpoints = [{"lb_endpoints": [{"endpoint": {"address": address(port)}}]}]
    return {
        "name": "up",
        "type": "STATIC",
        "connect_timeout": "30s",
        "load_assignment": {"cluster_name": "up", "endpoints": endpoints},
        "typed_extension_protocol_options": {
            OPTIONS: {
                "@type": f"type.googleapis.com/{OPTIONS}",
                "common_http_protocol_options": {"max_requests_per_connection": 1},
                "explicit_http_config": {"http_protocol_options": {}},
            }
        },
        "transport_socket": tls_socket("UpstreamTlsContext", sni="localhost", max_session_keys=0),
    }


class Traffic:
    """Requests from threads, each with a pause between two."""

    def __init__(self, port: int, pause: float = 0.0) -> None:
        self._port = port
        self._pause = pause
        self._stop = threading.Event()
        self.good = 0
        self.bad: list[str] = []

    def _run(self) -> None:
        while not self._stop.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
            try:
                connection.request("GET", "/")
                response = connection.getresponse()
                text = response.read().decode()
                if response.status == 200:
                    self.good += 1
                else:
                    self.bad.append(f"{response.status} {text}")
            except OSError as error:
                self.bad.append(repr(error))
            finally:
                connection.close()
            self._stop.wait(self._pause)

    @asynccontextmanager
    async def running(self, threads: int = 2) -> AsyncIterator["Traffic"]:
        tasks = [asyncio.to_thread(self._run) for _ in range(threads)]
        async with asyncio.TaskGroup() as group:
            for one in tasks:
                group.create_task(one)
            try:
                yield self
            finally:
                self._stop.set()


class Mesh:
    """Two Envoys, their discovery server, and what they are given."""

    def __init__(
        self, schema: MessageSchema, served: Served, folder: Path, ports: list[int]
    ) -> None:
        self.schema = schema
        self.served = served
        self.folder = folder
        self.server_port, self.client_port = ports
        self.leaves: dict[NodeKey, TlsFiles] = {}
        self.trust: dict[NodeKey, bytes] = {}
        self.generation = 0

    def make(self, type_url: str, value: JsonObject) -> XdsResource:
        message = self.schema.make(type_url.partition("/")[2], value)
        return resource(type_url, value["name"], message.SerializeToString())

    def publish(self, node: NodeKey) -> None:
        leaf, trust = self.leaves[node], self.trust[node]
        pair = {
            "certificate_chain": {"inline_string": leaf.certificate.decode()},
            "private_key": {"inline_string": leaf.key.decode()},
        }
        trusted = {"trusted_ca": {"inline_string": trust.decode()}}
        resources = [
            self.make(SECRET, {"name": "leaf", "tls_certificate": pair}),
            self.make(SECRET, {"name": "trust", "validation_context": trusted}),
        ]
        if node == SERVER:
            answer: JsonObject = {"direct_response": {"status": 200}}
            socket = tls_socket("DownstreamTlsContext", require_client_certificate=True)
            socket["typed_config"]["disable_stateless_session_resumption"] = True
            chain = listener(self.server_port, answer, transport_socket=socket)
            resources.append(self.make(LISTENER, chain))
        else:
            resources.append(self.make(CLUSTER, upstream(self.server_port)))
            route = {"route": {"cluster": "up"}}
            resources.append(self.make(LISTENER, listener(self.client_port, route)))
        empty = {CLUSTER: "none"} if node == SERVER else {}
        self.served.snapshots.put(node, NodeSnapshot.of(resources, empty))

    def write_files(self, node: NodeKey, ca: XdsCa, trusted: bytes) -> None:
        """Swap the pair by which an Envoy shows itself to the discovery server."""
        self.generation += 1
        folder = self.folder / node.node_id
        folder.mkdir(exist_ok=True)
        write_client(folder, str(self.generation), ca.client("shop"), trusted)

    async def in_sync(self) -> None:
        def settled() -> bool:
            seen = {one.node: one for one in self.served.server.connections.observe()}
            return set(seen) == set(NODES) and all(
                one.in_sync and any(part.type_url == SECRET for part in one.types)
                for one in seen.values()
            )

        await until(settled)

    async def renew_server(self, ca: XdsCa, clients: bytes, seconds: float = 0.0) -> None:
        """Renew the discovery server's pair many times, with new connections in between.

        The renewals are spread over that many seconds.
        """
        for number in range(RENEWALS):
            self.served.certificate.offer(ca.server(clients))
            if number % 3 == 0:
                self.served.server.ask_to_reconnect(timedelta(0))
                self.served.server.check()
                await self.in_sync()
            await asyncio.sleep(seconds / RENEWALS)


@asynccontextmanager
async def mesh(
    tmp_path: Path, api: str, old: XdsCa
) -> AsyncIterator[tuple[Mesh, list[RunningEnvoy]]]:
    schema = real_schema()
    served = Served()
    served.ca = old
    served.certificate.offer(old.server())
    found = Mesh(schema, served, tmp_path, free_ports(2))
    for node in NODES:
        found.leaves[node], found.trust[node] = old.server(), old.pem
        if node == CLIENT:
            found.leaves[node] = old.client("shop")
        found.publish(node)
        found.write_files(node, old, old.pem)
    async with served.running():
        port = served.server.port
        first = bootstrap(tmp_path / "server", port, api, "server")
        second = bootstrap(tmp_path / "client", port, api, "client")
        async with (
            envoy(first, tmp_path, name="server-envoy") as one,
            envoy(second, tmp_path, name="client-envoy") as two,
        ):
            await found.in_sync()
            for running in (one, two):
                await running.until(running.admin.is_ready)
            yield found, [one, two]


async def enough(traffic: Traffic, count: int = PER_STEP) -> None:
    wanted = traffic.good + count
    async with asyncio.timeout(60):
        while traffic.good < wanted and not traffic.bad:
            await asyncio.sleep(0.01)


@pytest.mark.scenario("DS-22")
@pytest.mark.scenario("DS-61")
@pytest.mark.parametrize("lag", LAGS)
@pytest.mark.parametrize("api", ["GRPC", "DELTA_GRPC"])
async def test_no_request_fails_through_all_phases(tmp_path: Path, api: str, lag: float) -> None:
    """Of the four runs together more than 5,000 requests, and 50 renewals in each.

    With a lag of 120 s, more than 5,000 in each.
    """
    old, new = XdsCa("old"), XdsCa("new")
    both = old.pem + new.pem
    async with (
        mesh(tmp_path, api, old) as (found, envoys),
        Traffic(found.client_port, pause=min(lag / 1_000, 0.05)).running() as traffic,
    ):
        served = found.served

        async def step(server: XdsCa, clients: bytes, signer: XdsCa, trusted: bytes) -> None:
            """Bring a step to one Envoy, and to the other as late as its lag is.

            Meanwhile the discovery server shows pairs of *server* and trusts *clients*. To it
            Envoys show leaves of *signer* and trust *trusted*.
            """
            found.write_files(SERVER, signer, trusted)
            found.publish(SERVER)
            await found.renew_server(server, clients, lag)
            found.write_files(CLIENT, signer, trusted)
            found.publish(CLIENT)
            await found.in_sync()
            await enough(traffic)

        await enough(traffic)
        # Prepared and distributed: both authorities are trusted before any leaf changes.
        found.trust = dict.fromkeys(NODES, both)
        await step(old, both, old, both)
        # Activated, the servers first: leaves of the new authority.
        found.leaves[SERVER] = new.server()
        await step(new, both, old, both)
        found.leaves[CLIENT] = new.client("shop")
        await step(new, both, new, both)
        # Retired: the old authority is dropped.
        found.trust = dict.fromkeys(NODES, new.pem)
        await step(new, new.pem, new, new.pem)
        await found.renew_server(new, new.pem)
        await found.in_sync()
        await enough(traffic)
        renewals = served.count("certificate_loaded_total")
        sys.stdout.write(
            f"{traffic.good} requests, {len(traffic.bad)} failed, {renewals:.0f} pairs\n"
        )
        assert traffic.bad == [], (len(traffic.bad), traffic.good, traffic.bad[:3])
        assert traffic.good >= max(6 * PER_STEP, 5_000 * lag / 120)
        assert renewals >= 50
        for running in envoys:
            stats = await running.admin.stats("cluster.xds.(ssl|upstream_cx_connect_)")
            failures = {k: v for k, v in stats.items() if "fail" in k or "error" in k}
            # On a busy machine a handshake may take longer than the second it is given.
            failures[CONNECT + "fail"] -= stats[CONNECT + "timeout"]
            assert not any(failures.values()), stats
        assert served.refused("untrusted_certificate") == served.refused("handshake") == 0


@pytest.mark.parametrize("api", ["GRPC", "DELTA_GRPC"])
async def test_the_same_without_overlap_fails(tmp_path: Path, api: str) -> None:
    """So the test above would notice."""
    old, new = XdsCa("old"), XdsCa("new")
    async with (
        mesh(tmp_path, api, old) as (found, _),
        Traffic(found.client_port).running() as traffic,
    ):
        await enough(traffic)
        assert traffic.bad == []
        found.leaves = {SERVER: new.server(), CLIENT: new.client("shop")}
        found.trust = dict.fromkeys(NODES, new.pem)
        found.publish(SERVER)
        await until(lambda: traffic.bad)


@pytest.mark.scenario("DS-28")
async def test_an_envoy_that_missed_the_rotation_is_refused_and_named(tmp_path: Path) -> None:
    old, new = XdsCa("old"), XdsCa("new")
    async with mesh(tmp_path, "GRPC", old) as (found, _):
        found.served.certificate.offer(new.server(new.pem))
        found.served.server.ask_to_reconnect(timedelta(0))
        found.served.server.check()
        await until(
            lambda: found.served.refused("certificate") + found.served.refused("handshake") >= 1
        )
        found.served.certificate.offer(old.server(new.pem))
        await until(lambda: found.served.count("untrusted_total", namespace="shop") >= 1)
