"""Orders step by step: what is done, what is remembered, how they end."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from tests.unit.issuers.acme.conftest import FakeAcme, Shown

from certwright import pki
from certwright.issuers.acme import (
    AcmeError,
    AcmeRefused,
    Identifier,
    IssuedOrder,
    OrderFailed,
    PendingOrder,
    identifiers,
)
from certwright.pki import SigningRequest

PATH = "/.well-known/acme-challenge/tok"


async def test_from_order_to_certificate(
    acme: FakeAcme, advance: Callable[..., Awaitable[Any]], solver: Shown
) -> None:
    first = await advance()
    assert isinstance(first, PendingOrder)
    assert solver.calls == [("present", PATH)]
    assert acme.paths() == ["/account", "/orders", "/order/1", "/authz/0", "/challenge/1"]

    acme.order_status, acme.authz_status = "ready", "valid"
    second = await advance(first.ticket)
    assert second.message == "the order is processing"
    assert solver.calls[1:] == [("withdraw", PATH)]

    acme.order_status = "valid"
    assert await advance(second.ticket) == IssuedOrder(b"PEM")
    assert acme.paths().count("/account") == 1, "who we are is remembered"
    assert acme.paths().count("/finalize/1") == 1


async def test_a_challenge_is_answered_once_and_polled_as_the_server_wants(
    acme: FakeAcme, advance: Callable[..., Awaitable[Any]], solver: Shown
) -> None:
    acme.retry_after = "9"
    first = await advance()
    assert first.after == timedelta(seconds=9)
    second = await advance(first.ticket)
    assert second.after == timedelta(seconds=9)
    assert acme.paths().count("/challenge/1") == 1
    assert solver.calls == [("present", PATH)] * 2, "what lives in memory only is shown again"


async def test_a_server_without_opinion_is_asked_ever_later(
    acme: FakeAcme, advance: Callable[..., Awaitable[Any]]
) -> None:
    step = await advance()
    waits = [step.after]
    for _ in range(12):
        step = await advance(step.ticket)
        waits.append(step.after)
    assert waits[:3] == [timedelta(seconds=0.1), timedelta(seconds=0.2), timedelta(seconds=0.4)]
    assert waits[-1] == timedelta(seconds=30)
    days_later = msgspec.structs.replace(step.ticket, looks=10_000)
    assert (await advance(days_later)).after == timedelta(seconds=30)


async def test_the_server_looks_only_after_the_proof_has_settled(
    acme: FakeAcme, advance: Callable[..., Awaitable[Any]], solver: Shown
) -> None:
    solver.settling = timedelta(minutes=1)
    first = await advance()
    assert timedelta(seconds=59) < first.after <= timedelta(minutes=1)
    assert "/challenge/1" not in acme.paths()
    due = msgspec.structs.replace(
        first.ticket, answer_from=first.ticket.answer_from - solver.settling
    )
    await advance(due)
    assert "/challenge/1" in acme.paths()


async def test_names_proven_earlier_are_not_proven_again(
    acme: FakeAcme, advance: Callable[..., Awaitable[Any]], solver: Shown
) -> None:
    acme.authz_status, acme.order_status = "valid", "ready"
    await advance()
    assert ("present", PATH) not in solver.calls
    assert "/challenge/1" not in acme.paths()


async def test_a_proof_that_stays_behind_does_not_cost_the_certificate(
    acme: FakeAcme, advance: Callable[..., Awaitable[Any]], solver: Shown
) -> None:
    solver.broken = AcmeError("the name server is away")
    acme.order_status = "ready"
    acme.refuse["/finalize/1"] = [acme_valid(acme)]
    issued = await advance()
    assert issued.leftovers == (f"{PATH}: the name server is away",)


def acme_valid(acme: FakeAcme) -> Any:
    acme.order_status = "valid"
    response = acme._order()
    acme.order_status = "ready"
    return response


async def test_a_lost_order_says_which_name_and_why(
    acme: FakeAcme, advance: Callable[..., Awaitable[Any]], solver: Shown
) -> None:
    ticket = (await advance()).ticket
    acme.order_status = "invalid"
    acme.challenge_error = {"type": "urn:ietf:params:acme:error:connection", "detail": "timeout"}
    with pytest.raises(
        OrderFailed, match=r"the order is invalid: a\.example was not proven: connection: timeout"
    ):
        await advance(ticket)
    assert solver.calls[-1] == ("withdraw", PATH)


async def test_a_lost_order_without_reason_says_so(
    acme: FakeAcme, advance: Callable[..., Awaitable[Any]]
) -> None:
    acme.order_status = "invalid"
    with pytest.raises(OrderFailed, match="the order is invalid: no reason given"):
        await advance()


async def test_an_error_of_the_order_itself_is_told(
    acme: FakeAcme, advance: Callable[..., Awaitable[Any]]
) -> None:
    acme.order_status = "invalid"
    acme.order_error = {"type": "urn:ietf:params:acme:error:badCSR", "detail": "weak key"}
    with pytest.raises(OrderFailed, match="badCSR: weak key"):
        await advance()


async def test_an_order_that_is_gone_is_made_anew(
    acme: FakeAcme, advance: Callable[..., Awaitable[Any]]
) -> None:
    ticket = (await advance()).ticket
    acme.refuse["/order/1"] = [acme.problem("malformed", 404, "no such order")]
    assert isinstance(await advance(ticket), PendingOrder)
    assert acme.paths().count("/orders") == 2


async def test_other_refusals_do_not_lose_the_order(
    acme: FakeAcme, advance: Callable[..., Awaitable[Any]]
) -> None:
    ticket = (await advance()).ticket
    acme.refuse["/order/1"] = [acme.problem("serverInternal", 500)]
    with pytest.raises(AcmeRefused, match="serverInternal"):
        await advance(ticket)
    assert acme.paths().count("/orders") == 1


@pytest.mark.parametrize("change", [{"directory": "https://other/dir"}, {"key": "other"}])
async def test_another_server_or_account_means_another_order(
    acme: FakeAcme, advance: Callable[..., Awaitable[Any]], change: dict[str, str]
) -> None:
    ticket = msgspec.structs.replace((await advance()).ticket, **change)
    await advance(ticket)
    assert acme.paths().count("/orders") == 2


def request(*hosts: str, common_name: str = "", **names: Any) -> SigningRequest:
    csr = pki.build_request(
        pki.generate_key(pki.KeySpec()),
        pki.distinguished_name(common_name),
        pki.AlternativeNames(**names) if names else pki.AlternativeNames.of_hosts(*hosts),
    )
    return pki.read_request(pki.write_request(csr))


def test_exactly_the_names_of_the_request_are_ordered() -> None:
    asked = request("B.example", "*.b.example", "b.example", "::1", common_name="b.EXAMPLE")
    assert identifiers(asked) == [
        Identifier("dns", "b.example"), Identifier("dns", "*.b.example"), Identifier("ip", "::1"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (request("a.example", common_name="b.example"), "common name must also be one of"),
        (request(common_name="b.example"), "common name must also be one of"),
        (request(dns=("a.example",), emails=("me@a.example",)), "DNS names and IP addresses only"),
        (request(uris=("spiffe://a/b",)), "DNS names and IP addresses only"),
        (request(), "neither a DNS name nor an IP address"),
    ],
)
def test_what_acme_cannot_prove_is_refused(asked: SigningRequest, reason: str) -> None:
    with pytest.raises(OrderFailed, match=reason):
        identifiers(asked)
