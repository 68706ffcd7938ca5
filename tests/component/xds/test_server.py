"""The discovery server over loopback: streams, pushes, verdicts, and who is let in."""

import ssl
from datetime import timedelta

import pytest
from h2.errors import ErrorCodes
from tests.support.xds.client import (
    ADS,
    DELTA,
    Client,
    Served,
    XdsCa,
    accepted,
    request,
    until,
)
from tests.support.xds.models import a, snapshot

from certwright.xds.messages import (
    ClientStatusRequest,
    ClientStatusResponse,
    DeltaDiscoveryRequest,
    DeltaDiscoveryResponse,
    HealthCheckRequest,
    HealthCheckResponse,
)
from certwright.xds.protocol.observation import SyncState
from certwright.xds.snapshot import NodeKey, NodeSnapshot
from certwright.xds.typeurls import CLUSTER, LISTENER, SECRET

KEY = NodeKey("shop", "gateway")


async def test_a_configuration_is_served_and_its_changes_are_pushed() -> None:
    served = Served()
    served.snapshots.put(KEY, snapshot(CLUSTER, "v1", x="1"))
    async with served.running(), served.client() as client:
        call = client.call(ADS)
        client.send(call, request(CLUSTER, "gateway"))
        first = await client.response(call)
        assert (first.version_info, [one.value for one in first.resources]) == ("v1", [b"1"])
        client.send(call, accepted(first))
        await until(lambda: served.server.connections.observe()[0].in_sync)
        served.snapshots.put(KEY, snapshot(CLUSTER, "v2", x="2"))
        second = await client.response(call)
        assert (second.version_info, [one.value for one in second.resources]) == ("v2", [b"2"])
        [seen] = served.server.connections.observe()
        assert (seen.node, seen.user_agent, seen.delta) == (KEY, "envoy 1.40.0", False)
        assert (seen.types[0].wanted, seen.types[0].held) == ("v2", "v1")
        assert seen.types[0].state is SyncState.SENT
    assert served.count("requests_total", type="Cluster", result="accepted") == 1
    assert served.count("responses_total", type="Cluster") == 2
    assert served.count("streams") == served.count("connections") == 0


async def test_delta_streams_are_served() -> None:
    served = Served()
    served.snapshots.put(KEY, snapshot(CLUSTER, x="1", y="1"))
    async with served.running(), served.client() as client:
        call = client.call(DELTA)
        first = DeltaDiscoveryRequest(
            type_url=CLUSTER, initial_resource_versions={"x": "1", "z": "1"}
        )
        first.node.id = "gateway"
        client.send(call, first)
        response = DeltaDiscoveryResponse.FromString(await client.message(call))
        assert [one.name for one in response.resources] == ["y"]
        assert list(response.removed_resources) == ["z"]
        assert served.server.connections.observe()[0].delta


async def test_secrets_have_a_service_of_their_own_in_which_no_type_is_named() -> None:
    served = Served()
    served.snapshots.put(KEY, snapshot(SECRET, cert="1"))
    async with served.running(), served.client() as client:
        call = client.call("/envoy.service.secret.v3.SecretDiscoveryService/StreamSecrets")
        client.send(call, request("", "gateway", "cert"))
        assert [one.value for one in (await client.response(call)).resources] == [b"1"]
        other = client.call("/envoy.service.secret.v3.SecretDiscoveryService/StreamSecrets")
        client.send(other, request(CLUSTER, "gateway"))
        assert (await client.ended(other)).code == 3


async def test_responses_larger_than_any_window_arrive_whole() -> None:
    served = Served()
    large = NodeSnapshot.of([a(CLUSTER, f"c{number}", "x" * 100_000) for number in range(30)])
    served.snapshots.put(KEY, large)
    async with served.running(), served.client() as client:
        call = client.call(ADS)
        client.send(call, request(CLUSTER, "gateway"))
        assert len((await client.response(call)).resources) == 30


async def test_room_for_requests_is_given_back_whatever_becomes_of_their_streams() -> None:
    served = Served()
    large = request(SECRET, "gateway", "n" * 4000)
    async with served.running(), served.client() as client:
        call = client.call(ADS)
        for number in range(60):
            await until(lambda: client.h2.local_flow_control_window(call) >= 5000)
            client.send(call, large)
            if number % 3 == 0:
                await until(lambda: client.h2.local_flow_control_window(call) >= 5000)
                short = client.call(ADS)
                client.send(short, large)
                client.h2.reset_stream(short, ErrorCodes.CANCEL)
        await check_health(client)


