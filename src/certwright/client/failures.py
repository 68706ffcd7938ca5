"""What aiohttp raises, in our words: was anything sent, and what should a person do?"""

import ssl
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

import aiohttp

from certwright.client.config import Config
from certwright.client.errors import (
    ConnectFailed,
    ConnectionLost,
    NotAnApiServer,
    Timeout,
    TlsFailed,
    TransportError,
)


class CutAfterSending(Exception):
    """The connection failed after it had been established."""


CAUGHT = (aiohttp.ClientError, OSError, CutAfterSending)


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


async def send_once(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Keep aiohttp from sending PUT and DELETE again by itself on a lost connection.

    Whether repeating is safe is decided in `certwright.client.retry`, by verb and
    precondition; aiohttp only looks at the method.
    """
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise CutAfterSending(str(error)) from error


def explain(error: Exception, peer: Peer) -> TransportError:
    """Return the transport error for a failure of aiohttp."""
    server = peer.server
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return TlsFailed(
                f"{server}: its certificate is not trusted "
                f"({_verification(error.certificate_error)}); correct certificate-authority or "
                f"tls-server-name of {peer.source}"
            )
        case aiohttp.ClientSSLError():
            reason = getattr(error.os_error, "reason", None) or type(error.os_error).__name__
            return TlsFailed(
                f"{server}: the TLS handshake failed ({reason}); is this the right port, and "
                f"does the server accept the client certificate of {peer.source}?"
            )
        case aiohttp.ClientProxyConnectionError():
            return ConnectFailed(
                f"{server}: its proxy {peer.proxy} cannot be reached ({_reason(error)}); "
                f"correct proxy-url of {peer.source} or HTTPS_PROXY"
            )
        case aiohttp.ClientHttpProxyError():
            return ConnectFailed(
                f"{server}: its proxy {peer.proxy} refuses the connection with {error.status}; "
                "check the proxy's rules and credentials"
            )
        case aiohttp.ClientConnectorDNSError():
            return ConnectFailed(
                f"{server}: the host name cannot be resolved; correct the server of "
                f"{peer.source} or the name service"
            )
        case aiohttp.ClientConnectorError():
            return ConnectFailed(
                f"{server} cannot be reached ({_reason(error)}); is it running, and is the "
                f"server of {peer.source} right?"
            )
        case aiohttp.ConnectionTimeoutError():
            return ConnectFailed(
                f"{server} cannot be reached (no connection in time); is a firewall in "
                f"between, and is the server of {peer.source} right?"
            )
        case aiohttp.ClientResponseError():
            return NotAnApiServer(
                f"{server} does not speak HTTP as it should; correct host and port of the "
                f"server of {peer.source}"
            )
        case TimeoutError():
            return Timeout(
                f"{server} did not answer within {peer.patience.total_seconds():g} s; "
                "it may still execute the request"
            )
        case _:
            return _cut(error, peer)


def _cut(error: Exception, peer: Peer) -> TransportError:
    cause = error.__cause__ if isinstance(error, CutAfterSending) else error
    tls = next((e for e in (cause, cause and cause.__cause__) if isinstance(e, ssl.SSLError)), None)
    if tls is not None and "ALERT" in (tls.reason or ""):
        # In TLS 1.3 a server rejects the client's certificate after the handshake.
        return TlsFailed(
            f"{peer.server} rejects the TLS connection ({tls.reason}); "
            f"check the client certificate of {peer.source}"
        )
    return ConnectionLost(
        f"{peer.server} cut the connection ({type(cause).__name__}); "
        "whether the request took effect is unknown"
    )


def _reason(error: aiohttp.ClientConnectorError) -> str:
    return error.os_error.strerror or type(error.os_error).__name__


def _verification(error: Exception) -> str:
    return getattr(error, "verify_message", "") or type(error).__name__
