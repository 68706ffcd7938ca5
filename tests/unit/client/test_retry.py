"""The table of retries, row by row."""

from datetime import timedelta
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.client import (
    BadResponse,
    BodyTooLarge,
    ConnectFailed,
    ConnectionLost,
    CredentialError,
    NoConnectionFree,
    NotAnApiServer,
    Request,
    Response,
    Selection,
    Timeout,
    TlsFailed,
    TransportError,
    request,
    retry,
)
from certwright.client.request import DeleteOptions, WriteOptions
from certwright.client.retry import Policy
from certwright.kube import Key
from certwright.kube.kinds import ConfigMap, Pod

KEY = Key("shop", "web")
OBJECT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "a", "name": "b"}}
ME = WriteOptions("me")
DRY = WriteOptions("me", dry_run=True)

REPEATABLE: dict[str, Request] = {
    "get": request.get(ConfigMap, KEY),
    "list": request.list_page(ConfigMap, Selection()),
    "discovery": request.raw("/apis"),
    "apply": request.apply(ConfigMap, OBJECT, ME),
    "create, dry run": request.create(ConfigMap, OBJECT, DRY),
    "update, dry run": request.update(ConfigMap, OBJECT, DRY),
    "delete, dry run": request.delete(ConfigMap, KEY, DeleteOptions(dry_run=True)),
    "delete with uid": request.delete(ConfigMap, KEY, DeleteOptions(uid="u")),
}
ONCE: dict[str, Request] = {
    "create": request.create(ConfigMap, OBJECT, ME),
    "update": request.update(ConfigMap, OBJECT, ME),
    "merge patch": request.patch(
        ConfigMap, KEY, {"a": 1}, ME, content_type="application/merge-patch+json"
    ),
    "JSON patch": request.patch(ConfigMap, KEY, [], ME, content_type="application/json-patch+json"),
    "delete": request.delete(ConfigMap, KEY),
    "delete with version only": request.delete(ConfigMap, KEY, DeleteOptions(resource_version="7")),
    "delete collection": request.delete_collection(ConfigMap, Selection("shop")),
    "eviction": request.create_subresource(Pod, KEY, "eviction", {}, ME),
}
ALL = REPEATABLE | ONCE
SHEDDABLE = {name: built for name, built in ALL.items() if name != "eviction"}


def answer(status: int, *, header: str = "", body: object = None) -> Response:
    headers = {"retry-after": header} if header else {}
    return Response(status, headers, b"" if body is None else orjson.dumps(body))


def repeats(built: Request, outcome: Any) -> bool:
    return retry.next_wait(built, outcome, 1, jitter=0) is not None


@pytest.mark.parametrize("name", ALL)
def test_whatever_did_not_reach_the_server_is_repeated(name: str) -> None:
    assert repeats(ALL[name], ConnectFailed("x"))


@pytest.mark.parametrize("name", SHEDDABLE)
@pytest.mark.parametrize("outcome", [answer(429), answer(429, header="1"), answer(503, header="1")])
def test_whatever_the_server_sheds_is_repeated(name: str, outcome: Response) -> None:
    assert repeats(SHEDDABLE[name], outcome)


def test_a_disruption_budget_says_no_and_means_it() -> None:
    assert not repeats(ALL["eviction"], answer(429, header="1"))


@pytest.mark.parametrize(
    "outcome", [ConnectionLost("x"), Timeout("x"), *map(answer, (502, 503, 504))]
)
def test_unknown_outcomes_are_repeated_only_where_twice_is_once(
    outcome: ConnectionLost | Timeout | Response,
) -> None:
    assert [name for name, built in ALL.items() if repeats(built, outcome)] == list(REPEATABLE)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 500])
def test_refusals_are_never_repeated(name: str, status: int) -> None:
    assert not repeats(ALL[name], answer(status))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "failure",
    [
        NoConnectionFree("x"),
        TlsFailed("x"),
        CredentialError("x"),
        NotAnApiServer("x"),
        BadResponse("x"),
        BodyTooLarge("x"),
    ],
)
def test_what_waiting_does_not_cure_is_not_repeated(name: str, failure: TransportError) -> None:
    assert not repeats(ALL[name], failure)


@pytest.mark.parametrize(
    ("response", "seconds"),
    [
        (answer(429, header="7"), 7),
        (answer(429, body={"kind": "Status", "details": {"retryAfterSeconds": 3}}), 3),
        (answer(429, header="7", body={"details": {"retryAfterSeconds": 3}}), 7),
        (answer(429, header="Wed, 21 Oct 2015 07:28:00 GMT"), None),
        (answer(429, header="-1"), None),
        (answer(429, header="²"), None),
        (answer(429, body={"details": {"retryAfterSeconds": "x"}}), None),
        (answer(429, body={"details": []}), None),
        (answer(429, body=["x"]), None),
        (Response(429, {}, b"<html>"), None),
        (answer(200, body={"details": {"retryAfterSeconds": 3}}), None),
    ],
)
def test_what_the_server_asks_for(response: Response, seconds: int | None) -> None:
    found = retry.retry_after(response)
    assert found == (None if seconds is None else timedelta(seconds=seconds))


def test_waits_as_long_as_asked() -> None:
    wait = retry.next_wait(ALL["create"], answer(429, header="7"), 1, jitter=0)
    assert wait == timedelta(seconds=7)


def test_a_server_that_asks_for_too_much_gets_its_error_raised() -> None:
    assert retry.next_wait(ALL["get"], answer(429, header="31"), 1, jitter=0) is None


def test_waits_twice_as_long_each_time() -> None:
    waits = [retry.next_wait(ALL["get"], Timeout("x"), n, jitter=0) for n in (1, 2, 3, 4, 5)]
    assert waits == [
        timedelta(seconds=0.2),
        timedelta(seconds=0.4),
        timedelta(seconds=0.8),
        timedelta(seconds=1.6),
        None,
    ]


@given(
    attempt=st.integers(1, 60),
    jitter=st.floats(0, 1, exclude_max=True),
    asked=st.none() | st.integers(0, 30),
)
def test_no_wait_is_shorter_than_asked_or_longer_than_the_longest(
    attempt: int, jitter: float, asked: int | None
) -> None:
    policy = Policy(attempts=100)
    outcome = answer(429, header="" if asked is None else str(asked))
    wait = retry.next_wait(ALL["get"], outcome, attempt, jitter=jitter, policy=policy)
    assert wait is not None
    assert timedelta(seconds=asked or 0) <= wait <= timedelta(seconds=30 * 1.25)


@given(attempt=st.integers(1, 9), instant=st.floats(0, 1e9))
def test_jitter_is_a_fraction_and_replays(attempt: int, instant: float) -> None:
    built = ALL["get"]
    jitter = retry.spread(built, attempt, instant)
    assert 0 <= jitter < 1
    assert jitter == retry.spread(built, attempt, instant)


def test_jitter_differs_between_requests() -> None:
    paths = [request.get(ConfigMap, Key("shop", f"web-{n}")) for n in range(100)]
    spread = {round(retry.spread(built, 1, 5.0), 1) for built in paths}
    assert len(spread) >= 9
