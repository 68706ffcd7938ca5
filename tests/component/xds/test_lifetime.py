"""How connections end, and what is presented when certificates and authorities change."""

import asyncio
import hashlib
import ssl
from datetime import timedelta
from pathlib import Path

import pytest
from tests.component.xds.test_server import KEY
from tests.support.webhook import write_projected
from tests.support.xds.client import ADS, DAY, Served, XdsCa, request, until
from tests.support.xds.models import snapshot

from certwright import pki
from certwright.pki.certificates import fingerprint
from certwright.tls.certificates import TlsFiles
from certwright.tls.directory import CertificateDirectory, DirectoryFollower
from certwright.xds.typeurls import CLUSTER

HOUR = timedelta(hours=1)


def serial_of(files: TlsFiles) -> str:
    return format(pki.read_certificates(files.certificate)[0].serial_number, "x")


def as_files(files: TlsFiles) -> dict[str, bytes]:
    return {
        "tls.crt": files.certificate,
        "tls.key": files.key,
        "ca.crt": files.client_authority or files.authority,
    }


def shown_by(files: TlsFiles) -> str:
    return fingerprint(pki.read_certificates(files.certificate)[0])


async def presented(served: Served, version: ssl.TLSVersion | None = None) -> str:
    der = await served.connect(served.ca.client("shop"), version)
    return hashlib.sha256(der).hexdigest()


async def test_an_old_connection_is_asked_to_come_again() -> None:
    served = Served()
    served.snapshots.put(KEY, snapshot(CLUSTER, x="1"))
    async with served.running(), served.client(served.ca.client("shop", 30 * DAY)) as client:
        call = client.call(ADS)
        client.send(call, request(CLUSTER, "gateway"))
        await client.response(call)
        served.clock.forward(10 * HOUR)
        served.server.check()
        assert client.went_away is None
        served.clock.forward(2 * HOUR)
        served.server.check()
        ended = await client.ended(call)
        assert (ended.code, "connect again" in ended.message) == (14, True)
        await until(lambda: client.went_away is not None)
        assert client.goodbyes == [0]


async def test_a_connection_ends_before_the_certificate_of_its_client_does() -> None:
    served = Served()
    served.snapshots.put(KEY, snapshot(CLUSTER, x="1"))
    async with served.running(), served.client(served.ca.client("shop", HOUR)) as client:
        call = client.call(ADS)
        client.send(call, request(CLUSTER, "gateway"))
        await client.response(call)
        [seen] = served.server.connections.observe()
        served.clock.forward(seen.not_after - served.clock.now() - timedelta(minutes=6))
        served.server.check()
        assert len(served.server.connections) == 1
        served.clock.forward(timedelta(minutes=1))
        served.server.check()
        assert (await client.ended(call)).code == 14


async def test_on_shutdown_clients_are_sent_elsewhere() -> None:
    served = Served()
    served.snapshots.put(KEY, snapshot(CLUSTER, x="1"))
    async with served.running() as task, served.client() as client:
        call = client.call(ADS)
        client.send(call, request(CLUSTER, "gateway"))
        await client.response(call)
        task.cancel()
        ended = await client.ended(call)
        assert (ended.code, "shuts down" in ended.message) == (14, True)
        with pytest.raises(OSError):  # noqa: PT011 - refused, or reset by a kernel that is late
            await asyncio.open_connection("127.0.0.1", served.server.port)
    assert served.count("connections") == 0


async def test_clients_are_asked_to_reconnect_one_after_the_other() -> None:
    served = Served()
    async with (
        served.running(),
        served.client() as one,
        served.client() as two,
        served.client() as three,
    ):
        clients = (one, two, three)
        calls = []
        for client in clients:
            calls.append(client.call(ADS))
            client.send(calls[-1], request(CLUSTER, "gateway"))
        await until(lambda: len(served.server.connections) == 3)
        assert served.server.ask_to_reconnect(timedelta(minutes=3), lambda _: False) == 0
        assert served.server.ask_to_reconnect(timedelta(minutes=3)) == 3
        for left in (2, 1, 0):
            served.server.check()
            await until(lambda left=left: len(served.server.connections) == left)
            served.clock.forward(timedelta(minutes=1))
        for client, call in zip(clients, calls, strict=True):
            assert (await client.ended(call)).code == 14


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_new_pair_is_presented_and_streams_stay(version: ssl.TLSVersion) -> None:
    served = Served()
    first = served.ca.server()
    served.certificate.offer(first)
    served.snapshots.put(KEY, snapshot(CLUSTER, x="1"))
    async with served.running(), served.client(version=version) as client:
        call = client.call(ADS)
        client.send(call, request(CLUSTER, "gateway"))
        await client.response(call)
        assert await presented(served, version) == shown_by(first)
        assert served.count("served_serial", serial=serial_of(first)) == 1
        second = served.ca.server()
        served.certificate.offer(second)
        assert await presented(served, version) == shown_by(second)
        assert served.count("served_serial", serial=serial_of(second)) == 1
        assert served.count("served_serial", serial=serial_of(first)) == 0
        assert [one.node for one in served.server.connections.observe()] == [KEY]
        assert serial_of(second) in " ".join(one.detail for one in served.server.readiness())


