"""What the author of an issuer provides: functions, sync or async."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic, Protocol, TypeAlias, TypeVar

from certwright.issuer.issuer import Issuer
from certwright.issuer.request import Bundle, Request
from certwright.issuer.sign.result import Classifier
from certwright.kube import ObjectMeta

S = TypeVar("S")

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
    """The functions that the author of an app registered."""

    issuer_type: type[Issuer[S]] = Issuer
    check: CheckFunction[S] | None = None
    sign: SignFunction[S] | None = None
    every: timedelta = RECHECK
    ignore_request: IgnoreRequest | None = None
    ignore_issuer: IgnoreIssuer | None = None
    classify_error: Classifier | None = None
    startup: list[Hook] = field(default_factory=list)
    shutdown: list[Hook] = field(default_factory=list)