async def test_many_streams_share_a_connection() -> None:
    served = Served()
    served.snapshots.put(KEY, NodeSnapshot.of([a(SECRET, f"s{n}", str(n)) for n in range(50)]))
    async with served.running(), served.client() as client:
        calls = [client.call(ADS) for _ in range(50)]
        for number, call in enumerate(calls):
            client.send(call, request(SECRET, "gateway", f"s{number}"))
        for number, call in enumerate(calls):
            response = await client.response(call)
            assert [one.value for one in response.resources] == [str(number).encode()]


async def test_a_push_reaches_all_streams_of_a_node() -> None:
    served = Served()
    served.snapshots.put(KEY, snapshot(CLUSTER, x="1"))
    async with served.running(), served.client() as client:
        calls = [client.call(ADS) for _ in range(80)]
        for call in calls:
            client.send(call, request(CLUSTER, "gateway"))
            client.send(call, accepted(await client.response(call)))
        await until(lambda: served.count("requests_total", type="Cluster", result="accepted") == 80)
        served.snapshots.put(KEY, snapshot(CLUSTER, x="2"))
        for call in calls:
            assert (await client.response(call)).resources[0].value == b"2"


async def test_a_client_that_rejects_everything_is_sent_each_version_once() -> None:
    served = Served()
    served.snapshots.put(KEY, snapshot(CLUSTER, "v0", x="0"))
    async with served.running(), served.client() as client:
        call = client.call(ADS)
        client.send(call, request(CLUSTER, "gateway"))
        for version in range(1, 4):
            response = await client.response(call)
            for _ in range(20):
                client.send(
                    call, request(CLUSTER, response_nonce=response.nonce, error="I do not like it")
                )
            served.snapshots.put(KEY, snapshot(CLUSTER, f"v{version}", x=str(version)))
        await client.response(call)
        assert served.count("responses_total", type="Cluster") == 4
        [seen] = served.server.connections.observe()
        assert (seen.types[0].rejected, seen.types[0].message) == ("v2", "I do not like it")


async def test_a_delta_client_that_rejects_everything_is_sent_each_version_once() -> None:
    served = Served()
    served.snapshots.put(KEY, snapshot(SECRET, "v0", x="0"))
    async with served.running(), served.client() as client:
        call = client.call(DELTA)
        first = DeltaDiscoveryRequest(type_url=SECRET, resource_names_subscribe=["x"])
        first.node.id = "gateway"
        client.send(call, first)
        for version in range(1, 4):
            response = DeltaDiscoveryResponse.FromString(await client.message(call))
            assert [one.version for one in response.resources] == [str(version - 1)]
            verdict = DeltaDiscoveryRequest(type_url=SECRET, response_nonce=response.nonce)
            verdict.error_detail.message = "I do not like it"
            for _ in range(20):
                client.send(call, verdict)
            await client.ping()
            assert client.silent(call)
            served.snapshots.put(KEY, snapshot(SECRET, f"v{version}", x=str(version)))
        await client.message(call)
        assert served.count("responses_total", type="Secret") == 4


@pytest.mark.scenario("DS-65")
async def test_the_node_id_of_another_namespace_is_refused() -> None:
    served = Served()
    served.snapshots.put(NodeKey("b", "gateway"), snapshot(SECRET, key="of b"))
    async with served.running(), served.client(served.ca.client("a")) as client:
        call = client.call(ADS)
        client.send(call, request(SECRET, "gateway", "key"))
        ended = await client.ended(call)
        assert ended.code == 7
        assert "namespace 'a'" in ended.message
        assert "'gateway'" in ended.message
    assert served.refused("foreign_node") == 1


async def test_two_namespaces_may_use_the_same_node_id() -> None:
    served = Served()
    for namespace in ("a", "b"):
        served.snapshots.put(NodeKey(namespace, "gateway"), snapshot(CLUSTER, x=f"of {namespace}"))
    async with served.running():
        for namespace in ("a", "b"):
            async with served.client(served.ca.client(namespace)) as client:
                call = client.call(ADS)
                client.send(call, request(CLUSTER, "gateway"))
                [found] = (await client.response(call)).resources
                assert found.value == f"of {namespace}".encode()


async def test_a_node_without_configuration_waits_for_it() -> None:
    served = Served()
    async with served.running(), served.client() as client:
        call = client.call(ADS)
        client.send(call, request(CLUSTER, "gateway"))
        await until(lambda: len(served.server.connections) == 1)
        assert client.silent(call)
        served.snapshots.put(KEY, snapshot(CLUSTER, x="1"))
        assert (await client.response(call)).resources[0].value == b"1"


async def test_clients_without_a_certificate_or_with_a_foreign_one_get_no_stream() -> None:
    served = Served()
    stranger = XdsCa("stranger")
    async with served.running():
        for files in (None, stranger.client("shop")):
            with pytest.raises((ssl.SSLError, ConnectionError)):
                await served.connect(files)
    assert served.refused("no_certificate") == served.refused("untrusted_certificate") == 1


