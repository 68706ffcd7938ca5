"""Calling an author's code: sync or async, with a time limit, whatever it raises."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from certwright.issuer.bundle import Bundle
from certwright.issuer.issuer import Issuer
from certwright.issuer.request import Offload, Request
from certwright.issuer.sign.result import Classifier
from certwright.kube import ObjectMeta
from certwright.kube.durations import format_duration

S = TypeVar("S")
R = TypeVar("R")

CheckFunction: TypeAlias = Callable[[Issuer[S]], Awaitable[None] | None]
SignFunction: TypeAlias = Callable[[Request, Issuer[S]], Awaitable[Bundle] | Bundle]
IgnoreRequest: TypeAlias = Callable[[Request], Awaitable[bool] | bool]
IgnoreIssuer: TypeAlias = Callable[[ObjectMeta], Awaitable[bool] | bool]
Hook: TypeAlias = Callable[[], Awaitable[None] | None]

RECHECK = timedelta(minutes=10)


class SigningIssuer(Protocol):
    """A subclass of `Issuer` that does the work itself."""

    def check(self) -> Awaitable[None] | None:
        """Raise if the issuer cannot sign."""
        ...

    def sign(self, request: Request, /) -> Awaitable[Bundle] | Bundle:
        """Return the certificate, or raise."""
        ...


@dataclass
class Author(Generic[S]):
    """What the author of an app provided."""

    issuer_type: type[Issuer[S]] = Issuer
    check: CheckFunction[S] | None = None
    sign: SignFunction[S] | None = None
    every: timedelta = RECHECK
    ignore_request: IgnoreRequest | None = None
    ignore_issuer: IgnoreIssuer | None = None
    classify_error: Classifier | None = None
    startup: list[Hook] = field(default_factory=list)
    shutdown: list[Hook] = field(default_factory=list)


class TimedOut(TimeoutError):
    """The author's code did not return in time."""


async def call(
    function: Callable[..., Awaitable[R] | R], *arguments: Any, limit: timedelta, threads: Offload
) -> R:
    """Call a function of the author's; one that is not async runs in a thread.

    Raises:
        TimedOut: it did not return within *limit*; its thread goes on (see `Threads`).
    """
    try:
        async with asyncio.timeout(limit.total_seconds()) as scope:
            if inspect.iscoroutinefunction(function):
                answer: Awaitable[R] | R = function(*arguments)
            else:
                answer = await threads(function, *arguments)
            return await answer if inspect.isawaitable(answer) else answer
    except TimeoutError as error:
        if not scope.expired():
            raise
        raise TimedOut(f"timed out after {format_duration(limit)}") from error


def refuse_answer(name: str, expected: str, answer: object) -> TypeError:
    """Return the complaint about an author's function that returned something else."""
    return TypeError(f"{name} returned {type(answer).__name__}; it must return {expected}")
