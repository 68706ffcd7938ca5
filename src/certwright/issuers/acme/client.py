"""The client's side of RFC 8555: signed requests, nonces, and one method per thing to ask."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
import orjson

from certwright.issuers.acme.errors import AcmeError, AcmeRefused
from certwright.issuers.acme.jws import AccountKey, ExternalAccount, encoded
from certwright.issuers.acme.messages import (
    Account,
    Authorization,
    Challenge,
    Directory,
    Identifier,
    Order,
    ProblemDocument,
)
from certwright.issuers.web import Web, WebResponse

_NONCE_ATTEMPTS = 4
_SHORTEST_WAIT, _LONGEST_WAIT = timedelta(seconds=1), timedelta(hours=1)

StructT = TypeVar("StructT", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class AccountCredentials:
    """Which server, and the account there."""

    directory: str
    key: AccountKey
    contact: str = ""
    """A mail address, to which the authority may write."""
    external: ExternalAccount | None = None


@dataclass(frozen=True, slots=True)
class OrderState:
    """An order as the server sees it, and when to ask again if the server set a time."""

    url: str
    order: Order
    wait: timedelta | None


class AcmeClient:
    """Talks to one ACME server as one account; *now* is the time of the attempt.

    Raises (all methods that ask the server):
        AcmeRefused: it answered with a problem.
        AcmeError: it answered something that RFC 8555 does not allow.
        WebError: it did not answer.
    """

    def __init__(self, web: Web, credentials: AccountCredentials, now: datetime) -> None:
        self._web = web
        self._credentials = credentials
        self._key = credentials.key
        self._now = now
        self._directory: Directory | None = None
        self._nonces: list[str] = []
        self._account: str | None = None

    async def directory(self) -> Directory:
        """Return the URLs of the server."""
        if self._directory is None:
            answer = await self._web.send("GET", _secure(self._credentials.directory))
            if not answer.is_success:
                raise self._refusal("its directory", answer)
            self._directory = answer.json(Directory)
        return self._directory

    async def log_in(self) -> str:
        """Find the account of our key, or open one and agree to the terms; return its URL."""
        directory = await self.directory()
        payload: dict[str, Any] = {"termsOfServiceAgreed": True}
        if self._credentials.contact:
            payload["contact"] = [f"mailto:{self._credentials.contact}"]
        if self._credentials.external is not None:
            binding = self._credentials.external.bind(self._key, directory.new_account)
            payload["externalAccountBinding"] = binding
        self._account = None  # this one request is signed by the key, not in the account's name
        answer = await self._post("the account", directory.new_account, payload)
        status = answer.json(Account).status
        if status != "valid":
            raise AcmeError(f"the ACME account is {status}")
        account = _location(answer, "account")
        self.resume(account)
        return account

    def resume(self, account: str) -> None:
        """Go on as the account that `log_in` returned earlier."""
        self._account = _secure(account)

    async def new_order(self, names: list[Identifier]) -> OrderState:
        """Order a certificate for names."""
        payload = {"identifiers": [msgspec.to_builtins(name) for name in names]}
        url = (await self.directory()).new_order
        answer = await self._post("the order", url, payload)
        return self._state(_location(answer, "order"), answer)

    async def order(self, url: str) -> OrderState:
        """Ask how an order is doing."""
        return self._state(url, await self._post("to show the order", url, None))

    async def authorization(self, url: str) -> Authorization:
        """Ask how the proof of a name is doing."""
        answer = await self._post("to show the authorization", url, None)
        return answer.json(Authorization)

    async def answer(self, challenge: Challenge) -> None:
        """Ask the server to look for the proof now."""
        await self._post("the answer to its challenge", challenge.url, {})

    async def finalize(self, state: OrderState, csr: bytes) -> OrderState:
        """Send the signing request (DER) for an order whose names are all proven."""
        payload = {"csr": encoded(csr)}
        answer = await self._post("the signing request", state.order.finalize, payload)
        return self._state(state.url, answer)

    async def certificate(self, order: Order) -> bytes:
        """Fetch the chain of an order that is valid, as PEM."""
        answer = await self._post("to hand out the certificate", order.certificate, None)
        return answer.body

    async def _post(self, what: str, url: str, payload: dict[str, Any] | None) -> WebResponse:
        """Send a signed request; *payload* None asks to see something ("POST-as-GET")."""
        body = b"" if payload is None else orjson.dumps(payload)
        _secure(url)
        for attempt in range(1, _NONCE_ATTEMPTS + 1):
            nonce = self._nonces.pop() if self._nonces else await self._new_nonce()
            answer = await self._web.send(
                "POST",
                url,
                headers={"content-type": "application/jose+json"},
                body=self._key.sign(url, nonce, body, account=self._account),
            )
            if fresh := answer.headers.get("replay-nonce"):
                self._nonces = [fresh]  # older ones expire; one at a time is all that we need
            if answer.is_success:
                return answer
            refusal = self._refusal(what, answer)
            if refusal.problem.kind != "badNonce" or attempt == _NONCE_ATTEMPTS:
                raise refusal
        raise AssertionError("the last attempt returns or raises")

    async def _new_nonce(self) -> str:
        answer = await self._web.send("HEAD", _secure((await self.directory()).new_nonce))
        nonce = answer.headers.get("replay-nonce", "")
        if not answer.is_success or not nonce:
            raise AcmeError(f"the ACME server gives no nonce (it answered {answer.status})")
        return nonce

    def _state(self, url: str, answer: WebResponse) -> OrderState:
        return OrderState(url, answer.json(Order), self._wait(answer))

    def _refusal(self, what: str, answer: WebResponse) -> AcmeRefused:
        if answer.headers.get("content-type", "").startswith("application/problem+json"):
            problem = answer.json(ProblemDocument)
        else:
            problem = ProblemDocument(detail=f"HTTP status {answer.status}")
        return AcmeRefused(what, answer.status, problem, self._wait(answer))

    def _wait(self, answer: WebResponse) -> timedelta | None:
        return retry_after(answer.headers.get("retry-after", ""), self._now)


def retry_after(header: str, now: datetime) -> timedelta | None:
    """Return how long a ``Retry-After`` asks to wait: at least a second, at most an hour.

    None if there is none, or none that can be read.
    """
    if header.isdecimal() and header.isascii():
        wait = timedelta(seconds=min(int(header[:9]), 10**6))
    else:
        try:
            wait = parsedate_to_datetime(header) - now
        except (TypeError, ValueError):
            return None
    return min(max(wait, _SHORTEST_WAIT), _LONGEST_WAIT)


def _location(answer: WebResponse, what: str) -> str:
    location = answer.headers.get("location", "")
    if not location:
        raise AcmeError(f"the ACME server sends no Location of the {what}")
    return location


def _secure(url: str) -> str:
    """Return a URL if it is HTTPS, as RFC 8555 (6.1) demands, also of URLs that servers send."""
    if urlsplit(url).scheme != "https":
        raise AcmeError("ACME is spoken over https only, and this URL is not")
    return url
