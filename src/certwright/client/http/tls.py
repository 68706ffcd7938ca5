"""TLS: contexts from PEM bytes, and the layer between a socket and HTTP."""

import os
import ssl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from certwright.client.http.errors import InvalidMaterial

_RECORD = 16 * 1024
"""What TLS carries at a time, and what OpenSSL is given: its buffers never shrink."""


def client_context(authorities: bytes | None) -> ssl.SSLContext:
    """Return a context that trusts PEM authorities, the system's if empty; None verifies nothing.

    Raises:
        InvalidMaterial: the authorities are not PEM.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Names are those in subjectAltName: what stands in the subject was never meant to be checked.
    context.hostname_checks_common_name = False
    context.set_alpn_protocols(["http/1.1"])
    context.options |= ssl.OP_NO_RENEGOTIATION  # only attackers would use it
    if authorities is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif authorities:
        # Any listed authority is an anchor, root or not, as for TLS clients in Go.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        try:
            context.load_verify_locations(cadata=authorities.decode("ascii"))
        except (ssl.SSLError, UnicodeDecodeError) as error:
            raise InvalidMaterial("not PEM") from error
    else:
        context.load_default_certs()
    return context


def identify(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Let a context present a client certificate; `InvalidMaterial` if it cannot be used."""
    try:
        with _as_file(certificate.rstrip() + b"\n" + key) as path:
            # An encrypted key must fail, not ask for a password on the terminal.
            context.load_cert_chain(path, password=lambda: "")
    except ssl.SSLError as error:
        raise InvalidMaterial(error.reason or "not PEM") from error


def refuses_certificate(error: Exception) -> bool:
    """Return whether an error is the server's alert that it does not accept our certificate."""
    reason = (error.reason or "") if isinstance(error, ssl.SSLError) else ""
    return "ALERT" in reason and any(
        word in reason for word in ("CERTIFICATE", "UNKNOWN_CA", "ACCESS_DENIED", "DECRYPT_ERROR")
    )


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Give bytes a path, because Python's ssl module loads keys only from files."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("certwright")  # never touches a disk
        try:
            with os.fdopen(descriptor, "wb", closefd=False) as file:
                file.write(content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        with tempfile.NamedTemporaryFile(prefix="certwright-") as file:
            file.write(content)
            file.flush()
            yield file.name


class TlsPipe:
    """The client's side of a TLS connection; ciphertext leaves through *write*.

    It has no buffers of its own. The event loops' TLS keeps more than half a MiB per
    connection and passes every byte through more layers; here a record comes in and goes
    out at once. Methods raise ``ssl.SSLError``.
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
        """Whether the handshake is complete."""
        self.is_closed = False
        """Whether the server sent close_notify."""

    def handshake(self) -> None:
        """Continue the handshake as far as the received bytes allow."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            pass
        else:
            self.is_ready = True
        finally:
            self._flush()  # also after a failure: the alert says why

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
            self._flush()  # a key update, for instance, has to be acknowledged
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        """Send close_notify, without waiting for the server's."""
        with suppress(ssl.SSLError):  # because the server's is still to come
            self._tls.unwrap()
        self._flush()

    def _take(self, data: bytes | memoryview, parts: list[bytes]) -> None:
        incoming, tls = self._incoming, self._tls
        incoming.write(data)
        if not self.is_ready:
            self.handshake()
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
            pass  # the rest of the record is to come

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._write(self._outgoing.read())
