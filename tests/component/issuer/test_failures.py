"""A failing check or sign leaves a trace that its author can use, once."""

from collections.abc import Callable
from typing import Any

from structlog.testing import capture_logs
from tests.support.issuer.issuer_world import World

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
