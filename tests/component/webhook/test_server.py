"""A server over real TLS on this machine: what it answers to reviews, and to everything else."""

import asyncio
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import orjson
import pytest
from tests.support.webhook import Served, admission, admission_body, config_map, trusting

from certwright.clock import SYSTEM
from certwright.kube import JsonObject
from certwright.kube.kinds import ConfigMap
from certwright.webhook import (
    AdmissionHandler,
    AdmissionReview,
    Allow,
    ConversionHandler,
    Decision,
    Deny,
    Patch,
    ReviewLimits,
    intercept,
)
from certwright.webhook.endpoints import AdmissionEndpoint, ConversionEndpoint, ReviewEndpoint

RULES = [intercept(ConfigMap, "CREATE")]


def endpoint(path: str, review: Any, *, mutating: bool = False) -> AdmissionEndpoint:
    webhook = AdmissionHandler(f"{path[1:]}.test.certwright.dev", review, RULES, mutating, path)
    return AdmissionEndpoint(webhook)


def check(review: AdmissionReview) -> Decision:
    if "forbidden" in review.name:
        return Deny(f"{review.name} is a bad name", code=422, reason="Invalid")
    return Allow(warnings=["be careful"], audit={"checked": "yes"})


def mutate(review: AdmissionReview) -> Decision:
    wanted = review.obj()
    wanted["metadata"]["labels"] = {"team": review.namespace}
    return Patch(wanted)


def crash(review: AdmissionReview) -> Decision:
    raise RuntimeError(f"cannot handle {review.obj()['data']}")


def convert(objects: Any, version: str) -> list[JsonObject]:
    return [{**one, "apiVersion": version} for one in objects]


ENDPOINTS: list[ReviewEndpoint] = [
    endpoint("/check", check),
    endpoint("/mutate", mutate, mutating=True),
    endpoint("/crash", crash),
    ConversionEndpoint(ConversionHandler("/convert", convert)),
]


async def test_several_handlers_answer_under_their_paths() -> None:
    served = Served(ENDPOINTS)
    async with served.running(), served.caller() as caller:
        allowed = await caller.review("/check")
        denied = await caller.review("/check", config_map("forbidden"))
        patched = await caller.review("/mutate")
    uid = admission()["request"]["uid"]
    assert allowed == {
        "uid": uid,
        "allowed": True,
        "warnings": ["be careful"],
        "auditAnnotations": {"checked": "yes"},
    }
    assert denied["status"] == {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": "forbidden is a bad name",
    }
    assert patched["patchType"] == "JSONPatch"
    assert served.count("/check", "allowed") == served.count("/check", "denied") == 1
    assert served.count("/mutate", "patched") == 1


async def test_objects_are_converted() -> None:
    served = Served(ENDPOINTS)
    review = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": {
            "uid": "u",
            "desiredAPIVersion": "demo/v2",
            "objects": [{"apiVersion": "demo/v1", "kind": "A", "metadata": {"name": "a"}}],
        },
    }
    async with served.running(), served.caller() as caller:
        status, answer = await caller.send("/convert", orjson.dumps(review))
    assert status == 200
    assert answer["response"]["result"] == {"status": "Success"}
    assert answer["response"]["convertedObjects"][0]["apiVersion"] == "demo/v2"
    assert served.count("/convert", "converted") == 1


async def test_a_handler_that_raises_fails_alone_and_tells_no_secret(
    capsys: pytest.CaptureFixture[str],
) -> None:
    served = Served(ENDPOINTS)
    secret = {**config_map("s"), "kind": "Secret", "data": {"password": "c3VwZXJzZWNyZXQ="}}
    async with served.running(), served.caller() as caller:
        status, answer = await caller.send("/crash", admission_body(secret))
        assert (await caller.review("/check"))["allowed"]
    assert (status, answer["kind"], answer["reason"]) == (500, "Status", "InternalError")
    assert "RuntimeError" in answer["message"]
    logged = capsys.readouterr().out
    assert "review failed" in logged
    assert "test_server.py" in logged
    for text in (str(answer), logged):
        assert "supersecret" not in text
        assert "c3VwZXJzZWNyZXQ" not in text
    assert served.count("/crash", "failed") == 1


