"""`IssuerApp`: what an author declares, and everything that follows from it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar

from certwright.issuer.bundle import Bundle
from certwright.issuer.issuer import Issuer
from certwright.issuer.request import Request
from certwright.issuer.verbs import SignOutcome
from certwright.kube import JsonObject, Object
from certwright.runtime import Backoff, Controller

S = TypeVar("S")
C = TypeVar("C", bound="SigningIssuer")

CheckFunction: TypeAlias = Callable[[Issuer[S]], Awaitable[None] | None]
SignFunction: TypeAlias = Callable[[Request, Issuer[S]], Awaitable[Bundle] | Bundle]
Compat: TypeAlias = Literal["v1", "upstream"]

F = TypeVar("F", bound=Callable[..., Any])


class SigningIssuer(Protocol):
    """A subclass of `Issuer` that does the work itself."""

    def check(self) -> Awaitable[None] | None:
        """Raise if the issuer cannot sign."""
        ...

    def sign(self, request: Request) -> Awaitable[Bundle] | Bundle:
        """Return the certificate, or raise."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How an app behaves, kinds and functions apart."""

    field_owner: str
    max_retry: timedelta = timedelta(minutes=10)
    set_ca: bool = False
    certificate_requests: bool = True
    kubernetes_csrs: bool = True
    namespaced_csrs: bool = False
    workers: int = 8
    backoff: Backoff = Backoff(1.0, 300.0, jitter=1.0)
    sign_timeout: timedelta = timedelta(seconds=60)
    check_timeout: timedelta = timedelta(seconds=30)
    secrets: bool = False
    cluster_resource_namespace: str = ""
    compat: Compat = "v1"


class IssuerApp(Generic[S]):
    """An issuer: its kinds, what it does, and the process that does it."""

    namespaced_kind: type[Object] | None
    """The generated kind, for tests: ``app.namespaced_kind(metadata=…, spec=…)``."""
    cluster_kind: type[Object] | None

    def __init__(  # noqa: PLR0913 - a declaration: each keyword is one decision of its author
        self,
        *,
        group: str,
        kind: str,
        spec: type[S],
        version: str = "v1alpha1",
        namespaced: bool = True,
        cluster: bool = True,
        cluster_kind: str = "",
        field_owner: str = "",
        max_retry: timedelta = timedelta(minutes=10),
        set_ca: bool = False,
        certificate_requests: bool = True,
        kubernetes_csrs: bool = True,
        namespaced_csrs: bool = False,
        workers: int = 8,
        backoff: Backoff | None = None,
        sign_timeout: timedelta = timedelta(seconds=60),
        check_timeout: timedelta = timedelta(seconds=30),
        secrets: bool = False,
        cluster_resource_namespace: str = "",
        compat: Compat = "v1",
    ) -> None:
        raise NotImplementedError

    # What the author provides

    def check(
        self, *, every: timedelta = timedelta(minutes=10)
    ) -> Callable[[CheckFunction[S]], CheckFunction[S]]:
        """Register the function that raises when an issuer cannot sign, repeated *every* …."""
        raise NotImplementedError

    def sign(self, function: SignFunction[S]) -> SignFunction[S]:
        """Register the function that returns a certificate, or raises."""
        raise NotImplementedError

    def issuer(self, cls: type[C]) -> type[C]:
        """Register a subclass of `Issuer` with both as methods."""
        raise NotImplementedError

    def ignore_request(self, function: F) -> F:
        """Register ``(request) -> bool``: requests to leave to somebody else."""
        raise NotImplementedError

    def ignore_issuer(self, function: F) -> F:
        """Register ``(issuer) -> bool``: issuers to leave to somebody else, with their requests."""
        raise NotImplementedError

    def classify_error(
        self, function: Callable[[Exception], SignOutcome | None]
    ) -> Callable[[Exception], SignOutcome | None]:
        """Register what turns exceptions of others into verbs; None leaves one as it is."""
        raise NotImplementedError

    # What follows

    def controllers(self) -> Sequence[Controller]:
        """Return the controllers, for a Manager or a test cluster."""
        raise NotImplementedError

    def crds(self) -> list[JsonObject]:
        """Return the CustomResourceDefinitions of the kinds."""
        raise NotImplementedError

    def main(self, argv: Sequence[str] | None = None) -> None:
        """Be a command: run, crds, rbac, deploy, conformance or doctor."""
        raise NotImplementedError
