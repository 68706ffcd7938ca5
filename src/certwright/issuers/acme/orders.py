"""An order from its first request to the certificate, in steps that survive a restart.

Every step goes as far as it can without waiting. What has to be remembered in between is a
`Ticket`: a few URLs, no secret. All else is asked of the server again, so that a step which
was cut off at any point is repeated without harm; the worst that a crash costs is an order
that is never fetched.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from certwright.issuers.acme.client import AccountCredentials, AcmeClient, OrderState
from certwright.issuers.acme.errors import AcmeError, AcmeRefused, OrderFailed
from certwright.issuers.acme.messages import Authorization, Identifier, Order
from certwright.issuers.acme.solvers import DNS_01, Proof, Solver, choose
from certwright.issuers.web import WebError
from certwright.pki import SigningRequest
from certwright.pki.names import common_name

SOON = timedelta(milliseconds=100)
LATEST = timedelta(seconds=30)
"""When to look again if the server sets no time: soon at first, then ever later."""
_DOUBLINGS = 16
"""After so many the wait is the longest one; orders may take days."""


class Ticket(msgspec.Struct, frozen=True):
    """What has to be kept from one step to the next."""

    directory: str
    key: str
    """The name of the account's key: with another key the order is not ours."""
    account: str
    order: str
    answer_from: datetime | None = None
    """When the proofs will be seen everywhere; None until they were presented."""
    looks: int = 0
    """How often the server was asked and had nothing new."""


@dataclass(frozen=True, slots=True)
class IssuedOrder:
    """The order is done."""

    chain: bytes
    """PEM, as the server wrote it."""
    leftovers: tuple[str, ...] = ()
    """Proofs that could not be taken away, each with the reason."""


@dataclass(frozen=True, slots=True)
class PendingOrder:
    """The order needs time: come back with the ticket."""

    ticket: Ticket
    after: timedelta
    message: str


class OrderProcess:
    """Takes orders forward, as one account at one server.

    Raises (from `advance`):
        OrderFailed: this order is lost.
        AcmeRefused, AcmeError, WebError: the server refused, misbehaved, or did not answer.
    """

    def __init__(
        self,
        client: AcmeClient,
        credentials: AccountCredentials,
        solvers: Sequence[Solver],
        now: datetime,
    ) -> None:
        self._client = client
        self._key = credentials.key
        self._identity = (credentials.directory, credentials.key.thumbprint)
        self._solvers = solvers
        self._now = now

    async def advance(
        self, ticket: Ticket | None, names: list[Identifier], csr: bytes
    ) -> IssuedOrder | PendingOrder:
        """Go as far as possible; without a ticket of this account a new order is made.

        That is a step of its own: an order that was placed shall be remembered before
        anything else can fail, because servers count them.
        """
        found = await self._found(ticket)
        if found is None:
            return PendingOrder(await self._placed(names), SOON, "the order was placed")
        ticket, state = found
        if state.order.status == "pending":
            proven = await self._prove(ticket, state)
            if isinstance(proven, PendingOrder):
                return proven
            state = proven
        leftovers: tuple[str, ...] = ()
        if state.order.status == "ready":
            leftovers = await self._clear(state.order)
            state = await self._client.finalize(state, csr)
        match state.order.status:
            case "valid":
                return IssuedOrder(await self._client.certificate(state.order), leftovers)
            case "pending" | "ready" | "processing":
                return _later(ticket, state, f"the order is {state.order.status}")
        await self._clear(state.order)
        raise await self._failure(state.order)

    async def _found(self, ticket: Ticket | None) -> tuple[Ticket, OrderState] | None:
        if ticket is None or (ticket.directory, ticket.key) != self._identity:
            return None
        self._client.resume(ticket.account)
        try:
            return ticket, await self._client.order(ticket.order)
        except AcmeRefused as refusal:
            if refusal.code == 404 or refusal.problem.kind == "accountDoesNotExist":
                return None  # the server has forgotten it
            raise

    async def _placed(self, names: list[Identifier]) -> Ticket:
        account = await self._client.log_in()
        state = await self._client.new_order(names)
        return Ticket(*self._identity, account, state.url)

    async def _prove(self, ticket: Ticket, state: OrderState) -> OrderState | PendingOrder:
        """Present what is asked for and, once that can be seen, ask the server to look."""
        open_ones = [
            choose(one, self._solvers, self._key)
            for one in await self._authorizations(state.order)
            if one.status == "pending"
        ]
        for solver, _, proof in open_ones:
            await solver.present(proof)
        now = self._now
        if ticket.answer_from is None:
            settling = max((solver.settling for solver, _, _ in open_ones), default=timedelta(0))
            ticket = msgspec.structs.replace(ticket, answer_from=now + settling)
        assert ticket.answer_from is not None
        if now < ticket.answer_from:
            return PendingOrder(ticket, ticket.answer_from - now, "the proofs are being published")
        answered = False
        for _, challenge, _ in open_ones:
            if challenge.status == "pending":
                await self._client.answer(challenge)
                answered = True
        if answered:
            return _later(ticket, state, "the server checks the proofs")
        return await self._client.order(state.url)

    async def _authorizations(self, order: Order) -> list[Authorization]:
        return [await self._client.authorization(url) for url in order.authorizations]

    async def _clear(self, order: Order) -> tuple[str, ...]:
        """Take the proofs away; what cannot be is no reason to lose the certificate."""
        leftovers: list[str] = []
        for one in await self._authorizations(order):
            try:
                solver, _, proof = choose(one, self._solvers, self._key)
            except OrderFailed:
                continue  # proven by other means, for an earlier order
            try:
                await solver.withdraw(proof)
            except (AcmeError, WebError) as error:
                leftovers.append(f"{_place(proof)}: {error}")
        return tuple(leftovers)

    async def _failure(self, order: Order) -> OrderFailed:
        reasons = [
            f"{one.identifier.value} was not proven: {challenge.error}"
            for one in await self._authorizations(order)
            for challenge in one.challenges
            if challenge.error is not None
        ]
        if order.error is not None:
            reasons.append(str(order.error))
        return OrderFailed(
            f"the order is {order.status}: {'; '.join(reasons[:5]) or 'no reason given'}"
        )


def _later(ticket: Ticket, state: OrderState, message: str) -> PendingOrder:
    wait = state.wait or min(SOON * 2 ** min(ticket.looks, _DOUBLINGS), LATEST)
    return PendingOrder(msgspec.structs.replace(ticket, looks=ticket.looks + 1), wait, message)


def identifiers(request: SigningRequest) -> list[Identifier]:
    """Return what to order for a signing request: exactly the names that it holds.

    Raises:
        OrderFailed: it holds names that ACME cannot prove, or none at all.
    """
    names = request.names
    if names.emails or names.uris or names.others:
        raise OrderFailed("ACME proves DNS names and IP addresses only; the request has others")
    found = [Identifier("dns", name.lower()) for name in names.dns]
    found += [Identifier("ip", str(address)) for address in names.ips]
    first = common_name(request.subject)
    if first and first.lower() not in {one.value for one in found}:
        # Servers disagree on whether such a name is ordered; all agree if it is in both places.
        raise OrderFailed("the common name must also be one of the alternative names")
    if not found:
        raise OrderFailed("the request names neither a DNS name nor an IP address")
    return list(dict.fromkeys(found))


def _place(proof: Proof) -> str:
    return proof.record if proof.challenge == DNS_01 else proof.path
