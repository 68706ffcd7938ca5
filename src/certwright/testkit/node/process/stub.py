"""A program for images that only have to become ready: listens on the pod's ports, answers 200.

Variables of the container change that: ``STUB_READY_AFTER`` (seconds before it listens),
``STUB_EXIT_AFTER`` (seconds until it ends), ``STUB_EXIT_CODE``, ``STUB_IGNORE_SIGTERM``.
"""

import os
import select
import selectors
import signal
import socket
import sys

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n"


def main() -> int:
    """Listen until ended by a signal, or by the clock."""
    if os.environ.get("STUB_IGNORE_SIGTERM"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    code = int(os.environ.get("STUB_EXIT_CODE") or 0)
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(code))
    if seconds := os.environ.get("STUB_EXIT_AFTER"):
        signal.setitimer(signal.ITIMER_REAL, max(float(seconds), 0.001))
    print("stub: started", flush=True)  # noqa: T201 - its log
    select.select([], [], [], float(os.environ.get("STUB_READY_AFTER") or 0))
    with selectors.DefaultSelector() as selector:
        for pair in filter(None, os.environ.get("CERTWRIGHT_PORTS", "").split(",")):
            listener = socket.create_server(("127.0.0.1", int(pair.partition("=")[2])))
            selector.register(listener, selectors.EVENT_READ)
        print("stub: ready", flush=True)  # noqa: T201 - its log
        while True:
            for key, _ in selector.select(3600):
                assert isinstance(key.fileobj, socket.socket)
                answer(key.fileobj)


def answer(listener: socket.socket) -> None:
    """Answer one request, whatever it is."""
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(1)
        try:
            if connection.recv(65536):
                connection.sendall(_ANSWER)
        except OSError:
            return


if __name__ == "__main__":
    sys.exit(main())
