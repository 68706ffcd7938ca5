"""Many Envoys, played by one process: a connection and a stream each, over mTLS.

Each asks for Clusters, Listeners and one Secret, and accepts what it is sent. HTTP/2 is spoken by
hand, as far as such a client needs it: so the load costs less than what is measured, and is the
same for all servers. Windows are so large that they need never be opened again.

Arguments: the folder of certificates, the port, how many. Writes a line when all streams have all
they asked for. Then it reads lines: each is a piece of a certificate. It writes one line when it
has read it, and one when all streams were sent a Secret with that piece.
"""

import asyncio
import json
import ssl
import sys
import time
from pathlib import Path

from certwright.runtime import new_event_loop
from certwright.xds.messages import DiscoveryRequest, DiscoveryResponse
from certwright.xds.typeurls import CLUSTER, LISTENER, SECRET

NODE = "bench"
NAME = "cert"
AT_A_TIME = 100
PATH = b"/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
ASKED = {CLUSTER: [], LISTENER: [], SECRET: [NAME]}
DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8
ENDS, ANSWER, COMPLETE = 1, 1, 4
WIDEST = 2**31 - 1


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return (
        len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
    )


def header(name: bytes, value: bytes) -> bytes:
    """Return a header that no table is needed for."""
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


def message(encoded: bytes) -> bytes:
    """Return a message of gRPC in a frame."""
    return frame(DATA, 0, 1, b"\x00" + len(encoded).to_bytes(4, "big") + encoded)


def beginning() -> bytes:
    """Return everything that a client sends first."""
    settings = b"\x00\x02" + (0).to_bytes(4, "big") + b"\x00\x04" + WIDEST.to_bytes(4, "big")
    headers = {
        b":method": b"POST", b":scheme": b"https", b":path": PATH, b":authority": b"localhost",
        b"content-type": b"application/grpc", b"te": b"trailers",
    }  # fmt: skip
    parts = [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        frame(SETTINGS, 0, 0, settings),
        frame(WINDOW, 0, 0, (WIDEST - 65_535).to_bytes(4, "big")),
        frame(HEADERS, COMPLETE, 1, b"".join(header(*each) for each in headers.items())),
    ]
    for type_url, names in ASKED.items():
        request = DiscoveryRequest(type_url=type_url, resource_names=names)
        request.node.id = request.node.cluster = NODE
        request.node.user_agent_name = "envoy"
        parts.append(message(request.SerializeToString()))
    return b"".join(parts)


class Load:
    """All clients, and what they wait for."""

    def __init__(self, folder: Path, port: int, count: int) -> None:
        self.context = ssl.create_default_context(cafile=str(folder / "ca" / "tls.crt"))
        self.context.set_alpn_protocols(["h2"])
        self.context.load_cert_chain(folder / "client" / "tls.crt", folder / "client" / "tls.key")
        self.beginning = beginning()
        self.wanted = b""
        self.round = 0
        self.missing = 0
        self.all = asyncio.Event()
        self.responses = 0
        self._port = port
        self._count = count

    async def connect(self) -> float:
        """Connect all, some at a time; return how long it took until each had everything."""
        began, rest = time.monotonic(), iter(range(self._count))

        async def worker() -> None:
            loop = asyncio.get_running_loop()
            for _ in rest:
                made = loop.create_connection(lambda: EnvoyClient(self), "127.0.0.1", self._port)
                _, client = await made
                await client.ready.wait()

        async with asyncio.TaskGroup() as group:
            for _ in range(min(AT_A_TIME, self._count)):
                group.create_task(worker())
        return time.monotonic() - began

    def expect(self, piece: bytes) -> None:
        """Wait from now on for a Secret with these bytes."""
        self.wanted, self.missing, self.responses = piece, self._count, 0
        self.round += 1
        self.all.clear()

    def took(self) -> None:
        """Take note that one more client has it."""
        self.missing -= 1
        if not self.missing:
            self.all.set()


class EnvoyClient(asyncio.Protocol):
    """One client."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = load.context.wrap_bio(
            self._incoming, self._outgoing, server_hostname="localhost"
        )
        self._began = False
        self._frames = bytearray()
        self._data = bytearray()
        self._types: set[str] = set()
        self._round = 0
        self.ready = asyncio.Event()

    def connection_made(self, transport) -> None:
        self._transport = transport
        self._shake_hands()

    def connection_lost(self, exc: Exception | None) -> None:
        sys.exit(f"the server closed a connection: {exc}")

    def data_received(self, data: bytes) -> None:
        self._incoming.write(data)
        if not self._began and not self._shake_hands():
            return
        while self._incoming.pending or self._tls.pending():
            try:
                self._frames += self._tls.read(65_536)
            except ssl.SSLWantReadError:
                break
        self._take_frames()
        self._flush()

    def _shake_hands(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return False
        self._began = True
        self._tls.write(self._load.beginning)
        self._flush()
        return True

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._transport.write(self._outgoing.read())

    def _take_frames(self) -> None:
        frames, place = self._frames, 0
        while len(frames) >= place + 9:
            end = place + 9 + int.from_bytes(frames[place : place + 3], "big")
            if len(frames) < end:
                break
            self._take(frames[place + 3], frames[place + 4], bytes(frames[place + 9 : end]))
            place = end
        del frames[:place]

    def _take(self, kind: int, flags: int, payload: bytes) -> None:
        if kind == DATA:
            self._data += payload
            while len(self._data) >= 5:
                end = 5 + int.from_bytes(self._data[1:5], "big")
                if len(self._data) < end:
                    break
                self._respond(bytes(self._data[5:end]))
                del self._data[:end]
        elif kind in {SETTINGS, PING} and not flags & ANSWER:
            answer = payload if kind == PING else b""
            self._tls.write(frame(kind, ANSWER, 0, answer))
        elif kind in {RESET, GOAWAY} or (kind == HEADERS and flags & ENDS):
            sys.exit(f"the server ended a stream: frame {kind}, {payload!r}")

    def _respond(self, encoded: bytes) -> None:
        response, load = DiscoveryResponse.FromString(encoded), self._load
        url = response.type_url
        answer = DiscoveryRequest(
            type_url=url,
            version_info=response.version_info,
            response_nonce=response.nonce,
            resource_names=ASKED[url],
        )
        self._tls.write(message(answer.SerializeToString()))
        load.responses += 1
        if len(self._types) < len(ASKED):
            self._types.add(url)
            if len(self._types) == len(ASKED):
                self.ready.set()
        if url == SECRET and self._round != load.round and load.wanted in encoded:
            self._round = load.round
            load.took()


async def main(folder: str, port: int, count: int) -> None:
    load, loop = Load(Path(folder), port, count), asyncio.get_running_loop()
    seconds = await load.connect()
    print(json.dumps({"seconds": seconds}), flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        load.expect(line.strip().encode())
        print(json.dumps({"expects": load.round}), flush=True)
        await load.all.wait()
        print(json.dumps({"last": time.monotonic(), "responses": load.responses}), flush=True)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
