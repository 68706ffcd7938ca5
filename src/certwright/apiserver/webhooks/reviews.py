"""The reviews a request needs, those it has got, and the port through which they are obtained."""

import asyncio
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from certwright.apiserver.webhooks.response import (
    CallFailed,
    WebhookResponse,
    parse_review,
    unexpected_content,
)
from certwright.kube.objects import JsonObject

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReviewCall:
    """A review that a webhook is to answer."""

    client_config: JsonObject
    """Where it is sent: ``url`` or ``service``, and ``caBundle``, as webhook configurations say."""
    review: JsonObject
    """An AdmissionReview or ConversionReview; its request gets a uid when it is sent."""
    seconds: int


@dataclass(frozen=True, slots=True)
class ReviewAnswer:
    """What came of a review: a document, or the reason why there is none."""

    uid: str
    """The uid of the request, which the answer has to repeat."""
    document: JsonObject = field(default_factory=dict)
    failure: str = ""
    """Why the webhook could not be called or understood, in kube-apiserver's words."""


class ReviewsNeeded(Exception):
    """A request cannot be answered before webhooks have answered these reviews, by their keys."""

    def __init__(self, calls: Mapping[Hashable, ReviewCall]) -> None:
        super().__init__(f"{len(calls)} reviews by webhooks are needed first")
        self.calls = calls


class ReviewCaller(Protocol):
    """Calls webhooks."""

    async def call(
        self, client_config: JsonObject, review: JsonObject, seconds: int
    ) -> WebhookResponse:
        """Send a review and return the response; `CallFailed` if there is none in time."""
        ...


class ReviewLog:
    """What webhooks said about one request, and what was decided on the way, by key."""

    __slots__ = ("_answers", "_kept")

    def __init__(self) -> None:
        self._answers: dict[Hashable, ReviewAnswer] = {}
        self._kept: dict[Hashable, Any] = {}

    def answer(self, key: Hashable, call: ReviewCall) -> ReviewAnswer:
        """Return the answer to a review; `ReviewsNeeded` if it has not been asked for yet."""
        return self.answers({key: call})[key]

    def answers(self, calls: Mapping[Hashable, ReviewCall]) -> dict[Hashable, ReviewAnswer]:
        """Return the answers to several reviews; `ReviewsNeeded` if any is missing."""
        missing = {key: call for key, call in calls.items() if key not in self._answers}
        if missing:
            raise ReviewsNeeded(missing)
        return {key: self._answers[key] for key in calls}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what *make* returned the first time, in this attempt or an earlier one."""
        if key not in self._kept:
            self._kept[key] = make()
        found: T = self._kept[key]
        return found

    async def obtain(
        self, needed: ReviewsNeeded, caller: ReviewCaller, new_uid: Callable[[], str]
    ) -> None:
        """Have all reviews answered that are needed, concurrently."""
        async with asyncio.TaskGroup() as group:
            for key, call in needed.calls.items():
                group.create_task(self._ask(key, call, caller, new_uid()))

    async def _ask(self, key: Hashable, call: ReviewCall, caller: ReviewCaller, uid: str) -> None:
        request = {"uid": uid, **call.review["request"]}
        review = {**call.review, "request": request}
        try:
            response = await caller.call(call.client_config, review, call.seconds)
        except CallFailed as error:
            self._answers[key] = ReviewAnswer(uid, failure=error.reason)
            return
        if failure := unexpected_content(response):
            self._answers[key] = ReviewAnswer(uid, failure=failure)
            return
        try:
            self._answers[key] = ReviewAnswer(uid, parse_review(response.body))
        except CallFailed as error:
            self._answers[key] = ReviewAnswer(uid, failure=error.reason)
