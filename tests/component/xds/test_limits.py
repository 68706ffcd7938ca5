"""Clients that do what no Envoy does are refused or cut, are counted, and disturb no other."""

import asyncio
import socket
import ssl
from datetime import timedelta
from resource import RUSAGE_SELF, getrusage

import pytest
from h2.errors import ErrorCodes
from h2.settings import SettingCodes
from tests.component.xds.test_server import KEY, check_health
from tests.support.xds.client import (
    ADS,
    PATIENCE_SECONDS,
    Client,
    Served,
    accepted,
    request,
    tls_of,
    until,
)
from tests.support.xds.models import a, snapshot

from certwright.xds.grpc.envelope import prefix
from certwright.xds.grpc.limits import GrpcLimits
from certwright.xds.snapshot import NodeSnapshot, resource
from certwright.xds.typeurls import CLUSTER

MIB = 1024 * 1024
SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
GOAWAY = b"\x07\x00\x00\x00\x00\x00" + bytes(4) + b"\x00\x00\x00\x01"
"""Its kind, the connection, the last stream, PROTOCOL_ERROR."""


async def gone(client: Client) -> ErrorCodes | int | None:
    """Wait until the server has ended the connection; return with which error."""
    await until(lambda: client.went_away is not None or client.reader.at_eof())
    return client.went_away.error_code if client.went_away else None


async def test_a_message_of_4_mib_ends_its_call_before_it_is_read() -> None:
    served = Served()
    async with served.running(), served.client() as client:
        call = client.call(ADS)
        client.send_raw(call, prefix(4 * MIB) + b"x" * 1000)
        ended = await client.ended(call)
        assert (ended.code, "4194304 bytes" in ended.message) == (8, True)
        await check_health(client)
    assert served.refused("message_size") == 1


async def test_unfinished_messages_of_all_calls_are_bounded_together() -> None:
    served = Served(GrpcLimits(message_bytes=100_000, buffered_bytes=190_000))
    async with served.running(), served.client() as client:
        calls = [client.call(ADS) for _ in range(4)]
        for call in calls:  # each is allowed by itself
            client.send_raw(call, prefix(99_000) + b"x" * 15_000)
        for call in [*calls, *calls, calls[0]]:
            await until(lambda call=call: client.h2.local_flow_control_window(call) >= 15_000)
            if not served.refused("message_size"):
                client.send_raw(call, b"x" * 15_000)
        assert (await client.ended(calls[0])).code == 8
        await check_health(client)


async def test_compressed_messages_are_refused() -> None:
    served = Served()
    async with served.running(), served.client() as client:
        call = client.call(ADS)
        client.send_raw(call, b"\x01\x00\x00\x00\x01x")
        assert (await client.ended(call)).code == 12


async def test_a_header_bomb_ends_the_connection() -> None:
    served = Served()
    async with served.running(), served.client() as client:
        # Three thousand characters once, and then a byte that refers to them, a hundred times.
        bomb = [("x-bomb", "x" * 3000)] * 100
        client.h2.send_headers(
            1,
            [(":method", "POST"), (":scheme", "https"), (":path", ADS), (":authority", "x"), *bomb],
        )
        client.flush()
        assert await gone(client) == ErrorCodes.ENHANCE_YOUR_CALM
    assert served.refused("protocol") == 1


async def test_pings_are_answered_and_a_flood_of_them_is_not() -> None:
    served = Served()
    async with served.running(), served.client() as client:
        for _ in range(50):
            client.h2.ping(b"12345678")
        client.flush()
        await check_health(client)
        for _ in range(1000):
            client.h2.ping(b"12345678")
        client.flush()
        assert await gone(client) == ErrorCodes.ENHANCE_YOUR_CALM
    assert served.refused("flood") == 1


async def test_a_flood_of_settings_ends_the_connection() -> None:
    served = Served()
    async with served.running(), served.client() as client:
        for number in range(300):
            client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 70_000 + number})
        client.flush()
        assert await gone(client) == ErrorCodes.ENHANCE_YOUR_CALM


