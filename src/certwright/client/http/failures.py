"""What goes wrong with connections, in our words: was anything sent, and what can a person do?"""

import os
import ssl
from collections.abc import Mapping
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
from certwright.client.http.connection import Overdue
from certwright.client.http.parser import Cut, Garbage

CAUGHT = (OSError, Cut, Garbage, Overdue)
"""What comes out of a connection once it is established."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Whom we talk to, as messages name it: never with credentials."""

    server: str
    proxy: str
    source: str
    patience: timedelta

    @classmethod
    def of(cls, config: Config, patience: timedelta) -> "Peer":
        """Name the server of a configuration."""
        proxy = urlsplit(config.proxy_url)
        host = f"{proxy.hostname}:{proxy.port}" if proxy.port else proxy.hostname or ""
        return cls(config.server, host, config.source, patience)


def no_address(error: OSError, peer: Peer) -> ConnectFailed:
    """Explain that the host, or the proxy in front of it, has a name that leads nowhere."""
    if peer.proxy:
        return no_proxy("its name cannot be resolved", peer)
    why = " in time" if isinstance(error, TimeoutError) else ""
    return ConnectFailed(
        f"{peer.server}: the host name cannot be resolved{why}; correct the server of "
        f"{peer.source} or the name service"
    )


def unreachable(reasons: Mapping[str, OSError], peer: Peer) -> ConnectFailed:
    """Explain what happened at each address of the server, or of the proxy in front of it."""
    why = ", ".join(f"{address}: {_reason(error)}" for address, error in reasons.items())
    if peer.proxy:
        return no_proxy(why, peer)
    in_time = any(not isinstance(error, TimeoutError) for error in reasons.values())
    return ConnectFailed(
        f"{peer.server} cannot be reached ({why}); is "
        f"{'it running' if in_time else 'a firewall in between'}, and is the server of "
        f"{peer.source} right?"
    )


def no_connection_in_time(peer: Peer) -> ConnectFailed:
    """Explain that somebody takes connections and then falls silent."""
    return ConnectFailed(
        f"{peer.server} cannot be reached (no connection in time); is a firewall in "
        f"between, and is the server of {peer.source} right?"
    )


def no_proxy(reason: str, peer: Peer) -> ConnectFailed:
    """Explain that the proxy is the problem."""
    return ConnectFailed(
        f"{peer.server}: its proxy {peer.proxy} cannot be reached ({reason}); "
        f"correct proxy-url of {peer.source} or HTTPS_PROXY"
    )


def refused_by_proxy(status: int, peer: Peer) -> ConnectFailed:
    """Explain that the proxy does not let us through."""
    return ConnectFailed(
        f"{peer.server}: its proxy {peer.proxy} refuses the connection with {status}; "
        "check the proxy's rules and credentials"
    )


def no_handshake(error: Exception, peer: Peer) -> ConnectFailed:
    """Explain that one side does not trust the other, or does not speak TLS."""
    match error:
        case ssl.SSLCertVerificationError():
            return TlsFailed(
                f"{peer.server}: its certificate is not trusted "
                f"({error.verify_message or type(error).__name__}); correct "
                f"certificate-authority or tls-server-name of {peer.source}"
            )
        case ssl.SSLError():
            return TlsFailed(
                f"{peer.server}: the TLS handshake failed ({error.reason or 'without a reason'}); "
                "is this the right port, and does the server accept the client certificate of "
                f"{peer.source}?"
            )
        case _:
            return ConnectFailed(
                f"{peer.server} cannot be reached (it hangs up when TLS is to begin); is it "
                f"running, and is the server of {peer.source} right?"
            )


def no_server_name(name: str, peer: Peer) -> TlsFailed:
    """Explain that no certificate can hold the name we are to look for."""
    return TlsFailed(
        f"{peer.server}: {name!r} is no host name; correct the server or tls-server-name of "
        f"{peer.source}"
    )


def none_free(limit: int, in_use: int, seconds: float, peer: Peer) -> NoConnectionFree:
    """Explain that others held all connections for as long as a request can wait."""
    return NoConnectionFree(
        f"{peer.server}: all {limit} connections for requests were busy for "
        f"{seconds:.3g} s ({in_use} in use, {limit - in_use} being made); "
        "nothing was sent: raise Limits.connections of the transport, or lower max_in_flight "
        "of the client"
    )


def explain(error: Exception, peer: Peer) -> TransportError:
    """Return the transport error for what a connection raised after sending."""
    match error:
        case Garbage():
            return NotAnApiServer(
                f"{peer.server} does not speak HTTP as it should ({error}); correct host and "
                f"port of the server of {peer.source}"
            )
        case Overdue():
            return Timeout(
                f"{peer.server} did not answer within {peer.patience.total_seconds():g} s; "
                "it may still execute the request"
            )
        case ssl.SSLError() if "ALERT" in (error.reason or ""):
            # In TLS 1.3 a server rejects the client's certificate after the handshake.
            return TlsFailed(
                f"{peer.server} rejects the TLS connection ({error.reason}); "
                f"check the client certificate of {peer.source}"
            )
        case _:
            why = str(error) if isinstance(error, Cut) else _reason(error)
            return ConnectionLost(
                f"{peer.server} cut the connection ({why}); "
                "whether the request took effect is unknown"
            )


def _reason(error: Exception) -> str:
    """Return the system's word for an error: event loops put addresses into theirs."""
    match error:
        case ssl.SSLError():
            return error.reason or type(error).__name__
        case OSError() if error.errno:
            return os.strerror(error.errno)
        case TimeoutError():
            return "no connection in time"
        case _:
            return type(error).__name__
