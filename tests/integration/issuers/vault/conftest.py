"""A stand-in for Vault, written from its public API description.

No Vault or OpenBao server can be had from the package indexes that the tests rely on, so this
is what the documentation says, not what a server was seen to do.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web
from tests.support.certmanager.certmanager_world import (
    certified,
    key_pair,
    make_certificate,
    ready,
    run_app,
    until,
)

from certwright import pki
from certwright.kube import JsonObject

__all__ = ["certified", "key_pair", "make_certificate", "ready", "run_app", "until"]


def refused(status: int, *reasons: str) -> web.Response:
    return web.json_response({"errors": list(reasons)}, status=status)


class FakeVault:
    """One PKI engine at ``pki``, role ``web``; logins at ``kubernetes`` for role ``issuer``."""

    def __init__(self) -> None:
        self.url = ""
        now = datetime.now(UTC)
        self.root = pki.create_root(
            pki.parse_name("CN=vault root"),
            pki.generate_key(pki.KeySpec()),
            timedelta(days=900),
            now,
        )
        self.middle = pki.create_intermediate(
            self.root,
            pki.parse_name("CN=vault"),
            pki.generate_key(pki.KeySpec()),
            timedelta(days=800),
            now,
        )
        self.namespace: str | None = None
        self.sealed = False
        self.tokens = {"s.good"}
        self.jwt = "account-token"
        self.orders: list[Any] = []

    async def answer(self, request: web.Request) -> web.Response:
        assert request.path.startswith("/v1/")
        path = request.path.removeprefix("/v1/")
        if path == "sys/health":
            return web.json_response({"sealed": self.sealed}, status=503 if self.sealed else 200)
        assert request.headers["x-vault-request"] == "true"
        if request.headers.get("x-vault-namespace") != self.namespace:
            return refused(404, "no handler for route")
        if path == "auth/kubernetes/login":
            return self._login(await request.json())
        if request.headers.get("x-vault-token") not in self.tokens:
            return refused(403, "permission denied")
        if path == "auth/token/lookup-self":
            return web.json_response({"data": {"ttl": 3600}})
        if path.startswith("pki/sign/"):
            return self._sign(path.removeprefix("pki/sign/"), await request.json())
        return refused(404, f'no handler for route "{path}". route entry not found.')

    def _login(self, body: JsonObject) -> web.Response:
        if body != {"role": "issuer", "jwt": self.jwt}:
            return refused(403, "permission denied")
        self.tokens.add("s.login")
        return web.json_response({"auth": {"client_token": "s.login", "lease_duration": 60}})

    def _sign(self, role: str, body: JsonObject) -> web.Response:
        if role != "web":
            return refused(400, f"unknown role: {role}")
        if body["common_name"].endswith(".forbidden"):
            return refused(400, f"common name {body['common_name']} not allowed by this role")
        self.orders.append(body)
        request = pki.read_request(body["csr"])
        lifetime = timedelta(seconds=int(body["ttl"].removesuffix("s")))
        leaf = self.middle.issue_request(request, pki.RequestTerms(lifetime), datetime.now(UTC))
        chain = [self.middle.certificate, self.root.certificate]
        data = {
            "certificate": pki.write_certificates(leaf).decode(),
            "issuing_ca": pki.write_certificates(chain[0]).decode(),
            "ca_chain": [pki.write_certificates(one).decode() for one in chain],
            "serial_number": "01",
        }
        return web.json_response({"data": data, "auth": None})


@pytest.fixture
async def vault(serve: Callable[..., Awaitable[Any]]) -> FakeVault:
    fake = FakeVault()
    fake.url = await serve(fake.answer)
    return fake
