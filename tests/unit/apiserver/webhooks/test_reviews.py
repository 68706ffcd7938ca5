"""What one request learns from webhooks, from one attempt to the next."""

from collections.abc import Hashable

import pytest

from certwright.apiserver.webhooks.response import CallFailed, WebhookResponse
from certwright.apiserver.webhooks.reviews import ReviewCall, ReviewLog, ReviewsNeeded
from certwright.kube import JsonObject

SYNTAX = (
    "json: cannot unmarshal string into Go value of type struct { APIVersion string "
    '"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


def call(name: str) -> ReviewCall:
    return ReviewCall({"url": f"https://{name}/"}, {"kind": "AdmissionReview", "request": {}}, 10)


class Caller:
    """Answers with the uid, unless there is another response for the URL."""

    def __init__(self, **other: WebhookResponse | CallFailed) -> None:
        self.other = other

    async def call(
        self, client_config: JsonObject, review: JsonObject, seconds: int
    ) -> WebhookResponse:
        assert seconds == 10
        name = client_config["url"].removeprefix("https://").removesuffix("/")
        found = self.other.get(name)
        if isinstance(found, CallFailed):
            raise found
        uid = review["request"]["uid"].encode()
        return found or WebhookResponse(200, b'{"response":{"uid":"%b"}}' % uid)


async def obtain(log: ReviewLog, needed: ReviewsNeeded, caller: Caller) -> None:
    uids = iter(f"uid-{number}" for number in range(10))
    await log.obtain(needed, caller, lambda: next(uids))


async def test_answers_are_there_in_the_next_attempt() -> None:
    log = ReviewLog()
    with pytest.raises(ReviewsNeeded) as needed:
        log.answers({"a": call("a"), "b": call("b")})
    await obtain(log, needed.value, Caller())
    answers = log.answers({"a": call("a"), "b": call("b")})
    assert [answer.uid for answer in answers.values()] == ["uid-0", "uid-1"]
    assert answers["b"].document == {"response": {"uid": "uid-1"}}


async def test_only_missing_answers_are_needed() -> None:
    log = ReviewLog()
    with pytest.raises(ReviewsNeeded) as needed:
        log.answer("a", call("a"))
    await obtain(log, needed.value, Caller())
    with pytest.raises(ReviewsNeeded) as more:
        log.answers({"a": call("a"), "b": call("b")})
    assert list(more.value.calls) == ["b"]


async def test_failures_are_answers() -> None:
    log = ReviewLog()
    calls: dict[Hashable, ReviewCall] = {each: call(each) for each in ("down", "html", "error")}
    caller = Caller(
        down=CallFailed("EOF"),
        html=WebhookResponse(200, b"<html>"),
        error=WebhookResponse(500, b"boom", "text/plain"),
    )
    with pytest.raises(ReviewsNeeded) as needed:
        log.answers(calls)
    await obtain(log, needed.value, caller)
    assert [answer.failure for answer in log.answers(calls).values()] == [
        "EOF",
        f"couldn't get version/kind; json parse error: {SYNTAX}",
        'an error on the server ("boom") has prevented the request from succeeding',
    ]


def test_what_was_made_once_is_kept() -> None:
    log, numbers = ReviewLog(), iter(range(10))
    assert log.once("a", lambda: next(numbers)) == 0
    assert log.once("a", lambda: next(numbers)) == 0
    assert log.once("b", lambda: next(numbers)) == 1
