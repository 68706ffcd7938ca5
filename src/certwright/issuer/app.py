"""`IssuerApp`: what an author declares, and everything that follows from it."""

import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cached_property, partial, wraps
from typing import Any, Generic, TypeVar, Unpack, overload

from certwright.issuer import declaration
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
from certwright.issuer.declaration import AuthorDecorator, check_parameters
from certwright.issuer.issuer import Issuer
from certwright.issuer.kinds import cluster_kind_of, issuer_kind
from certwright.issuer.run.assembly import build, kebab
from certwright.issuer.run.command import main
from certwright.issuer.settings import (
    IssuerOptions,
    IssuerSettings,
    check_duration,
    check_flag,
    check_text,
    unanswered,
)
from certwright.issuer.sign.result import Classifier
from certwright.issuer.spec import SpecType, author_doc
from certwright.kube import JsonObject, Object, crd_manifest
from certwright.runtime import Operator, OperatorHost, Part

S = TypeVar("S")
C = TypeVar("C", bound=SigningIssuer)


class IssuerApp(Generic[S]):
    """An issuer: its kinds, its author's functions, and the process that runs them.

    ::

        app = IssuerApp(group="pki.example.com", kind="DemoIssuer", spec=Spec)

    makes the namespaced kind DemoIssuer and the cluster kind DemoClusterIssuer. The other
    keywords are its settings, which `IssuerSettings` explains. What cannot work is refused here,
    with the line to write: `TypeError` for a parameter that does not exist or has another type,
    `ValueError` for a value that means nothing.
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
        for name, flag in (("namespaced", namespaced), ("cluster", cluster)):
            check_flag(name, flag)
        check_text("kind", kind, "DemoIssuer")
        check_text("version", version, "v1alpha1")
        if not namespaced and not cluster:
            raise ValueError("an issuer has at least one kind: namespaced, cluster or both")
        own = ("version", "namespaced", "cluster", "cluster_kind")
        check_parameters(options, (*IssuerOptions.__annotations__, *own))
        self.settings = settings = IssuerSettings(group=group, **options)
        self.kind = kind
        self.spec = SpecType(spec)
        self._author: Author[S] = Author()
        doc = inspect.cleandoc(author_doc(spec) or f"An issuer of the kind {kind}.")
        wire = self.spec.wire
        self.namespaced_kind: type[Object] | None = None
        self.cluster_kind: type[Object] | None = None
        if namespaced:
            said = doc + unanswered(settings, namespaced=True)
            self.namespaced_kind = issuer_kind(
                group, version, kind, wire, namespaced=True, doc=said
            )
        if cluster:
            check_text("cluster_kind", cluster_kind, cluster_kind_of(kind))
            name = cluster_kind or cluster_kind_of(kind)
            if namespaced and name.lower() == kind.lower():
                raise ValueError(
                    f"{name} is the namespaced and the cluster kind: write"
                    f' cluster_kind="{cluster_kind_of(kind)}", or leave it out'
                )
            said = doc + unanswered(settings, namespaced=False)
            self.cluster_kind = issuer_kind(group, version, name, wire, namespaced=False, doc=said)

    # What the author provides: decorators, with and without parentheses

    @overload
    def check(self, function: CheckFunction[S], /) -> CheckFunction[S]: ...

    @overload
    def check(
        self, /, *, every: timedelta = RECHECK
    ) -> Callable[[CheckFunction[S]], CheckFunction[S]]: ...

    def check(
        self, function: CheckFunction[S] | None = None, /, *, every: timedelta = RECHECK
    ) -> CheckFunction[S] | Callable[[CheckFunction[S]], CheckFunction[S]]:
        """Register the function that raises when an issuer cannot sign.

        It is called when an issuer or a Secret it refers to changes, and *every* so often; never
        for that reason alone if *every* is 0.
        """
        check_duration("every", every)
        if every < timedelta():
            raise ValueError(f"every is {every}, which is negative: write every={RECHECK!r}")

        def keep(given: CheckFunction[S]) -> None:
            self._author.check, self._author.every = given, every

        register: AuthorDecorator[CheckFunction[S]] = AuthorDecorator(declaration.CHECK, keep)
        return register() if function is None else register(function)

    @property
    def sign(self) -> AuthorDecorator[SignFunction[S]]:
        """Register the function that returns a certificate, or raises."""
        return self._keeping(declaration.SIGN, "sign")

    @property
    def ignore_request(self) -> AuthorDecorator[IgnoreRequest]:
        """Register ``(request) -> bool``: requests to leave alone."""
        return self._keeping(declaration.IGNORE_REQUEST, "ignore_request")

    @property
    def ignore_issuer(self) -> AuthorDecorator[IgnoreIssuer]:
        """Register ``(metadata) -> bool``: issuers to leave alone, with their requests."""
        return self._keeping(declaration.IGNORE_ISSUER, "ignore_issuer")

    @property
    def classify_error(self) -> AuthorDecorator[Classifier]:
        """Register what turns other exceptions into verbs; None leaves one as it is."""
        return self._keeping(declaration.CLASSIFY_ERROR, "classify_error")

    @property
    def on_startup(self) -> AuthorDecorator[Hook]:
        """Register what each process does before it signs anything."""
        return AuthorDecorator(declaration.ON_STARTUP, self._author.startup.append)

    @property
    def on_shutdown(self) -> AuthorDecorator[Hook]:
        """Register what each process does when it has signed everything."""
        return AuthorDecorator(declaration.ON_SHUTDOWN, self._author.shutdown.append)

    def _keeping(self, signature: declaration.Signature, name: str) -> AuthorDecorator[Any]:
        return AuthorDecorator(signature, partial(setattr, self._author, name))

    @overload
    def issuer(self, cls: type[C], /) -> type[C]: ...

    @overload
    def issuer(self, /) -> Callable[[type[C]], type[C]]: ...

    def issuer(self, cls: type[C] | None = None, /) -> type[C] | Callable[[type[C]], type[C]]:
        """Register a subclass of `Issuer` that has both as methods."""
        if cls is None:
            return self.issuer
        author: Any = self._author
        author.issuer_type = given = _subclass_of_issuer(cls)
        author.check = given.check
        author.sign = _method(given.sign)
        return cls

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
        """Return what a Manager runs in a namespace; `IncompleteApp` if ``sign`` is missing.

        Cluster issuers find their Secrets there, unless the app names another namespace.
        """
        self.refuse_incomplete()

        def parts(site: OperatorHost) -> Iterable[Part]:
            found = self.settings.cluster_resource_namespace or namespace
            settings = replace(self.settings, cluster_resource_namespace=found)
            resources = [kind.resource for kind in self.kinds]
            return build(site, resources, self.spec, self._author, settings)

        return Operator(self.name, parts, kinds=self.kinds)

    def refuse_incomplete(self) -> None:
        """Raise `IncompleteApp` if no function is registered that signs."""
        if self._author.sign is None:
            declaration.SIGN.refuse_missing(self.kind)

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
        raise TypeError(
            f"{cls!r} must be a subclass of certwright.issuer.Issuer: write\n\n    @app.issuer\n"
            f"    class {getattr(cls, '__name__', 'Mine')}(Issuer[Spec]):\n"
        )
    methods = {"check": declaration.CHECK_METHOD, "sign": declaration.SIGN_METHOD}
    for name, signature in methods.items():
        if not hasattr(cls, name):
            raise TypeError(f"{cls.__name__} has no method {name}: write\n\n    {signature.line}\n")
        signature.check(getattr(cls, name))
    return cls


def _method(sign: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """Return a class's ``sign`` with its arguments in the order of a function's."""

    @wraps(sign)  # where the author's code is, is told by its module
    def swapped(request: Any, issuer: Any) -> Any:
        return sign(issuer, request)

    @wraps(sign)
    async def swapped_async(request: Any, issuer: Any) -> Any:
        return await sign(issuer, request)

    return swapped_async if inspect.iscoroutinefunction(sign) else swapped
