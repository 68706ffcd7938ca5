"""An API server over TLS that gives every request the same answer at once.

``python -m bench.patchserver FILE`` reads certificate and key from the file and prints its port.
"""

import asyncio
import json
import ssl
import sys

import uvloop

_BODY = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"a":"%s"}}' % (
    b"x" * 1400
)
_ANSWER = b"\r\n".join(
    [
        b"HTTP/1.1 200 OK",
        b"Audit-Id: 6c84fb90-12c4-11e1-840d-7b25c5ee775a",
        b"Cache-Control: no-cache, private",
        b"Content-Type: application/json",
        b"X-Kubernetes-Pf-Flowschema-Uid: 6c84fb90-12c4-11e1-840d-7b25c5ee775a",
        b"X-Kubernetes-Pf-Prioritylevel-Uid: 6c84fb90-12c4-11e1-840d-7b25c5ee775a",
        b"Date: Tue, 01 Jan 2030 12:00:00 GMT",
        b"Content-Length: %d" % len(_BODY),
        b"",
        _BODY,
    ]
)


class Conversation(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._heard = b""

    def connection_made(self, transport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._heard += data
        while (end := self._heard.find(b"\r\n\r\n")) >= 0:
            head = self._heard[:end].lower()
            length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
            if len(self._heard) < end + 4 + length:
                return
            self._heard = self._heard[end + 4 + length :]
            self._transport.write(_ANSWER)


async def main() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1])
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Conversation, "127.0.0.1", 0, ssl=context)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main())