async def test_a_certificate_that_names_no_namespace_is_refused_with_words() -> None:
    served = Served()
    async with served.running():
        for uris in (("https://example.com/ns/shop",), ("spiffe://i/ns/a", "spiffe://i/ns/b")):
            files = served.ca.client("shop", timedelta(days=1), *uris)
            async with served.client(files) as client:
                call = client.call(ADS)
                ended = await client.ended(call)
                assert ended.code == 16
                assert "names no namespace" in ended.message


async def test_a_first_request_without_node_is_refused_and_later_ones_need_none() -> None:
    served = Served()
    served.snapshots.put(KEY, NodeSnapshot.of([a(CLUSTER, "x", "1"), a(LISTENER, "l", "1")]))
    async with served.running(), served.client() as client:
        call = client.call(ADS)
        client.send(call, request(CLUSTER))
        assert (await client.ended(call)).code == 3
        call = client.call(ADS)
        client.send(call, request(CLUSTER, "gateway"))
        await client.response(call)
        client.send(call, request(LISTENER))
        assert (await client.response(call)).type_url == LISTENER


@pytest.mark.parametrize(
    ("path", "headers", "code"),
    [
        ("/no.such.Service/Method", {}, 12),
        (ADS, {"content_type": "application/json"}, -415),
        (ADS, {":method": "GET"}, -405),
    ],
)
async def test_what_is_no_call_of_ours_is_refused(
    path: str, headers: dict[str, str], code: int
) -> None:
    served = Served()
    async with served.running(), served.client() as client:
        assert (await client.ended(client.call(path, **headers))).code == code
        await check_health(client)


async def test_bytes_that_are_no_request_end_the_stream_only() -> None:
    served = Served()
    async with served.running(), served.client() as client:
        call = client.call(ADS)
        client.send(call, b"\xff\xff\xff")
        assert (await client.ended(call)).code == 3
        await check_health(client)


async def test_a_stream_that_its_client_ends_ends_well() -> None:
    served = Served()
    async with served.running(), served.client() as client:
        call = client.call(ADS)
        client.send(call, request(CLUSTER, "gateway"), end=True)
        assert (await client.ended(call)).code == 0
        assert len(served.server.connections) == 0


async def check_health(client: Client) -> None:
    call = client.call("/grpc.health.v1.Health/Check")
    client.send(call, HealthCheckRequest(), end=True)
    assert HealthCheckResponse.FromString(await client.message(call)).status == 1
    assert (await client.ended(call)).code == 0


async def test_health_is_told_of_the_server_and_its_services() -> None:
    served = Served()
    async with served.running(), served.client() as client:
        await check_health(client)
        call = client.call("/grpc.health.v1.Health/Check")
        client.send(call, HealthCheckRequest(service="no.such.Service"), end=True)
        assert (await client.ended(call)).code == 5


async def test_the_state_of_clients_is_told_within_their_namespace() -> None:
    served = Served()
    served.snapshots.put(KEY, snapshot(CLUSTER, "v1", x="1"))
    served.snapshots.put(NodeKey("other", "node"), snapshot(CLUSTER, "v1", x="1"))
    async with (
        served.running(),
        served.client() as client,
        served.client(served.ca.client("other")) as other,
    ):
        for one, node in ((client, "gateway"), (other, "node")):
            call = one.call(ADS)
            one.send(call, request(CLUSTER, node))
            response = await one.response(call)
            one.send(call, request(CLUSTER, response_nonce=response.nonce, error="no"))
        await until(lambda: served.count("requests_total", type="Cluster", result="rejected") == 2)
        call = client.call(
            "/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus"
        )
        client.send(call, ClientStatusRequest(), end=True)
        status = ClientStatusResponse.FromString(await client.message(call))
        [config] = status.config
        assert config.node.id == "gateway"
        [entry] = config.generic_xds_configs
        assert (entry.type_url, entry.config_status, entry.client_status) == (CLUSTER, 4, 4)
        assert (entry.error_state.details, entry.error_state.version_info) == ("no", "v1")


async def test_listeners_are_told_of_what_envoys_do() -> None:
    served = Served()
    served.snapshots.put(KEY, snapshot(CLUSTER, "v1", x="1"))
    told: list[NodeKey] = []
    served.server.connections.listen(told.append)
    async with served.running():
        async with served.client() as client:
            call = client.call(ADS)
            client.send(call, request(CLUSTER, "gateway"))
            response = await client.response(call)
            before = len(told)
            assert before
            client.send(call, accepted(response))
            await until(lambda: len(told) > before)
            before = len(told)
        await until(lambda: len(told) > before)
        assert set(told) == {KEY}
        assert served.server.connections.observe() == []