@pytest.mark.parametrize(
    ("path", "method", "body", "headers", "status", "message"),
    [
        ("/check", "GET", b"", {}, 405, "reviews are sent by POST"),
        ("/check", "POST", b"{}", {"Content_Type": "text/yaml"}, 415, "application/json"),
        ("/check", "POST", b"{}", {"Content_Encoding": "gzip"}, 415, "compressed"),
        ("/nowhere", "POST", b"{}", {}, 404, "/nowhere"),
        ("/check", "POST", b"<html>", {}, 400, "cannot be read"),
        ("/check", "POST", b"[" * 5000, {}, 400, "levels deep"),
        ("/check", "POST", b'{"kind":"Pod"}', {}, 400, "'Pod'"),
        ("/convert", "POST", admission_body(), {}, 400, "ConversionReview is served here"),
        ("/check", "POST", admission_body(uid=""), {}, 400, "no uid"),
        ("/check", "POST", b"x" * 70_000, {}, 413, "larger than 65536 bytes"),
    ],
)
async def test_what_is_no_review_is_refused_with_the_reason(
    path: str, method: str, body: bytes, headers: dict[str, str], status: int, message: str
) -> None:
    served = Served(ENDPOINTS, limits=ReviewLimits(body_bytes=65_536))
    async with served.running(), served.caller() as caller:
        code, answer = await caller.send(path, body, method=method, **headers)
        assert (await caller.review("/check"))["allowed"], "others go on"
    assert (code, answer["kind"], answer["status"]) == (status, "Status", "Failure")
    assert message in answer["message"]


async def test_a_body_without_a_length_is_bounded_as_well() -> None:
    served = Served(ENDPOINTS, limits=ReviewLimits(body_bytes=65_536))

    async def chunks() -> Any:
        for _ in range(100):
            yield b"x" * 1000

    async with served.running(), served.caller() as caller:
        code, _ = await caller.send("/check", chunks())
    assert code == 413


def as_sent(body: bytes, *headers: str, version: str = "1.1") -> bytes:
    """Return a review as it goes over the wire, in one piece."""
    lines = (f"POST /check HTTP/{version}", "Host: x", "Content-Type: application/json", *headers)
    return "\r\n".join((*lines, f"Content-Length: {len(body)}", "", "")).encode() + body


@pytest.mark.parametrize(
    ("headers", "version", "stays_open"),
    [
        ((), "1.1", True),
        (("Connection: close",), "1.1", False),
        ((), "1.0", False),
        (("Connection: keep-alive",), "1.0", False),
    ],
)
async def test_a_connection_stays_open_as_the_client_wants(
    headers: tuple[str, ...], version: str, *, stays_open: bool
) -> None:
    served = Served(ENDPOINTS)
    async with served.running():
        reader, writer = await asyncio.open_connection(
            "localhost", served.server.port, ssl=trusting(served.ca.pem)
        )
        for _ in range(2 if stays_open else 1):
            writer.write(as_sent(admission_body(), *headers, version=version))
            head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii").split("\r\n")
            assert head[0] == "HTTP/1.1 200 OK"
            named = dict(line.split(": ", 1) for line in head[1:] if line)
            answer = await reader.readexactly(int(named["Content-Length"]))
            assert orjson.loads(answer)["response"]["allowed"]
            assert named["Content-Type"] == "application/json"
            assert parsedate_to_datetime(named["Date"]) <= SYSTEM.now()
            assert named.get("Connection") == (None if stays_open else "close")
        if not stays_open:
            assert await reader.read() == b""
        writer.close()


async def test_a_thousand_reviews_need_no_more_handshakes_than_come_at_a_time() -> None:
    served, at_a_time = Served(ENDPOINTS), 8
    async with served.running(), served.caller() as caller:

        async def send() -> None:
            for _ in range(1000 // at_a_time):
                assert (await caller.review("/check"))["allowed"]

        async with asyncio.TaskGroup() as group:
            for _ in range(at_a_time):
                group.create_task(send())
    assert served.count("/check", "allowed") == 1000
    assert served.connections == at_a_time


async def test_chunks_that_came_at_once_are_bounded_as_well() -> None:
    served = Served(ENDPOINTS, limits=ReviewLimits(body_bytes=100))
    lines = ("POST /check HTTP/1.1", "Host: x", "Content-Type: application/json")
    head = "\r\n".join((*lines, "Transfer-Encoding: chunked", "", "")).encode()
    async with served.running():
        reader, writer = await asyncio.open_connection(
            "localhost", served.server.port, ssl=trusting(served.ca.pem)
        )
        writer.write(head + b"65\r\n" + b" " * 101 + b"\r\n0\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 413 ")
        writer.close()


async def test_a_review_that_takes_too_long_is_given_up() -> None:
    ended = []

    async def slow(_review: AdmissionReview) -> Decision:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)
        return Allow()

    served = Served([endpoint("/slow", slow)])
    async with served.running(), served.caller() as caller:
        code, answer = await caller.send("/slow?timeout=50ms", admission_body())
    assert (code, answer["reason"]) == (504, "Timeout")
    assert ended
    assert served.count("/slow", "failed") == 1


async def test_more_reviews_at_a_time_than_allowed_are_put_off() -> None:
    go, running = asyncio.Event(), asyncio.Event()

    async def slow(_review: AdmissionReview) -> Decision:
        running.set()
        await go.wait()
        return Allow()

    served = Served([endpoint("/slow", slow)], limits=ReviewLimits(in_flight=1))
    async with served.running(), served.caller() as caller, asyncio.TaskGroup() as group:
        first = group.create_task(caller.review("/slow"))
        await running.wait()
        code, answer = await caller.send("/slow", admission_body())
        assert (code, answer["reason"]) == (429, "TooManyRequests")
        assert caller.headers["Retry-After"] == "1"
        go.set()
    assert first.result()["allowed"]
    assert (served.count("/slow", "refused"), served.count("/slow", "allowed")) == (1, 1)