@pytest.mark.scenario("DS-17")
async def test_no_handshake_fails_while_the_pair_is_renewed_again_and_again(tmp_path: Path) -> None:
    served = Served()
    pairs = [served.ca.server() for _ in range(12)]
    client = served.ca.client("shop")
    source = CertificateDirectory(tmp_path, "ca.crt", interval=timedelta(milliseconds=10))
    write_projected(tmp_path, "0", as_files(pairs[0]))
    shown: list[str] = []

    async def connect() -> None:
        while shown[-1:] != [shown_by(pairs[-1])]:
            shown.append(hashlib.sha256(await served.connect(client)).hexdigest())

    async with served.running(), asyncio.TaskGroup() as group:
        follower = group.create_task(DirectoryFollower(source, served.certificate).run())
        connecting = [group.create_task(connect()) for _ in range(2)]
        for number, pair in enumerate(pairs[1:], 1):
            write_projected(tmp_path, str(number), as_files(pair))
            await until(lambda pair=pair: shown_by(pair) in shown)
        async with asyncio.timeout(15):
            await asyncio.gather(*connecting)
        follower.cancel()
    assert {shown_by(pair) for pair in pairs[1:]} <= set(shown)


@pytest.mark.scenario("DS-19")
async def test_a_renewed_client_is_seen_by_its_new_serial_beside_its_old_stream() -> None:
    served = Served()
    served.snapshots.put(KEY, snapshot(CLUSTER, x="1"))
    old, new = served.ca.client("shop"), served.ca.client("shop")
    async with served.running(), served.client(old) as first:
        call = first.call(ADS)
        first.send(call, request(CLUSTER, "gateway"))
        await first.response(call)
        async with served.client(new) as second:
            other = second.call(ADS)
            second.send(other, request(CLUSTER, "gateway"))
            await second.response(other)
            serials = [one.serial for one in served.server.connections.observe([KEY])]
            assert serials == [serial_of(old), serial_of(new)]
        assert served.server.connections.observe()[0].serial == serial_of(old)


@pytest.mark.scenario("DS-28")
async def test_a_client_of_a_retired_authority_is_refused_and_its_namespace_named() -> None:
    served = Served()
    new = XdsCa("new")
    served.certificate.offer(served.ca.server(served.ca.pem + new.pem))
    behind = served.ca.client("behind")
    async with served.running():
        await served.connect(behind)
        served.certificate.offer(served.ca.server(new.pem))
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await served.connect(behind)
    assert served.refused("untrusted_certificate") == 1
    assert served.count("untrusted_total", namespace="behind") == 1


async def test_once_an_authority_is_retired_its_streams_end_and_at_once_is_not_for_all() -> None:
    served = Served()
    new = XdsCa("new")
    served.certificate.offer(served.ca.server(served.ca.pem + new.pem))
    async with served.running(), served.client() as one, served.client(new.client("shop")) as two:
        calls = []
        for client in (one, two):
            calls.append(client.call(ADS))
            client.send(calls[-1], request(CLUSTER, "gateway"))
        await until(lambda: len(served.server.connections) == 2)
        served.certificate.offer(served.ca.server(served.ca.pem + new.pem))
        served.server.check()
        assert len(served.server.connections) == 2  # another pair, the same authorities
        served.certificate.offer(served.ca.server(new.pem))
        served.server.check()
        assert len(served.server.connections) == 1
        served.clock.forward(timedelta(minutes=5))
        served.server.check()
        for client, call in zip((one, two), calls, strict=True):
            assert (await client.ended(call)).code == 14


async def test_a_retired_authority_is_not_trusted_even_for_a_session_that_is_resumed() -> None:
    served = Served()
    new = XdsCa("new")
    both = served.ca.pem + new.pem
    served.certificate.offer(served.ca.server(both))
    old_client, new_client = served.ca.client("shop"), new.client("shop")
    async with served.running():
        for files in (old_client, new_client):
            await served.connect(files, ssl.TLSVersion.TLSv1_2)
        served.certificate.offer(served.ca.server(new.pem))
        await served.connect(new_client, ssl.TLSVersion.TLSv1_2)
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await served.connect(old_client, ssl.TLSVersion.TLSv1_2)
    assert served.refused("untrusted_certificate") == 1


@pytest.mark.scenario("DS-62")
async def test_a_pair_that_is_seen_in_the_middle_of_a_swap_is_not_taken(tmp_path: Path) -> None:
    served = Served()
    first, second = served.ca.server(), served.ca.server()
    write_projected(tmp_path, "one", as_files(first))
    follower = DirectoryFollower(
        CertificateDirectory(tmp_path, client_authority="ca.crt"), served.certificate
    )
    await follower.look()
    async with served.running():
        assert await presented(served) == shown_by(first)
        # A writer that does not swap a link: for a moment the new certificate has the old key.
        (tmp_path / "..one/tls.crt").write_bytes(second.certificate)
        await follower.look()
        assert await presented(served) == shown_by(first)
        assert served.count("certificate_refused_total", reason="KeyMismatch") == 1
        assert served.count("served_serial", serial=serial_of(first)) == 1
        assert served.server.ready()
        (tmp_path / "..one/tls.key").write_bytes(second.key)
        await follower.look()
        assert await presented(served) == shown_by(second)
        # The authority of clients may be caught half written as well.
        (tmp_path / "..one/ca.crt").write_bytes(served.ca.pem[:100])
        await follower.look()
        assert await presented(served) == shown_by(second)


async def test_without_a_certificate_no_handshake_begins_and_the_server_is_not_ready() -> None:
    served = Served(certificate=False)
    async with served.running():
        assert not served.server.ready()
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await served.connect(served.ca.client("shop"))
    assert served.refused("no_serving_certificate") == 1
