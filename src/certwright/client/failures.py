"""Translate failures of connections: was anything sent, and what can a person do?"""

import os
import ssl
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

from certwright.client.config.config import Config
from certwright.client.errors import (
    ConnectFailed,
    ConnectionLost,
    NoConnectionFree,
    NotAnApiServer,
    Timeout,
    TlsFailed,
    TransportError,
)
from certwright.client.http import errors as http
from certwright.client.http.errors import HttpError

CAUGHT = (OSError, HttpError)
"""What the HTTP stack raises."""


@dataclass(frozen=True, slots=True)
class Peer:
    """The server and the way to it, as messages name them: never with credentials."""

    server: str
    proxy: str
    source: str
    timeout: timedelta

    @classmethod
    def of(cls, config: Config, timeout: timedelta) -> "Peer":
        """Name the server of a configuration."""
        proxy = urlsplit(config.proxy_url)
        host = f"{proxy.hostname}:{proxy.port}" if proxy.port else proxy.hostname or ""
        return cls(config.server, host, config.source, timeout)


def explain(error: Exception, peer: Peer) -> TransportError:
    """Return the transport error for what the HTTP stack raised."""
    match error:
        case http.ConnectError():
            return _explain_connect(error, peer)
        case http.ProtocolError():
            return NotAnApiServer(
                f"{peer.server} does not speak HTTP/1.1 ({error}); correct host and port of the "
                f"server of {peer.source}"
            )
        case http.ResponseTimeout():
            return Timeout(
                f"{peer.server} did not answer within {peer.timeout.total_seconds():g} s; "
                "it may still execute the request"
            )
        case http.ClientCertificateRefused():
            return TlsFailed(
                f"{peer.server} refuses our certificate ({error.reason}); "
                f"check the client certificate of {peer.source}"
            )
        case _:
            why = str(error) if isinstance(error, http.Truncated) else _reason(error)
            return ConnectionLost(
                f"{peer.server} cut the connection ({why}); "
                "whether the request took effect is unknown"
            )


def _explain_connect(error: http.ConnectError, peer: Peer) -> ConnectFailed:
    match error:
        case http.UnknownHost() if peer.proxy:
            return _proxy_unreachable("its name cannot be resolved", peer)
        case http.UnknownHost():
            return ConnectFailed(
                f"{peer.server}: the host name cannot be resolved"
                f"{' in time' if error.timed_out else ''}; correct the server of "
                f"{peer.source} or the name service"
            )
        case http.HostUnreachable():
            return _unreachable(error, peer)
        case http.HandshakeFailed():
            return _handshake_failed(error.cause, peer)
        case http.InvalidServerName():
            return TlsFailed(
                f"{peer.server}: {error.name!r} is not a host name; correct the server or "
                f"tls-server-name of {peer.source}"
            )
        case http.ProxyFailed(status=None):
            return _proxy_unreachable("it is not an HTTP proxy", peer)
        case http.ProxyFailed():
            return ConnectFailed(
                f"{peer.server}: its proxy {peer.proxy} refuses the connection with "
                f"{error.status}; check the proxy's rules and credentials"
            )
        case http.PoolExhausted():
            return NoConnectionFree(
                f"{peer.server}: all {error.limit} connections for requests were busy for "
                f"{error.seconds:.3g} s ({error.in_use} in use, {error.limit - error.in_use} being "
                "made); nothing was sent: raise Limits.connections of the transport, or lower "
                "max_in_flight of the client"
            )
        case _:
            return ConnectFailed(
                f"{peer.server} cannot be reached (no connection in time); is a firewall in "
                f"between, and is the server of {peer.source} right?"
            )


def _unreachable(error: http.HostUnreachable, peer: Peer) -> ConnectFailed:
    reasons = error.reasons
    why = ", ".join(f"{address}: {_reason(reason)}" for address, reason in reasons.items())
    if peer.proxy:
        return _proxy_unreachable(why, peer)
    all_silent = all(isinstance(reason, TimeoutError) for reason in reasons.values())
    return ConnectFailed(
        f"{peer.server} cannot be reached ({why}); is "
        f"{'a firewall in between' if all_silent else 'it running'}, and is the server of "
        f"{peer.source} right?"
    )


def _proxy_unreachable(reason: str, peer: Peer) -> ConnectFailed:
    return ConnectFailed(
        f"{peer.server}: its proxy {peer.proxy} cannot be reached ({reason}); "
        f"correct proxy-url of {peer.source} or HTTPS_PROXY"
    )


def _handshake_failed(cause: Exception, peer: Peer) -> ConnectFailed:
    match cause:
        case ssl.SSLCertVerificationError():
            return TlsFailed(
                f"{peer.server}: its certificate is not trusted "
                f"({cause.verify_message or type(cause).__name__}); correct "
                f"certificate-authority or tls-server-name of {peer.source}"
            )
        case ssl.SSLError():
            return TlsFailed(
                f"{peer.server}: the TLS handshake failed ({cause.reason or 'without a reason'}); "
                "is this the right port, and does the server accept the client certificate of "
                f"{peer.source}?"
            )
        case _:
            return ConnectFailed(
                f"{peer.server} cannot be reached (it closes the connection when TLS begins); is "
                f"it running, and is the server of {peer.source} right?"
            )


def _reason(error: Exception) -> str:
    """Return the system's text for an error; those of event loops contain addresses."""
    match error:
        case ssl.SSLError():
            return error.reason or type(error).__name__
        case OSError() if error.errno:
            return os.strerror(error.errno)
        case TimeoutError():
            return "no connection in time"
        case _:
            return type(error).__name__
