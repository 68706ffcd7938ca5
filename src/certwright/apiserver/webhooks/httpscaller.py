"""Webhooks over HTTPS, as kube-apiserver calls them."""

import asyncio
import errno
import os
import ssl
from contextlib import suppress
from datetime import timedelta
from typing import Final

import orjson

from certwright import pki
from certwright.apiserver.webhooks.address import WebhookAddress, webhook_address
from certwright.apiserver.webhooks.response import RESPONSE_LIMIT, CallFailed, WebhookResponse
from certwright.apiserver.webhooks.servicetable import Address, ServiceResolver
from certwright.apiserver.webhooks.trust import certificate_failure
from certwright.client.http.connection import Connection
from certwright.client.http.dialer import Dialer
from certwright.client.http.errors import (
    ConnectTimeout,
    HandshakeFailed,
    HostUnreachable,
    HttpError,
    InvalidMaterial,
    ResponseTimeout,
    ResponseTooLarge,
    Truncated,
    UnknownHost,
)
from certwright.client.http.message import RequestWriter
from certwright.client.http.tls import client_context
from certwright.clock import Clock
from certwright.kube.objects import JsonObject

_LATE: Final = "context deadline exceeded"
_UNLIMITED_SECONDS: Final = 30
_BROKEN_BODY: Final = "unexpected error when reading response body. Please retry. Original error: "
_HEADERS: Final = (
    ("accept", "application/json, */*"),
    ("accept-encoding", "identity"),
    ("content-type", "application/json"),
    ("user-agent", "kube-apiserver-admission"),
)


class HttpsReviewCaller:
    """Posts reviews to webhooks, each over a connection of its own.

    Their certificates are verified against the caBundle, the authorities of the system if it is
    empty, for the host of the URL or ``<service>.<namespace>.svc``. *services* says where the
    ports of Services are found.
    """

    def __init__(self, services: ServiceResolver, clock: Clock) -> None:
        self._services = services
        self._clock = clock

    async def call(
        self, client_config: JsonObject, review: JsonObject, seconds: int
    ) -> WebhookResponse:
        """Send a review and return the response; `CallFailed` if there is none in time."""
        address = webhook_address(client_config, seconds)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (seconds or _UNLIMITED_SECONDS)
        target = self._target(address)
        connection: Connection | None = None
        try:
            connection = await self._dial(address, target, deadline)
            timer = loop.call_at(deadline, connection.expire)
            try:
                return await _exchange(connection, address, review)
            finally:
                timer.cancel()
        except (ResponseTimeout, ConnectTimeout):
            failure = _LATE
        except ResponseTooLarge:
            failure = f"the response exceeds {RESPONSE_LIMIT} bytes"
        except HandshakeFailed as error:
            failure = await self._tls_failure(error, address, target)
        except (Truncated, HttpError, OSError) as error:
            failure = _network_failure(error, target)
        finally:
            if connection is not None:
                connection.abort()
        raise address.failed(failure)

    def _target(self, address: WebhookAddress) -> Address:
        if address.service is not None:
            try:
                return self._services.resolve(address.service)
            except CallFailed as error:
                raise address.failed(error.reason) from None
        host, _, port = address.host.rpartition(":")
        if host and port.isdigit():
            return host.strip("[]"), int(port)
        return address.host.strip("[]"), 443

    async def _dial(self, address: WebhookAddress, target: Address, deadline: float) -> Connection:
        try:
            context = client_context(address.authorities)
        except InvalidMaterial:
            raise address.failed("unable to load root certificates") from None
        host = f"[{target[0]}]" if ":" in target[0] else target[0]
        dialer = Dialer(
            f"https://{host}:{target[1]}",
            server_name=address.server_name,
            timeout=timedelta(seconds=_UNLIMITED_SECONDS),
        )
        return await dialer.dial(context, deadline)

    async def _tls_failure(
        self, error: HandshakeFailed, address: WebhookAddress, target: Address
    ) -> str:
        cause = error.cause
        if isinstance(cause, ssl.SSLCertVerificationError):
            leaf = await _shown_certificate(target, address.server_name)
            refused = "tls: failed to verify certificate: x509: "
            refused += "certificate signed by unknown authority"
            if not leaf:
                return refused
            now = self._clock.now()
            found = certificate_failure(leaf, b"", address.server_name, now, is_trusted=True)
            return found or refused
        if isinstance(cause, ssl.SSLError):
            return "tls: first record does not look like a TLS handshake"
        return _network_failure(cause, target)


async def _exchange(
    connection: Connection, address: WebhookAddress, review: JsonObject
) -> WebhookResponse:
    writer = RequestWriter(f"https://{address.host}", "")
    query = tuple(
        (name, value) for name, _, value in [address.query.partition("=")] if address.query
    )
    body = orjson.dumps(review)
    head, body = writer.write("POST", address.path, query, _HEADERS, body, "")
    response = connection.request(head, body)
    await response.head()
    try:
        content = await response.read_all(RESPONSE_LIMIT)
    except ResponseTooLarge:
        raise
    except (HttpError, OSError) as error:
        raise CallFailed(f"{_BROKEN_BODY}{_body_failure(error)}") from None
    kind = response.headers.get("content-type", "")
    return WebhookResponse(response.status, content, kind)


async def _shown_certificate(target: Address, server_name: str) -> bytes:
    """Return the certificate a server shows, PEM, to tell what is wrong with it; else nothing."""
    with suppress(OSError, ValueError):
        async with asyncio.timeout(_UNLIMITED_SECONDS):
            _, writer = await asyncio.open_connection(
                *target, ssl=client_context(None), server_hostname=server_name
            )
        found = writer.get_extra_info("ssl_object").getpeercert(True)
        writer.transport.abort()
        return pki.write_certificates(pki.read_certificate(ssl.DER_cert_to_PEM_cert(found)))
    return b""


def _body_failure(error: Exception) -> str:
    match error:
        case Truncated():
            return "unexpected EOF"
        case ResponseTimeout():
            return _LATE
    return str(error)


def _network_failure(error: Exception, target: Address) -> str:
    where = f"[{target[0]}]:{target[1]}" if ":" in target[0] else f"{target[0]}:{target[1]}"
    if isinstance(error, HostUnreachable):
        reason = next(iter(error.reasons.values()))
        if isinstance(reason, TimeoutError) or not reason.errno:
            return _LATE
        known = {errno.ECONNREFUSED: "connection refused"}
        return f"dial tcp {where}: connect: {known.get(reason.errno, _strerror(reason.errno))}"
    if isinstance(error, UnknownHost):
        return f"dial tcp: lookup {target[0]}: no such host"
    if isinstance(error, Truncated):
        return "EOF"
    if isinstance(error, ConnectionResetError):
        return f"read tcp {where}: read: connection reset by peer"
    if isinstance(error, HttpError):
        return f"net/http: HTTP/1.x transport connection broken: {error}"
    return str(error)


def _strerror(number: int) -> str:
    return os.strerror(number).lower()
