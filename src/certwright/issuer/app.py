"""`IssuerApp`: what an author declares, and everything that follows from it."""

import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from typing import Any, Generic, TypeVar, Unpack

from certwright.issuer.author import (
    RECHECK,
    Author,
    CheckFunction,
    Hook,
    IgnoreIssuer,
    IgnoreRequest,
    SignFunction,
    SigningIssuer,
)
from certwright.issuer.issuer import Issuer
from certwright.issuer.kinds import cluster_kind_of, issuer_kind
from certwright.issuer.run.assembly import build, kebab
from certwright.issuer.run.command import main
from certwright.issuer.settings import IssuerOptions, IssuerSettings
from certwright.issuer.sign.result import Classifier
from certwright.issuer.spec import SpecType
from certwright.kube import JsonObject, Object, crd_manifest
from certwright.runtime import Operator, OperatorHost, Part

S = TypeVar("S")
C = TypeVar("C", bound=SigningIssuer)


class IssuerApp(Generic[S]):
    """An issuer: its kinds, its author's functions, and the process that runs them.

    ::

        app = IssuerApp(group="pki.example.com", kind="DemoIssuer", spec=Spec)

    makes the namespaced kind DemoIssuer and the cluster kind DemoClusterIssuer. The other
    keywords are its settings: *max_retry* is how long ordinary errors of ``sign`` are retried,
    *set_ca* whether ``status.ca`` is written, *namespaced_csrs* whether Kubernetes' signing
    requests may name namespaced issuers (their requesters then need the right to), *on_mismatch*
    what happens to a request whose certificate does not fit it, *mark_invalid* whether requests
    that are refused before ``sign`` also get the condition InvalidRequest, *secrets* whether code
    reads Secrets that the spec does not name. ``compat="upstream"`` behaves like Go's issuer-lib
    to the letter.
    """

    def __init__(
        self,
        *,
        group: str,
        kind: str,
        spec: type[S],
        version: str = "v1alpha1",
        namespaced: bool = True,
        cluster: bool = True,
        cluster_kind: str = "",
        **options: Unpack[IssuerOptions],
    ) -> None:
        if not namespaced and not cluster:
            raise ValueError("an issuer has at least one kind: namespaced, cluster or both")
        self.settings = IssuerSettings(group=group, **options)
        self.kind = kind
        self.spec = SpecType(spec)
        self._author: Author[S] = Author()
        doc = spec.__doc__ or f"An issuer of the kind {kind}."
        wire = self.spec.wire
        self.namespaced_kind: type[Object] | None = None
        self.cluster_kind: type[Object] | None = None
        if namespaced:
            self.namespaced_kind = issuer_kind(group, version, kind, wire, namespaced=True, doc=doc)
        if cluster:
            name = cluster_kind or cluster_kind_of(kind)
            self.cluster_kind = issuer_kind(group, version, name, wire, namespaced=False, doc=doc)

    # What the author provides

    def check(
        self, *, every: timedelta = RECHECK
    ) -> Callable[[CheckFunction[S]], CheckFunction[S]]:
        """Register the function that raises when an issuer cannot sign.

        It is called when an issuer or a Secret it refers to changes, and *every* so often.
        """

        def register(function: CheckFunction[S]) -> CheckFunction[S]:
            self._author.check, self._author.every = function, every
            return function

        return register

    def sign(self, function: SignFunction[S]) -> SignFunction[S]:
        """Register the function that returns a certificate, or raises."""
        self._author.sign = function
        return function

    def issuer(self, cls: type[C]) -> type[C]:
        """Register a subclass of `Issuer` that has both as methods."""
        author: Any = self._author
        author.issuer_type = given = _subclass_of_issuer(cls)
        author.check = given.check
        author.sign = _method(given.sign)
        return cls

    def ignore_request(self, function: IgnoreRequest) -> IgnoreRequest:
        """Register ``(request) -> bool``: requests to leave alone."""
        self._author.ignore_request = function
        return function

    def ignore_issuer(self, function: IgnoreIssuer) -> IgnoreIssuer:
        """Register ``(metadata) -> bool``: issuers to leave alone, with their requests."""
        self._author.ignore_issuer = function
        return function

    def classify_error(self, function: Classifier) -> Classifier:
        """Register what turns other exceptions into verbs; None leaves one as it is."""
        self._author.classify_error = function
        return function

    def on_startup(self, function: Hook) -> Hook:
        """Register what each process does before it signs anything."""
        self._author.startup.append(function)
        return function

    def on_shutdown(self, function: Hook) -> Hook:
        """Register what each process does when it has signed everything."""
        self._author.shutdown.append(function)
        return function

    # What follows

    @property
    def kinds(self) -> tuple[type[Object], ...]:
        """The kinds of issuers, the namespaced one first."""
        return tuple(kind for kind in (self.namespaced_kind, self.cluster_kind) if kind)

    @cached_property
    def operator(self) -> Operator:
        """What a Manager or a test cluster runs; each process builds its own controllers."""
        return self.operator_in("default")

    def operator_in(self, namespace: str) -> Operator:
        """Return what a Manager runs in a namespace.

        Cluster issuers find their Secrets there, unless the app names another namespace.
        """
        if self._author.sign is None:
            raise TypeError(f"{self.kind}: no function is registered with @app.sign")

        def parts(site: OperatorHost) -> Iterable[Part]:
            found = self.settings.cluster_resource_namespace or namespace
            settings = replace(self.settings, cluster_resource_namespace=found)
            resources = [kind.resource for kind in self.kinds]
            return build(site, resources, self.spec, self._author, settings)

        return Operator(self.name, parts, kinds=self.kinds)

    def crds(self) -> list[JsonObject]:
        """Return the CustomResourceDefinitions of the kinds."""
        return [crd_manifest(kind) for kind in self.kinds]

    def main(self, argv: Sequence[str] | None = None) -> None:
        """Run as a command: run, crds, rbac, deploy, conformance or doctor. Ends the process."""
        sys.exit(main(self, argv))

    @property
    def name(self) -> str:
        """The name of the issuer in small letters, for objects that need it."""
        return kebab(self.kind)


def _subclass_of_issuer(cls: Any) -> Any:
    if not (isinstance(cls, type) and issubclass(cls, Issuer)):
        raise TypeError(f"{cls!r} must be a subclass of certwright.issuer.Issuer")
    return cls


def _method(sign: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """Return a class's ``sign`` with its arguments in the order of a function's."""

    def swapped(request: Any, issuer: Any) -> Any:
        return sign(issuer, request)

    async def swapped_async(request: Any, issuer: Any) -> Any:
        return await sign(issuer, request)

    return swapped_async if inspect.iscoroutinefunction(sign) else swapped
