"""HTTPS to a certificate authority: bounded in time and size, never redirected.

Errors name the server and what went wrong, never what was sent: requests hold tokens.
"""

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from ipaddress import ip_address
from types import TracebackType
from typing import Annotated, Self, TypeAlias, TypeVar
from urllib.parse import urlsplit

import aiohttp
import msgspec

from certwright import __version__

ANSWER_LIMIT = 2**20
"""Bytes of an answer; a chain of ten certificates needs less than a tenth."""
PATIENCE = timedelta(seconds=20)
"""From the first byte sent to the last one received."""

CaBundle: TypeAlias = Annotated[
    str, msgspec.Meta(description="PEM; whom to trust instead of the machine's roots.")
]
"""The field of a spec that `Web` takes as *trusted*."""

_PLAIN = {"http", "ws"}

StructT = TypeVar("StructT", bound=msgspec.Struct)


class WebError(Exception):
    """The server sent no usable answer. Trying again later may help."""


@dataclass(frozen=True, slots=True)
class WebResponse:
    """The response of a server. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300

    def json(self, kind: type[StructT]) -> StructT:
        """Return the body as a *kind*, unknown fields ignored; `WebError` if it is not one."""
        try:
            return msgspec.json.decode(self.body, type=kind, strict=False)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise WebError(
                f"the server answered {self.status} with no {kind.__name__}: {error}"
            ) from None


class Web:
    """Connections to one server, for the time of a context.

    *trusted* are PEM certificates that replace the roots of the machine.
    """

    def __init__(self, *, trusted: str = "", patience: timedelta = PATIENCE) -> None:
        self._trusted = trusted
        self._patience = patience
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        """Open the session; nothing is sent yet."""
        context = await asyncio.to_thread(_tls_context, self._trusted)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=context),
            timeout=aiohttp.ClientTimeout(total=self._patience.total_seconds()),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"user-agent": f"certwright/{__version__}", "accept-encoding": "identity"},
            auto_decompress=False,
            trust_env=True,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> WebResponse:
        """Send a request and return the whole answer, whatever its status.

        Raises:
            WebError: there was none in time, or it was too large.
        """
        assert self._session is not None, "used outside its context"
        peer = _peer(url)
        try:
            async with self._session.request(
                method, url, headers=headers, data=body, allow_redirects=False
            ) as response:
                received = await _body(response, peer)
                names = {name.lower(): value for name, value in response.headers.items()}
                return WebResponse(response.status, names, received)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            text = self._explained(error, peer)
        raise WebError(text)  # out here: what aiohttp raised holds our headers

    def _explained(self, error: Exception, peer: str) -> str:
        match error:
            case aiohttp.ClientConnectorCertificateError():
                reason = getattr(error.certificate_error, "verify_message", "")
                return f"{peer}: its certificate is not trusted ({reason or 'unknown reason'})"
            case aiohttp.ClientConnectorError():
                reason = error.os_error.strerror or type(error.os_error).__name__
                return f"{peer} cannot be reached ({reason})"
            case TimeoutError():
                return f"{peer} did not answer within {self._patience.total_seconds():g} s"
            case ValueError():
                return f"{peer} is not a valid URL"
        return f"{peer} cut the connection ({type(error).__name__})"


def refuse_plain(url: str, secret: str) -> None:
    """Raise `ValueError` if a *secret* would be sent unencrypted, except to this machine."""
    try:
        place = urlsplit(url)
        host = place.hostname or ""
    except ValueError:
        return  # nothing can be sent there
    if place.scheme in _PLAIN and not _is_this_machine(host):
        raise ValueError(f"{secret} must be sent by https; {_peer(url)} is not encrypted")


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _peer(url: str) -> str:
    """Return scheme, host and port, never credentials or a path."""
    try:
        place = urlsplit(url)
        port = f":{place.port}" if place.port else ""
    except ValueError:
        return "the configured URL"
    return f"{place.scheme}://{place.hostname or ''}{port}"


async def _body(response: aiohttp.ClientResponse, peer: str) -> bytes:
    body = bytearray()
    async for part in response.content.iter_any():
        body += part
        if len(body) > ANSWER_LIMIT:
            raise WebError(f"{peer} answered with more than {ANSWER_LIMIT} bytes")
    return bytes(body)


@lru_cache(maxsize=16)
def _tls_context(trusted: str) -> ssl.SSLContext:
    """Return the trust of a connection; reading the machine's roots takes 20 ms, hence once.

    Raises:
        WebError: *trusted* holds no certificate.
    """
    try:
        return ssl.create_default_context(cadata=trusted or None)
    except (ssl.SSLError, ValueError):
        raise WebError("the CA bundle holds no PEM certificate that can be read") from None
