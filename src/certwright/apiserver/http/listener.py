"""The server over TLS, for kubectl and everything else that speaks HTTP."""

import ssl
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from certwright.apiserver.access.tokens import Tokens
from certwright.apiserver.access.users import ADMIN, ANONYMOUS, UserInfo, certificate_user
from certwright.apiserver.http.bodies import SIZE_LIMIT
from certwright.apiserver.http.certs import KeyPair, TestAuthority
from certwright.apiserver.http.kubeconfig import kubeconfig_with_certificate, kubeconfig_with_token
from certwright.apiserver.http.responses import refusal_response
from certwright.apiserver.http.transport import RequestHandler
from certwright.client.transport import Request, Response, Stream
from certwright.clock import Clock
from certwright.kube.errors import RequestTooLarge, Unauthorized
from certwright.listener import serve_web

_HOST = "127.0.0.1"
_SHUTDOWN_SECONDS = 0.5
_NO = ("", "0", "false")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a served API server is reached, and by whom. The repr shows no credentials."""

    url: str
    authority: bytes = field(repr=False)
    token: str = field(repr=False)
    certificates: TestAuthority = field(repr=False)
    """Signs the certificates of clients."""

    def kubeconfig(self, user: UserInfo | None = None) -> str:
        """Return a kubeconfig: of the administrator, or with a client certificate of a user."""
        if user is None:
            return kubeconfig_with_token(self.url, self.authority, self.token)
        pair = self.certificates.client(user.name, user.groups)
        return kubeconfig_with_certificate(self.url, self.authority, pair)

    def write_kubeconfig(self, path: Path) -> None:
        """Write the kubeconfig for its owner's eyes only."""
        path.touch(mode=0o600)
        path.chmod(0o600)  # also when it was there before
        path.write_text(self.kubeconfig(), "utf-8")


class TlsListener:
    """An HTTP server in front of an API server: authenticates, then passes on."""

    def __init__(
        self, server: RequestHandler, tokens: Tokens, clock: Clock, *, anonymous: bool
    ) -> None:
        self._server = server
        self._tokens = tokens
        self._anonymous = anonymous
        self._authority = TestAuthority("certwright embedded API server", clock.now())

    @property
    def authority(self) -> bytes:
        """The certificate clients must trust, PEM."""
        return self._authority.certificate

    @asynccontextmanager
    async def serve(self, port: int = 0) -> AsyncIterator[Endpoint]:
        """Listen on 127.0.0.1 until the context is left; port 0 takes a free one."""
        context = _tls(self._authority.serving(_HOST, "localhost"), self.authority)
        app = web.Application(client_max_size=SIZE_LIMIT + 1)
        app.router.add_route("*", "/{path:.*}", self._answer)
        # A client that hangs up ends its watch at once, instead of at the next event.
        runner = web.AppRunner(
            app, handler_cancellation=True, shutdown_timeout=_SHUTDOWN_SECONDS, access_log=None
        )
        async with serve_web(runner, _HOST, port, context=context) as bound:
            token = self._tokens.issue(ADMIN)
            url = f"https://{_HOST}:{bound}"
            yield Endpoint(url, self.authority, token, self._authority)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        user = self._user(request)
        if user is None:
            return _whole(refusal_response(Unauthorized("Unauthorized")))
        try:
            body = await request.read()
        except web.HTTPRequestEntityTooLarge:
            why = f"Request entity too large: limit is {SIZE_LIMIT}"
            return _whole(refusal_response(RequestTooLarge(why)))
        call = Request(
            verb="",
            method=request.method,
            path=request.raw_path.partition("?")[0],
            query=tuple(request.query.items()),
            headers=tuple(request.headers.items()),
            body=body or None,
        )
        if any(request.query.get(name, "") not in _NO for name in ("watch", "follow")):
            return await self._stream(request, await self._server.open(call, user))
        return _whole(await self._server.respond(call, user))

    def _user(self, request: web.Request) -> UserInfo | None:
        """Return whose request it is; None if it shows a token that is worth nothing."""
        assert request.transport is not None
        user = certificate_user(request.transport.get_extra_info("peercert"))
        if user is not None:
            return user
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            return self._tokens.user(token.strip())
        return ANONYMOUS if self._anonymous else None

    async def _stream(self, request: web.Request, stream: Stream) -> web.StreamResponse:
        response = web.StreamResponse(status=stream.status, headers=dict(stream.headers))
        with suppress(ConnectionResetError):  # the client has hung up, as it may
            await response.prepare(request)
            async for chunk in stream.chunks():
                await response.write(chunk)
            await response.write_eof()
        return response


def _whole(response: Response) -> web.Response:
    return web.Response(status=response.status, headers=dict(response.headers), body=response.body)


def _tls(pair: KeyPair, authority: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # The ssl module reads keys from files only; this one is gone before the first connection.
    with tempfile.NamedTemporaryFile(prefix="certwright-", suffix=".pem") as file:
        file.write(pair.key + pair.certificate)
        file.flush()
        context.load_cert_chain(file.name)
    context.load_verify_locations(cadata=authority.decode())
    context.verify_mode = ssl.CERT_OPTIONAL  # clients may show a certificate of ours instead
    return context
