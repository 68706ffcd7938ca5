"""Our side of RFC 8555 against Pebble, which rejects one nonce in twenty on purpose."""

import asyncio
import hashlib
from base64 import urlsafe_b64encode
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from certwright import pki
from certwright.clock import SYSTEM
from certwright.issuers.acme import (
    AccountCredentials,
    AccountKey,
    AcmeClient,
    AcmeRefused,
    ExternalAccount,
    Identifier,
    IssuedOrder,
    OrderFailed,
    OrderProcess,
    PendingOrder,
    Proof,
    Ticket,
    identifiers,
)
from certwright.issuers.web import Web, WebError
from certwright.pki.certificates import alternative_names, public_key_of
from certwright.pki.chains import order_chain
from certwright.pki.keys import public_key_bytes

KEYS = [("ECDSA", 256), ("ECDSA", 384), ("ECDSA", 521), ("RSA", 2048)]

PATIENCE_SECONDS = 50.0


def new_key(algorithm: str = "ECDSA", size: int = 0) -> Any:
    return pki.generate_key(pki.KeySpec(pki.KeyAlgorithm(algorithm), size))


def signing_request(*hosts: Any, common_name: str = "") -> Any:
    csr = pki.build_request(
        new_key(), pki.distinguished_name(common_name), pki.AlternativeNames.of_hosts(*hosts)
    )
    return pki.read_request(pki.write_request(csr))


async def until_issued(
    pebble: Any, login: Any, solvers: Any, request: Any, ticket: Any = None
) -> Any:
    """Take an order to its end, every step by a client that knows nothing but the ticket."""
    names = identifiers(request)
    csr = request.csr.public_bytes(Encoding.DER)
    deadline = SYSTEM.monotonic() + PATIENCE_SECONDS
    while SYSTEM.monotonic() < deadline:
        async with Web(trusted=pebble.trusted) as web:
            ordering = OrderProcess(
                AcmeClient(web, login, SYSTEM.now()), login, solvers, SYSTEM.now()
            )
            step = await ordering.advance(ticket, names, csr)
        if isinstance(step, IssuedOrder):
            return step
        assert isinstance(step, PendingOrder)
        # as it is kept: JSON
        ticket = msgspec.json.decode(msgspec.json.encode(step.ticket), type=Ticket)
        await asyncio.sleep(0.05)
    pytest.fail("the order never ends")


@pytest.mark.parametrize(("algorithm", "size"), KEYS)
async def test_every_kind_of_account_key_logs_in_and_is_found_again(
    pebble: Any, algorithm: Any, size: Any
) -> None:
    login = AccountCredentials(
        pebble.directory, AccountKey(new_key(algorithm, size)), "ops@example.com"
    )
    async with Web(trusted=pebble.trusted) as web:
        first = await AcmeClient(web, login, SYSTEM.now()).log_in()
        again = await AcmeClient(web, login, SYSTEM.now()).log_in()
    assert first == again


async def test_http_01_for_names_and_addresses(pebble: Any, responder: Any) -> None:
    login = AccountCredentials(pebble.directory, AccountKey(new_key()))
    request = signing_request(
        "A.example.com", "b.example.com", "127.0.0.1", common_name="a.example.com"
    )
    issued = await until_issued(pebble, login, [responder], request)
    chain = order_chain(pki.read_certificates(issued.chain))
    names = alternative_names(chain.leaf)
    assert {name.lower() for name in names.dns} == {"a.example.com", "b.example.com"}
    assert [str(ip) for ip in names.ips] == ["127.0.0.1"]
    assert public_key_bytes(public_key_of(chain.leaf)) == public_key_bytes(request.public_key)
    assert issued.leftovers == ()
    assert responder._bodies == {}