async def test_shutdown_finishes_what_is_under_way() -> None:
    go, running = asyncio.Event(), asyncio.Event()

    async def slow(_review: AdmissionReview) -> Decision:
        running.set()
        await go.wait()
        return Allow()

    served = Served([endpoint("/slow", slow), endpoint("/check", check)])
    async with served.caller() as idle, served.caller() as caller, asyncio.TaskGroup() as group:
        async with served.running() as server:
            caller.base = idle.base = f"https://localhost:{served.server.port}"
            await idle.review("/check")
            under_way = group.create_task(caller.review("/slow"))
            await running.wait()
            server.cancel()
            while not served.server._ending:
                await asyncio.sleep(0)
            [state, *_] = served.server.readiness()
            assert state.problem == "shutting down"
            go.set()
        assert (await under_way)["allowed"]
        with pytest.raises(OSError, match=r".+"):
            await idle.review("/check")


async def test_shutdown_reads_a_body_to_its_end() -> None:
    served = Served(ENDPOINTS)
    body = admission_body()
    async with asyncio.timeout(10), served.running() as server:
        reader, writer = await asyncio.open_connection(
            "localhost", served.server.port, ssl=trusting(served.ca.pem)
        )
        head = b"POST /check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        writer.write(head + b"Content-Length: %d\r\n\r\n" % len(body) + body[:10])
        while not served.server._running:
            await asyncio.sleep(0)
        server.cancel()
        while not served.server._ending:
            await asyncio.sleep(0)
        writer.write(body[10:])
        answer = await reader.read()
        writer.close()
    assert b'"allowed":true' in answer


async def test_with_a_shutdown_delay_new_connections_are_served_on() -> None:
    served = Served(ENDPOINTS, limits=ReviewLimits(shutdown_delay=timedelta(minutes=1)))
    async with served.running() as server, served.caller() as idle, served.caller() as late:
        await idle.review("/check")
        server.cancel()
        while not served.server._ending:
            await asyncio.sleep(0)
        for caller in (idle, late):
            assert (await caller.review("/check"))["allowed"]
            assert caller.headers["Connection"] == "close"
        code, _ = await late.send("/readyz", b"", method="GET")
        assert code == 503
        server.cancel()  # the delay can be cut short


async def test_the_end_comes_in_time_though_a_review_does_not_end() -> None:
    async def hang(_review: AdmissionReview) -> Decision:
        await asyncio.Event().wait()
        raise AssertionError

    limits = ReviewLimits(shutdown=timedelta(seconds=2), review=timedelta(minutes=1))
    served = Served([endpoint("/hang", hang)], limits=limits)
    async with served.running() as server, served.caller() as caller:
        pending = asyncio.ensure_future(caller.send("/hang", admission_body()))
        while not served.server._running:
            await asyncio.sleep(0)
        began = asyncio.get_running_loop().time()
        server.cancel()
        await asyncio.wait([server])
        assert asyncio.get_running_loop().time() - began < 5.0
        pending.cancel()
        await asyncio.wait([pending])


async def test_a_client_that_hangs_up_within_a_body_disturbs_no_other() -> None:
    served = Served(ENDPOINTS)
    async with served.running(), served.caller() as caller:
        _, writer = await asyncio.open_connection(
            "localhost", served.server.port, ssl=trusting(served.ca.pem)
        )
        head = b"POST /check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        writer.write(head + b"Content-Length: 1000\r\n\r\n{")
        await writer.drain()
        while not served.server._running:
            await asyncio.sleep(0)
        writer.close()
        while served.server._running:
            await asyncio.sleep(0)
        assert (await caller.review("/check"))["allowed"]
    assert served.count("/check", "refused") == 1


async def test_a_connection_that_carries_no_request_is_closed() -> None:
    served = Served(ENDPOINTS, limits=ReviewLimits(connect=timedelta(milliseconds=50)))
    async with served.running(), served.caller() as caller:
        await caller.review("/check")
        reader, writer = await asyncio.open_connection(
            "localhost", served.server.port, ssl=trusting(served.ca.pem)
        )
        async with asyncio.timeout(10):
            assert await reader.read() == b""
        writer.close()
        assert (await caller.review("/check"))["allowed"], "one that was used stays open"


async def test_probes_need_no_review() -> None:
    served = Served(ENDPOINTS)
    async with served.running(), served.caller() as caller:
        assert await caller.send("/livez", b"", method="GET") == (200, "ok")
        assert await caller.send("/readyz", b"", method="GET") == (200, "ok")
        _, shown = await caller.send("/readyz?verbose", b"", method="GET")
    assert "[+] webhook certificate: ok" in shown
