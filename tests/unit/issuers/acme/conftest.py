"""An ACME server of a few lines, written from RFC 8555, that fails on request.

It checks what RFC 8555 has a server check about the envelope (nonce once, URL, who signs), not
the signatures: Pebble does that. ``refuse`` holds answers to be given instead, by path.
"""

import json
from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from aiohttp import web

from certwright import pki
from certwright.clock import SYSTEM
from certwright.issuers.acme import (
    AccountCredentials,
    AccountKey,
    AcmeClient,
    Identifier,
    IssuedOrder,
    OrderProcess,
    PendingOrder,
    Proof,
    Ticket,
)
from certwright.issuers.web import Web
from certwright.kube import JsonObject

PROBLEM = "urn:ietf:params:acme:error:"


def decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


class FakeAcme:
    def __init__(self, names: tuple[str] = ("a.example",)) -> None:
        self.url = ""
        self.names = names
        self.order_status = "pending"
        self.authz_status = "pending"
        self.challenge_status = "pending"
        self.challenge_error: JsonObject | None = None
        self.order_error: JsonObject | None = None
        self.account_status = "valid"
        self.retry_after: str | None = None
        self.refuse: dict[Any, Any] = {}  # path: responses, one per request
        self.seen: list[Any] = []  # (path, payload, protected header)
        self._nonces: set[Any] = set()
        self._count = count(1)

    @staticmethod
    def problem(
        kind: str,
        status: int = 400,
        detail: str = "because",
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> web.StreamResponse:
        body = {"type": PROBLEM + kind, "detail": detail, "status": status, **more}
        return web.Response(
            status=status,
            text=json.dumps(body),
            content_type="application/problem+json",
            headers=headers,
        )

    def paths(self) -> list[str]:
        return [path for path, _, _ in self.seen]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        if path == "/dir":
            kinds = {"newNonce": "nonce", "newAccount": "account", "newOrder": "orders"}
            response: web.StreamResponse = web.json_response(
                {key: f"{self.url}/{value}" for key, value in kinds.items()}
            )
        elif path == "/nonce":
            response = web.Response()
        else:
            response = self._signed(path, await request.json())
        if "Replay-Nonce" not in response.headers:
            response.headers["Replay-Nonce"] = self._nonce()
        return response

    def _nonce(self) -> str:
        nonce = f"nonce-{next(self._count)}"
        self._nonces.add(nonce)
        return nonce

    def _signed(self, path: str, message: dict[str, str]) -> web.StreamResponse:
        head = json.loads(decoded(message["protected"]))
        payload = decoded(message["payload"])
        self.seen.append((path, json.loads(payload) if payload else None, head))
        assert head["url"] == self.url + path
        assert ("jwk" in head) == (path == "/account")
        if head["nonce"] not in self._nonces:
            return self.problem("badNonce")
        self._nonces.remove(head["nonce"])
        if self.refuse.get(path):
            value: web.StreamResponse = self.refuse[path].pop(0)
            return value
        answer = getattr(self, "_" + path.split("/")[1])
        made: web.StreamResponse = answer()
        return made

    def _account(self) -> web.StreamResponse:
        location = {"Location": f"{self.url}/account/1"}
        return web.json_response({"status": self.account_status}, status=201, headers=location)

    def _orders(self) -> web.StreamResponse:
        return self._order(status=201)

    def _order(self, status: int = 200) -> web.StreamResponse:
        body: JsonObject = {
            "status": self.order_status,
            "authorizations": [f"{self.url}/authz/{number}" for number in range(len(self.names))],
            "finalize": f"{self.url}/finalize/1",
            "certificate": f"{self.url}/certificate/1",
        }
        if self.order_error:
            body["error"] = self.order_error
        headers = {"Location": f"{self.url}/order/1"}
        if self.retry_after:
            headers["Retry-After"] = self.retry_after
        return web.json_response(body, status=status, headers=headers)

    def _authz(self) -> web.StreamResponse:
        challenge: JsonObject = {
            "type": "http-01", "url": f"{self.url}/challenge/1", "token": "tok",
            "status": self.challenge_status,
        }  # fmt: skip
        if self.challenge_error:
            challenge["error"] = self.challenge_error
        name = {"type": "dns", "value": self.names[0]}
        return web.json_response(
            {"identifier": name, "status": self.authz_status, "challenges": [challenge]}
        )

    def _challenge(self) -> web.StreamResponse:
        self.challenge_status = "processing"
        return web.json_response({"type": "http-01", "url": "x", "status": "processing"})

    def _finalize(self) -> web.StreamResponse:
        self.order_status = "processing"
        return self._order()

    def _certificate(self) -> web.StreamResponse:
        return web.Response(text="PEM", content_type="application/pem-certificate-chain")


class Shown:
    """A solver that remembers what it was asked for; ``broken`` makes it refuse to take away."""

    challenge = "http-01"

    def __init__(self) -> None:
        self.settling = timedelta(0)
        self.calls: list[Any] = []
        self.broken: Exception | None = None

    async def present(self, proof: Proof) -> None:
        self.calls.append(("present", proof.path))

    async def withdraw(self, proof: Proof) -> None:
        self.calls.append(("withdraw", proof.path))
        if self.broken:
            raise self.broken


@pytest.fixture
def solver() -> Shown:
    return Shown()


@pytest.fixture(scope="session")
def key() -> AccountKey:
    return AccountKey(pki.generate_key(pki.KeySpec()))


@pytest.fixture
async def acme(serve: Callable[..., Awaitable[Any]]) -> FakeAcme:
    fake = FakeAcme()
    fake.url = await serve(fake.answer)
    return fake


@pytest.fixture
async def client(acme: FakeAcme, trusted: str, key: AccountKey) -> AsyncIterator[AcmeClient]:
    async with Web(trusted=trusted) as connections:
        yield AcmeClient(connections, AccountCredentials(f"{acme.url}/dir", key), SYSTEM.now())


@pytest.fixture
def advance(
    acme: FakeAcme, client: AcmeClient, key: AccountKey, solver: Shown
) -> Callable[..., Awaitable[Any]]:
    """One step of an order for ``a.example``; the first one places it and takes the second."""

    async def step(ticket: Ticket | None = None) -> IssuedOrder | PendingOrder:
        if ticket is None:
            placed = await step(Ticket("none", "none", "none", "none"))
            assert isinstance(placed, PendingOrder)
            assert placed.message == "the order was placed"
            ticket = placed.ticket
        ordering = OrderProcess(
            client, AccountCredentials(f"{acme.url}/dir", key), [solver], SYSTEM.now()
        )
        return await ordering.advance(ticket, [Identifier("dns", "a.example")], b"csr")

    return step