async def test_dns_01_for_a_wildcard_waits_until_the_record_is_known(
    pebble: Any, txt_records: Any
) -> None:
    records = txt_records(settling=timedelta(seconds=0.3))
    login = AccountCredentials(pebble.directory, AccountKey(new_key()))
    issued = await until_issued(pebble, login, [records], signing_request("*.wild.example"))
    leaf = order_chain(pki.read_certificates(issued.chain)).leaf
    assert alternative_names(leaf).dns == ("*.wild.example",)
    assert records.held == []


async def test_a_failed_proof_ends_the_order_with_the_servers_reason(
    pebble: Any, responder: Any
) -> None:
    class Liar:
        challenge = "http-01"
        settling = timedelta(0)

        async def present(self, proof: Any) -> None:
            pass

        async def withdraw(self, proof: Any) -> None:
            pass

    login = AccountCredentials(pebble.directory, AccountKey(new_key()))
    with pytest.raises(OrderFailed, match=r"not\.example was not proven: .*404"):
        await until_issued(pebble, login, [Liar()], signing_request("not.example"))


async def test_a_wildcard_cannot_be_proven_by_http(pebble: Any, responder: Any) -> None:
    login = AccountCredentials(pebble.directory, AccountKey(new_key()))
    with pytest.raises(
        OrderFailed,
        match=r"\*\.wild\.example can be proven by dns-01; this issuer is set up for http-01",
    ):
        await until_issued(pebble, login, [responder], signing_request("*.wild.example"))


async def test_a_ticket_of_another_account_is_not_used(pebble: Any, responder: Any) -> None:
    login = AccountCredentials(pebble.directory, AccountKey(new_key()))
    stolen = Ticket(pebble.directory, "another-key", "https://localhost/1", "https://localhost/2")
    request = signing_request("c.example.com")
    assert await until_issued(pebble, login, [responder], request, ticket=stolen)


async def test_an_order_that_the_server_forgot_is_made_anew(pebble: Any, responder: Any) -> None:
    login = AccountCredentials(pebble.directory, AccountKey(new_key()))
    async with Web(trusted=pebble.trusted) as web:
        client = AcmeClient(web, login, SYSTEM.now())
        account = await client.log_in()
        told = await client.new_order([Identifier("dns", "d.example.com")])
    forgotten = Ticket(pebble.directory, login.key.thumbprint, account, told.url + "-gone")
    request = signing_request("d.example.com")
    assert await until_issued(pebble, login, [responder], request, ticket=forgotten)


async def test_an_external_account_opens_the_door(strict_pebble: Any) -> None:
    key = AccountKey(new_key())
    external = ExternalAccount.of(*strict_pebble.external)
    async with Web(trusted=strict_pebble.trusted) as web:
        bare = AcmeClient(web, AccountCredentials(strict_pebble.directory, key), SYSTEM.now())
        assert (await bare.directory()).meta.external_account_required
        with pytest.raises(AcmeRefused) as refused:
            await bare.log_in()
        assert refused.value.problem.kind == "externalAccountRequired"
        bound = AcmeClient(
            web, AccountCredentials(strict_pebble.directory, key, external=external), SYSTEM.now()
        )
        assert await bound.log_in()
        wrong = ExternalAccount.of(external.key_id, urlsafe_b64encode(b"no" * 16).decode())
        other = AccountCredentials(strict_pebble.directory, AccountKey(new_key()), external=wrong)
        with pytest.raises(AcmeRefused):
            await AcmeClient(web, other, SYSTEM.now()).log_in()


async def test_an_unknown_authority_behind_the_server_is_named(pebble: Any) -> None:
    login = AccountCredentials(pebble.directory, AccountKey(new_key()))
    async with Web() as web:
        with pytest.raises(WebError, match="its certificate is not trusted"):
            await AcmeClient(web, login, SYSTEM.now()).directory()


def test_the_value_of_a_record_is_the_digest_of_the_authorization() -> None:
    proof = Proof("dns-01", "example.org", "t", "t.thumb")
    digest = hashlib.sha256(b"t.thumb").digest()
    assert proof.value == urlsafe_b64encode(digest).decode().rstrip("=")
    assert proof.record == "_acme-challenge.example.org"
