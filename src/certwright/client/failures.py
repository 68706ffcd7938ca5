"""What goes wrong with connections, in our words: was anything sent, and what can a person do?"""

import os
import socket
import ssl
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

from certwright.client.answerparser import Cut, Garbage
from certwright.client.config import Config
from certwright.client.connection import Overdue
from certwright.client.errors import (
    ConnectFailed,
    ConnectionLost,
    NotAnApiServer,
    Timeout,
    TlsFailed,
    TransportError,
)

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


def unreachable(error: OSError, peer: Peer) -> ConnectFailed:
    """Explain that there is no way to the server, or to the proxy in front of it."""
    if peer.proxy:
        return no_proxy(_reason(error), peer)
    if isinstance(error, socket.gaierror):
        return ConnectFailed(
            f"{peer.server}: the host name cannot be resolved; correct the server of "
            f"{peer.source} or the name service"
        )
    if isinstance(error, TimeoutError):
        return no_connection_in_time(peer)
    return ConnectFailed(
        f"{peer.server} cannot be reached ({_reason(error)}); is it running, and is the "
        f"server of {peer.source} right?"
    )


def no_connection_in_time(peer: Peer) -> ConnectFailed:
    """Explain that nobody answers at all."""
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
        case socket.gaierror():
            return "its name cannot be resolved"
        case ssl.SSLError():
            return error.reason or type(error).__name__
        case OSError() if error.errno:
            return os.strerror(error.errno)
        case TimeoutError():
            return "no connection in time"
        case _:
            return type(error).__name__
