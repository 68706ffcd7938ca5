"""Proofs that we hold a name, and the solvers that publish them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

import orjson

from certwright.issuers.acme.errors import AcmeError, OrderFailed
from certwright.issuers.acme.jws import AccountKey, encoded
from certwright.issuers.acme.messages import Authorization, Challenge
from certwright.issuers.web import Web

HTTP_01, DNS_01 = "http-01", "dns-01"


@dataclass(frozen=True, slots=True)
class Proof:
    """What the server wants to find, and where."""

    challenge: str
    """``http-01`` or ``dns-01``."""
    domain: str
    """The name to be proven, without wildcard; for ``http-01`` maybe an IP address."""
    token: str
    authorization: str
    """The token joined with the name of our key: the body that ``http-01`` looks for."""

    @property
    def path(self) -> str:
        """Where ``http-01`` looks, on port 80 of the domain."""
        return f"/.well-known/acme-challenge/{self.token}"

    @property
    def record(self) -> str:
        """The TXT record that ``dns-01`` asks for."""
        return f"_acme-challenge.{self.domain}"

    @property
    def value(self) -> str:
        """What ``dns-01`` looks for in that record."""
        return encoded(hashlib.sha256(self.authorization.encode()).digest())


class Solver(Protocol):
    """Publishes proofs. Both methods may be called again for the same proof."""

    @property
    def challenge(self) -> str:
        """The challenges it solves: ``http-01`` or ``dns-01``."""
        ...

    @property
    def settling(self) -> timedelta:
        """How long a proof takes to be seen everywhere."""
        ...

    async def present(self, proof: Proof) -> None:
        """Publish a proof; return when the publisher has accepted it."""
        ...

    async def withdraw(self, proof: Proof) -> None:
        """Take a proof away; one that is not there is no error."""
        ...


class WebhookSolver:
    """Asks a webhook: posts ``{"action": "present", "type": …}`` to a URL.

    The body holds action (``present`` or ``withdraw``), type and domain, then path and body
    for ``http-01``, record and value for ``dns-01``. Any 2xx answer is consent.
    """

    def __init__(
        self,
        web: Web,
        url: str,
        challenge: str,
        token: str = "",
        *,
        settling: timedelta = timedelta(0),
    ) -> None:
        self._web = web
        self._url = url
        self._headers = {"content-type": "application/json"}
        if token:
            self._headers["authorization"] = f"Bearer {token}"
        self.challenge = challenge
        self.settling = settling

    async def present(self, proof: Proof) -> None:
        """Ask for the proof to be published."""
        await self._call("present", proof)

    async def withdraw(self, proof: Proof) -> None:
        """Ask for the proof to be taken away."""
        await self._call("withdraw", proof)

    async def _call(self, action: str, proof: Proof) -> None:
        where = (
            {"path": proof.path, "body": proof.authorization}
            if proof.challenge == HTTP_01
            else {"record": proof.record, "value": proof.value}
        )
        message = {"action": action, "type": proof.challenge, "domain": proof.domain, **where}
        answer = await self._web.send(
            "POST", self._url, headers=self._headers, body=orjson.dumps(message)
        )
        if not answer.is_success:
            raise AcmeError(
                f"the solver of {proof.challenge} answered {answer.status}"
                f" to {action} {proof.domain}"
            )


def choose(
    authorization: Authorization, solvers: Sequence[Solver], key: AccountKey
) -> tuple[Solver, Challenge, Proof]:
    """Return the first solver that server and name allow, and what it shows; else `OrderFailed`."""
    domain = authorization.identifier.value
    offered = {one.type: one for one in authorization.challenges if one.token}
    for solver in solvers:
        found = offered.get(solver.challenge)
        if found is None or not _fits(authorization, solver.challenge):
            continue
        proof = Proof(solver.challenge, domain, found.token, key.authorization(found.token))
        return solver, found, proof
    have = " and ".join(sorted({solver.challenge for solver in solvers})) or "nothing"
    shown = f"*.{domain}" if authorization.wildcard else domain
    raise OrderFailed(
        f"{shown} can be proven by {', '.join(sorted(offered)) or 'nothing'};"
        f" this issuer is set up for {have}"
    )


def _fits(authorization: Authorization, challenge_type: str) -> bool:
    """Return whether RFC 8555 (8.3) and RFC 8738 (7) allow this proof for this name."""
    if challenge_type == HTTP_01:
        return not authorization.wildcard
    return authorization.identifier.type == "dns"
