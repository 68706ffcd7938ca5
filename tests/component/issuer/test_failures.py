"""A failing check or sign leaves a trace that its author can use, once."""

import asyncio
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.support.issuer.issuer_world import World

from certwright.clock import SYSTEM
from certwright.issuer import Bundle, Issuer, Pending, Permanent, Request

RAISED = "the issuer's code raised"


class AuthorityError(Exception):
    """What the client of an authority raises."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the authority answered {status}")
        self.status = status


def traces(lines: list[Any]) -> list[Any]:
    return [line for line in lines if line["event"] == RAISED]


async def test_a_failing_sign_is_logged_once_with_the_authors_lines(
    embedded_world: Callable[..., World],
) -> None:
    w = embedded_world()

    @w.app.sign
    async def sign(request: Request, _issuer: Issuer[Any]) -> Bundle:
        try:
            int(request.name)
        except ValueError as error:
            raise LookupError("no order of that number") from error
        return Bundle(b"")

    await w.issuer()
    await w.settle()
    with capture_logs() as lines:
        await w.request("one")
        await w.request("two")
        await w.settle()
        await w.cluster.advance(minutes=1)
    [told] = traces(lines)
    assert (told["function"], told["type"]) == ("sign", "LookupError")
    assert told["error"] == "no order of that number"
    assert [cause.partition(":")[0] for cause in told["causes"]] == ["ValueError"]
    assert "in sign: raise LookupError(" in told["lines"][-1]
    assert all("test_failures.py" in line for line in told["lines"])
    assert (await w.ready("one")).message.endswith("LookupError: no order of that number")


async def test_a_failing_check_is_logged_once(embedded_world: Callable[..., World]) -> None:
    w = embedded_world()
    w.script.always_check = ConnectionError("the line is bad")
    await w.issuer()
    with capture_logs() as lines:
        await w.settle()
        await w.cluster.advance(minutes=30)
    assert w.script.check_calls > 3
    [told] = traces(lines)
    assert (told["function"], told["error"]) == ("check", "the line is bad")
    assert (await w.issuer_ready()).message == "Not ready yet: ConnectionError: the line is bad"


async def exits() -> None:
    sys.exit(3)


def exits_in_a_thread() -> None:
    sys.exit(3)


async def awaits_what_is_cancelled() -> None:
    forgotten: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    forgotten.cancel()
    await forgotten


@pytest.mark.parametrize(
    ("misbehave", "told"),
    [
        (exits, "it called sys.exit(3); raise an exception instead"),
        (exits_in_a_thread, "it called sys.exit(3); raise an exception instead"),
        (awaits_what_is_cancelled, "something that it awaited was cancelled"),
    ],
)
async def test_code_that_ends_itself_ends_nothing_else(
    embedded_world: Callable[..., World], misbehave: Callable[[], Any], told: str
) -> None:
    w = embedded_world(max_retry=timedelta(seconds=20))

    async def asynchronous(request: Request, _issuer: Issuer[Any]) -> Bundle:
        if request.name == "bad":
            await misbehave()
        return await request.sign_with(w.ca)

    def synchronous(request: Request, issuer: Issuer[Any]) -> Any:
        if request.name == "bad":
            misbehave()
        return asynchronous(request, issuer)

    is_async = asyncio.iscoroutinefunction(misbehave)
    w.app.sign(asynchronous if is_async else synchronous)
    await w.issuer()
    await w.settle()
    with capture_logs() as lines:
        await w.request("bad")
        await w.request("good")
        await w.settle()
        await w.cluster.advance(seconds=1)
        assert (await w.ready("good")).reason == "Issued"
        retried = await w.ready("bad")
        assert (retried.reason, retried.message.endswith(told)) == ("Pending", True), retried
        await w.cluster.advance(minutes=1)
    assert (await w.ready("bad")).reason == "Failed"
    assert [line["error"] for line in traces(lines)] == [told]


async def test_a_sign_that_blocks_the_loop_is_named(embedded_world: Callable[..., World]) -> None:
    w = embedded_world()

    @w.app.sign
    async def sign(request: Request, _issuer: Issuer[Any]) -> Bundle:
        until = SYSTEM.monotonic() + 0.15
        while SYSTEM.monotonic() < until:
            pass  # as an HTTP library does that is not async
        return await request.sign_with(w.ca)

    await w.issuer()
    await w.settle()
    with capture_logs() as lines:
        await w.request("web")
        await w.settle()
    blocked = [line["by"] for line in lines if line["event"] == "event loop was blocked"]
    assert "test-issuer-certificaterequests default/web" in blocked


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        (
            "-----BEGIN",
            "sign returned str; it must return a Bundle: write return Bundle.from_pem(…)",
        ),
        (None, "sign returned None; it must return a Bundle: write return Bundle(chain, ca)"),
        (exits, "sign returned the coroutine exits: write return await …"),
    ],
)
async def test_what_is_no_bundle_is_refused_with_the_line_to_write(
    embedded_world: Callable[..., World], returned: Any, told: str
) -> None:
    w = embedded_world()

    async def sign(_request: Request, _issuer: Issuer[Any]) -> Any:
        return returned() if callable(returned) else returned

    w.app.sign(sign)
    await w.issuer()
    await w.request()
    await w.settle()
    assert (await w.ready()).message.endswith(f"will retry: TypeError: {told}")


@pytest.mark.parametrize("reader", ["request", "issuer"])
@pytest.mark.parametrize(
    ("secrets", "told"), [(False, "write IssuerApp(…, secrets=True)"), (True, "not found")]
)
async def test_secrets_that_the_roles_do_not_allow_are_refused_on_any_machine(
    embedded_world: Callable[..., World], reader: str, told: str, *, secrets: bool
) -> None:
    w = embedded_world(secrets=secrets)

    @w.app.sign
    async def sign(request: Request, issuer: Issuer[Any]) -> Bundle:
        await {"request": request.secret, "issuer": issuer.secret}[reader]("other")
        return Bundle(b"")

    await w.issuer()
    await w.request()
    await w.settle()
    assert (await w.ready()).message.endswith(told)


async def test_a_pending_certificate_is_no_failure(embedded_world: Callable[..., World]) -> None:
    w = embedded_world()
    await w.issuer()
    await w.settle()
    with capture_logs() as lines:
        w.script.signs[:] = [Pending("ordered"), Permanent("refused")]
        await w.request()
        await w.settle()
        await w.cluster.advance(seconds=5)
    [told] = traces(lines)
    assert (told["type"], told["error"]) == ("Permanent", "refused")


async def test_refused_credentials_are_the_issuers_trouble(
    embedded_world: Callable[..., World],
) -> None:
    w = embedded_world()
    await w.issuer()
    await w.settle()
    w.script.signs[:] = [AuthorityError(403)]
    w.script.checks[:] = [AuthorityError(403)]
    await w.request()
    await w.settle()
    assert (await w.issuer_ready()).status == "False"
    assert (await w.ready()).reason == "Pending", "the request waits, however long it takes"
    await w.cluster.advance(minutes=10)
    assert (await w.ready()).reason == "Issued"


async def test_what_a_status_means_is_up_to_the_author(
    embedded_world: Callable[..., World],
) -> None:
    w = embedded_world(http_errors={403: Permanent})
    await w.issuer()
    await w.settle()
    w.script.signs[:] = [AuthorityError(403)]
    await w.request()
    await w.settle()
    assert (await w.ready()).reason == "Failed"
