"""TLS between a socket and HTTP, without buffers of its own.

The event loops' TLS keeps buffers of more than half a MiB per connection, and passes every byte
through more layers. Here a record comes in and goes out at once.
"""

import ssl
from collections.abc import Callable
from contextlib import suppress

_RECORD = 16 * 1024
"""What TLS carries at a time, and what OpenSSL is given: its buffers grow and never shrink."""


class TlsPipe:
    """One side of a TLS connection; ciphertext leaves through *write*.

    Methods raise ``ssl.SSLError`` when the two sides do not get along.
    """

    __slots__ = ("_incoming", "_outgoing", "_tls", "_write", "is_closed", "is_ready")

    def __init__(
        self, context: ssl.SSLContext, server_name: str, write: Callable[[bytes], None]
    ) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=server_name)
        self._write = write
        self.is_ready = False
        """Both sides have shaken hands."""
        self.is_closed = False
        """The other side has said that nothing more comes."""

    def shake(self) -> None:
        """Go on with the handshake as far as what has arrived allows."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            pass
        else:
            self.is_ready = True
        finally:
            self._flush()  # also when it failed: the other side may learn why

    def send(self, data: bytes) -> None:
        """Send plaintext."""
        if len(data) <= _RECORD:
            self._tls.write(data)
            self._write(self._outgoing.read())
            return
        view = memoryview(data)
        while view:
            view = view[self._tls.write(view[:_RECORD]) :]
            self._write(self._outgoing.read())

    def receive(self, data: bytes) -> bytes:
        """Take ciphertext; return the plaintext that it completes."""
        parts: list[bytes] = []
        if len(data) <= _RECORD:
            self._take(data, parts)
        else:
            view = memoryview(data)
            for start in range(0, len(view), _RECORD):
                self._take(view[start : start + _RECORD], parts)
        if self._outgoing.pending:
            self._flush()  # new keys, for instance, are answered
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        """Say goodbye, without waiting for an answer."""
        with suppress(ssl.SSLError):  # that the other side's goodbye is still to come
            self._tls.unwrap()
        self._flush()

    def _take(self, data: bytes | memoryview, parts: list[bytes]) -> None:
        incoming, tls = self._incoming, self._tls
        incoming.write(data)
        if not self.is_ready:
            self.shake()
            if not self.is_ready:
                return
        try:
            while incoming.pending or tls.pending():
                part = tls.read(_RECORD)
                if not part:
                    self.is_closed = True
                    return
                parts.append(part)
        except ssl.SSLWantReadError:
            pass  # the rest of a record is to come

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._write(self._outgoing.read())
