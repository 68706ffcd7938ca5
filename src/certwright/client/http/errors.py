"""Failures of HTTP/1.1 and TLS, as exceptions that carry facts and no advice.

A `ConnectError` means that nothing was sent. After a request was sent, the other `HttpError` and
``OSError`` (``ssl.SSLError`` included) are raised.
"""

from collections.abc import Mapping
from dataclasses import dataclass


class HttpError(Exception):
    """A request failed."""


class ConnectError(HttpError):
    """There is no connection; nothing was sent."""


@dataclass(eq=False)
class UnknownHost(ConnectError):
    """The host name cannot be resolved, or not in time."""

    timed_out: bool


@dataclass(eq=False)
class HostUnreachable(ConnectError):
    """No address of the host accepts a connection; holds the reason of each."""

    reasons: Mapping[str, OSError]


class ConnectTimeout(ConnectError):
    """An address accepted the connection, but tunnel and TLS were not ready in time."""


@dataclass(eq=False)
class HandshakeFailed(ConnectError):
    """The TLS handshake failed; *cause* is what ended it."""

    cause: Exception


@dataclass(eq=False)
class InvalidServerName(ConnectError):
    """The name to look for in the server's certificate is not a host name."""

    name: str


@dataclass(eq=False)
class ProxyFailed(ConnectError):
    """The proxy opened no tunnel; *status* is its response, None if that was not HTTP."""

    status: int | None


@dataclass(eq=False)
class PoolExhausted(ConnectError):
    """All connections of a pool were in use for as long as a request can wait."""

    limit: int
    in_use: int
    seconds: float


@dataclass(eq=False)
class ClientCertificateRefused(HttpError):
    """The server does not accept our certificate, and has not looked at any request.

    In TLS 1.3 it says so when the handshake is over for us, so instead of a response.
    """

    reason: str


class ProtocolError(HttpError):
    """The response violates HTTP/1.1. The text says how and quotes nothing of it."""


class Truncated(HttpError):
    """The connection ended before the response did."""


class ResponseTimeout(HttpError):
    """The response was not complete in time."""


class ResponseTooLarge(HttpError):
    """The body exceeds the limit; the rest of it was not read."""


class InvalidMaterial(ValueError):
    """OpenSSL cannot use a certificate, an authority or a key."""