async def test_streams_that_are_opened_and_reset_in_a_row_end_the_connection() -> None:
    served = Served()
    async with served.running(), served.client() as client:
        for _ in range(300):
            client.h2.reset_stream(client.call(ADS), ErrorCodes.CANCEL)
        client.flush()
        assert await gone(client) == ErrorCodes.ENHANCE_YOUR_CALM
    await until(lambda: len(served.server.connections) == 0)


async def test_empty_frames_in_a_row_end_the_connection() -> None:
    served = Served()
    async with served.running(), served.client() as client:
        call = client.call(ADS)
        for _ in range(300):
            client.h2.send_data(call, b"")
        client.flush()
        assert await gone(client) == ErrorCodes.ENHANCE_YOUR_CALM


async def test_the_length_of_a_frame_is_refused_before_its_bytes_come() -> None:
    served = Served()
    async with served.running(), served.client() as client:
        client.call(ADS)
        client.writer.write((15 * MIB).to_bytes(3, "big") + b"\x00\x00\x00\x00\x00\x01")
        assert await gone(client) == ErrorCodes.FRAME_SIZE_ERROR
    assert served.refused("frame_size") == 1


async def test_a_refused_client_that_goes_on_sending_is_told_why() -> None:
    """To close before it does would reset the connection, and the reason might be lost."""
    served = Served()
    ping = b"\x00\x00\x08\x06\x00\x00\x00\x00%c12345678"

    def dial() -> ssl.SSLSocket:
        tcp = socket.create_connection(("127.0.0.1", served.server.port), timeout=PATIENCE_SECONDS)
        context = tls_of(served.ca.client("shop"), served.ca.pem)
        return context.wrap_socket(tcp, server_hostname="localhost")

    def read_all() -> bytes:
        read = b""
        while data := client.recv(65536):
            read += data
        return read

    async with served.running():
        with await asyncio.to_thread(dial) as client:
            client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SETTINGS + ping % 3)
            await until(lambda: served.refused("protocol") == 1)  # a PING of a stream
            for _ in range(3):
                client.sendall(ping % 0)
            answer = await asyncio.to_thread(read_all)
    assert GOAWAY in answer


async def test_what_is_not_http2_ends_the_connection() -> None:
    served = Served()
    async with served.running(), served.client() as client:
        client.writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 10)
        await gone(client)
    assert served.refused("flood") + served.refused("protocol") + served.refused("frame_size") == 1


async def test_more_calls_than_announced_are_not_served() -> None:
    served = Served(GrpcLimits(calls=3))
    async with served.running(), served.client() as client:
        await check_health(client)  # so that the settings have come
        assert client.h2.remote_settings.max_concurrent_streams == 3


async def test_memory_stays_bounded_for_a_client_that_does_not_read() -> None:
    """It has the window of one response open; whatever is published meanwhile costs nothing."""
    served = Served()
    body = "x" * 200_000
    served.snapshots.put(
        KEY, NodeSnapshot.of([a(CLUSTER, str(n), body + str(n)) for n in range(5)])
    )
    async with served.running(), served.client() as stopped, served.client() as other:
        stopped.paused = True
        call = stopped.call(ADS)
        stopped.send(call, request(CLUSTER, "gateway"))
        good = other.call(ADS)
        other.send(good, request(CLUSTER, "gateway"))
        other.send(good, accepted(await other.response(good)))
        before = getrusage(RUSAGE_SELF).ru_maxrss
        for round_number in range(40):
            contents = [a(CLUSTER, str(n), f"{body}{round_number}-{n}") for n in range(5)]
            served.snapshots.put(KEY, NodeSnapshot.of(contents))
            response = await other.response(good)  # others are served as ever
            other.send(good, accepted(response))
        grown = getrusage(RUSAGE_SELF).ru_maxrss - before
        assert served.count("responses_total", type="Cluster") == 42
        assert grown < 20 * 1024, f"{grown} KiB for 40 MB that were not read"
        assert stopped.silent(call)


