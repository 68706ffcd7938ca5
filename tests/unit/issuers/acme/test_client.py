"""What a server may say beside yes."""

from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import web
from tests.unit.issuers.acme.conftest import FakeAcme

from certwright.clock import SYSTEM
from certwright.issuers.acme import (
    AccountCredentials,
    AccountKey,
    AcmeClient,
    AcmeError,
    AcmeRefused,
    Identifier,
    retry_after,
)
from certwright.issuers.web import Web, WebError


async def test_a_rejected_nonce_is_replaced_by_the_one_that_came_with_the_rejection(
    acme: FakeAcme, client: AcmeClient
) -> None:
    acme.refuse["/account"] = [acme.problem("badNonce"), acme.problem("badNonce")]
    await client.log_in()
    nonces = [head["nonce"] for _, _, head in acme.seen]
    assert len(set(nonces)) == 3


async def test_nonces_rejected_for_ever_end_in_an_error(acme: FakeAcme, client: AcmeClient) -> None:
    acme.refuse["/account"] = [acme.problem("badNonce") for _ in range(9)]
    with pytest.raises(AcmeRefused, match="refused the account: badNonce"):
        await client.log_in()
    assert len(acme.seen) == 4


async def test_a_refusal_tells_type_detail_and_the_names_concerned(
    acme: FakeAcme, client: AcmeClient
) -> None:
    await client.log_in()
    acme.refuse["/orders"] = [
        acme.problem(
            "rejectedIdentifier", 403, "two names\nare bad",
            subproblems=[
                {"type": "urn:ietf:params:acme:error:caa", "detail": "forbidden", "identifier": {"type": "dns", "value": "a.example"}},
                {"type": "urn:ietf:params:acme:error:dns", "detail": "no such name"},
            ],
        )
    ]  # fmt: skip
    with pytest.raises(AcmeRefused) as refused:
        await client.new_order([Identifier("dns", "a.example")])
    assert str(refused.value) == (
        "the ACME server refused the order: rejectedIdentifier: two names are bad;"
        " a.example: forbidden; dns: no such name"
    )
    assert refused.value.code == 403


async def test_a_rate_limit_says_how_long(acme: FakeAcme, client: AcmeClient) -> None:
    await client.log_in()
    acme.refuse["/orders"] = [acme.problem("rateLimited", 429, headers={"Retry-After": "120"})]
    with pytest.raises(AcmeRefused) as refused:
        await client.new_order([Identifier("dns", "a.example")])
    assert refused.value.problem.kind == "rateLimited"
    assert refused.value.wait == timedelta(seconds=120)


async def test_an_answer_without_problem_document_is_an_error_all_the_same(
    acme: FakeAcme, client: AcmeClient
) -> None:
    acme.refuse["/account"] = [web.Response(status=502, text="<html>")]
    with pytest.raises(AcmeRefused, match="about:blank: HTTP status 502"):
        await client.log_in()


async def test_a_broken_problem_document_is_no_traceback(
    acme: FakeAcme, client: AcmeClient
) -> None:
    acme.refuse["/account"] = [
        web.Response(status=500, text="{", content_type="application/problem+json")
    ]
    with pytest.raises(WebError, match="500 with no Problem"):
        await client.log_in()


async def test_an_endless_detail_is_cut(acme: FakeAcme, client: AcmeClient) -> None:
    acme.refuse["/account"] = [acme.problem("malformed", detail="x" * 50_000)]
    with pytest.raises(AcmeRefused) as refused:
        await client.log_in()
    assert len(str(refused.value)) < 1_100


async def test_an_account_that_was_closed_is_an_error(acme: FakeAcme, client: AcmeClient) -> None:
    acme.account_status = "deactivated"
    with pytest.raises(AcmeError, match="the ACME account is deactivated"):
        await client.log_in()


async def test_an_answer_without_location_is_an_error(acme: FakeAcme, client: AcmeClient) -> None:
    acme.refuse["/account"] = [web.json_response({"status": "valid"})]
    with pytest.raises(AcmeError, match="sends no Location of the account"):
        await client.log_in()


async def test_only_https_is_spoken_wherever_a_server_points(
    acme: FakeAcme, client: AcmeClient, key: AccountKey, trusted: str
) -> None:
    async with Web(trusted=trusted) as plain:
        with pytest.raises(AcmeError, match="https only"):
            await AcmeClient(
                plain, AccountCredentials("http://acme.example/dir", key), SYSTEM.now()
            ).directory()
    await client.log_in()
    with pytest.raises(AcmeError, match="https only"):
        await client.order("http://169.254.169.254/latest")


async def test_contact_and_agreement_are_sent(
    acme: FakeAcme, key: AccountKey, trusted: str
) -> None:
    async with Web(trusted=trusted) as plain:
        login = AccountCredentials(f"{acme.url}/dir", key, "ops@example.com")
        await AcmeClient(plain, login, SYSTEM.now()).log_in()
    assert acme.seen[0][1] == {"termsOfServiceAgreed": True, "contact": ["mailto:ops@example.com"]}


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", None), ("soon", None), ("-5", None), ("²", None),
        ("0", 1), ("7", 7), ("99999999999999999999", 3600),
        ("Sat, 17 May 2031 12:00:30 GMT", 30), ("Sat, 17 May 2031 11:00:00 GMT", 1),
        ("Sat, 17 May 2099 11:00:00 GMT", 3600), ("Sat, 99 May 2031 12:00:30 GMT", None),
    ],
)  # fmt: skip
def test_how_long_to_wait(header: str, seconds: int | None) -> None:
    now = datetime(2031, 5, 17, 12, tzinfo=UTC)
    expected = None if seconds is None else timedelta(seconds=seconds)
    assert retry_after(header, now) == expected