async def test_little_waits_for_a_client_that_takes_nothing_from_its_socket() -> None:
    """Its windows are wide open, so what holds the server back is the socket alone."""
    served = Served()
    large = [resource(CLUSTER, str(number), b"x" * MIB) for number in range(24)]
    served.snapshots.put(KEY, NodeSnapshot.of(large))
    async with served.running(), served.client() as stopped, served.client() as other:
        stopped.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 2**30})
        stopped.h2.increment_flow_control_window(2**30)
        stopped.flush()
        await check_health(stopped)
        stopped.reader._transport.pause_reading()  # type: ignore[attr-defined]
        stopped.send(stopped.call(ADS), request(CLUSTER, "gateway"))
        await until(lambda: waiting(served) > 0)
        for number in range(20):
            served.snapshots.put(KEY, NodeSnapshot.of([*large, a(CLUSTER, "new", str(number))]))
            await check_health(other)
            assert waiting(served) < 200 * 1024
        assert served.count("responses_total", type="Cluster") == 1
        served.clock.forward(timedelta(seconds=61))
        served.server.check()
        await check_health(other)
        served.clock.forward(timedelta(seconds=21))
        served.server.check()
        await until(lambda: served.refused("no_sign_of_life") == 1)
        await check_health(other)


def waiting(served: Served) -> int:
    """Return how many bytes wait to be taken by the slowest client."""
    return max(one._transport.get_write_buffer_size() for one in served.server._clients)


async def test_more_than_is_taken_at_a_time_is_taken_in_the_end() -> None:
    served = Served()
    frame = (16_000).to_bytes(3, "big") + b"\xfa\x00\x00\x00\x00\x00" + b"x" * 16_000
    async with served.running(), served.client() as client:
        await check_health(client)
        client.writer.write(frame * 20)  # of a kind that HTTP/2 does not know, and ignores
        await check_health(client)


async def test_a_client_that_gives_no_sign_of_life_is_cut() -> None:
    served = Served()
    async with served.running(), served.client() as client:
        await check_health(client)
        served.clock.forward(timedelta(seconds=61))
        served.server.check()
        await check_health(client)  # it answered the ping, or sent something anyway
        assert served.refused("no_sign_of_life") == 0
        client.reader._transport.pause_reading()  # type: ignore[attr-defined]
        served.clock.forward(timedelta(seconds=61))
        served.server.check()
        served.clock.forward(timedelta(seconds=21))
        served.server.check()
        assert served.refused("no_sign_of_life") == 1
        await until(lambda: served.count("connections") == 0)


async def test_a_client_that_never_calls_is_cut() -> None:
    served = Served()
    async with served.running(), served.client() as client:
        await until(lambda: served.count("connections") == 1)
        await client.ping()
        served.clock.forward(timedelta(seconds=31))
        served.server.check()
        await gone(client)
    assert served.refused("no_call") == 1


async def test_a_client_that_does_not_shake_hands_is_cut() -> None:
    served = Served()
    async with served.running():
        reader, writer = await asyncio.open_connection("127.0.0.1", served.server.port)
        await until(lambda: served.count("connections") == 1)
        served.clock.forward(timedelta(seconds=11))
        served.server.check()
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        writer.close()
    assert served.refused("handshake_timeout") == 1


async def test_a_client_that_waits_for_its_turn_is_not_late() -> None:
    served = Served()
    async with served.running():
        _, writer = await asyncio.open_connection("127.0.0.1", served.server.port)
        await until(lambda: served.count("connections") == 1)
        [client] = served.server._clients
        served.clock.forward(timedelta(seconds=11))
        client.data_received(b"\x16")  # the first byte of a handshake: others have their turn first
        served.server.check()
        assert served.refused("handshake_timeout") == 0
        await until(lambda: not client.scheduled)
        served.server.check()
        assert served.refused("handshake_timeout") == 1
        writer.close()


async def test_connections_over_the_limit_are_closed_at_once() -> None:
    served = Served(GrpcLimits(connections=2))
    async with served.running(), served.client() as one, served.client() as two:
        with pytest.raises(ConnectionError):
            await served.connect(served.ca.client("shop"))
        await check_health(one)
        await check_health(two)
    assert served.refused("too_many") == 1


async def test_a_stream_that_says_too_much_of_itself_is_ended() -> None:
    served = Served()
    served.snapshots.put(KEY, snapshot(CLUSTER, x="1"))
    async with served.running(), served.client() as client:
        call = client.call(ADS)
        client.send(call, request(CLUSTER, "n" * 1000))
        ended = await client.ended(call)
        assert (ended.code, "node-id" in ended.message) == (3, True)
