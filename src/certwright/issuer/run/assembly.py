"""From an app's declaration to the controllers of one process."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from certwright.issuer.author import Author
from certwright.issuer.check.controller import IssuerController
from certwright.issuer.check.reader import IssuerReader, SecretReader
from certwright.issuer.kinds import IssuerKey
from certwright.issuer.requests.certificaterequest import CertificateRequestKind
from certwright.issuer.requests.controller import RequestController
from certwright.issuer.requests.kind import RequestKind
from certwright.issuer.requests.signingrequest import SigningRequestKind
from certwright.issuer.run import predicates
from certwright.issuer.run.lifetime import Lifetime
from certwright.issuer.run.manifests import signer_names
from certwright.issuer.run.memory import AppMemory
from certwright.issuer.run.metrics import IssuerMetrics
from certwright.issuer.settings import IssuerSettings
from certwright.issuer.sign.faults import FaultLog
from certwright.issuer.sign.sign import Signer
from certwright.issuer.sign.threads import Threads
from certwright.issuer.spec import SpecType
from certwright.issuer.upstream import Compatibility
from certwright.kube import Resource
from certwright.kube.kinds import Secret, SubjectAccessReview
from certwright.runtime import (
    Controller,
    OperatorHost,
    Part,
    PolicyRule,
    Trigger,
    Watched,
    allow,
    mapped,
    select,
)
from certwright.runtime.triggers import Mapper

S = TypeVar("S")

GRACE = timedelta(seconds=30)
"""What a reconcile may take beside the author's code."""


@dataclass(frozen=True, slots=True)
class Triggers:
    """Which changes wake which controller."""

    issuer: predicates.Changed
    linked: predicates.Changed
    """A change of an issuer, for the requests that refer to it."""
    request: predicates.Changed
    signing_request: predicates.Changed

    @classmethod
    def of(cls, author: Author[Any], compatibility: Compatibility) -> "Triggers":
        """Return what an app wakes for: more, if its author decides what to ignore."""
        issuer: predicates.Changed = predicates.issuer_changed
        linked: predicates.Changed = predicates.readiness_changed
        if not compatibility.sleeps_through_own_writes:
            return cls(
                issuer, linked, predicates.request_changed, predicates.signing_request_changed
            )
        request: predicates.Changed = predicates.foreign_part_changed
        if author.ignore_issuer is not None:
            issuer = predicates.either(issuer, predicates.marks_changed)
            linked = predicates.either(linked, predicates.marks_changed)
        if author.ignore_request is not None:
            request = predicates.either(request, predicates.marks_changed)
        return cls(issuer, linked, request, request)


def build(
    site: OperatorHost,
    kinds: Sequence[Resource],
    spec: SpecType[S],
    author: Author[S],
    settings: IssuerSettings,
) -> Iterable[Part]:
    """Return the controllers of an app, with a memory of their own."""
    memory, metrics = AppMemory(kinds), IssuerMetrics(site.metrics)
    compatibility = settings.compatibility
    backoff = replace(settings.backoff or compatibility.backoff, rng=site.rng)
    threads = Threads(settings.workers, partial(metrics.overdue, kinds[0].kind))
    namespace = settings.cluster_resource_namespace
    reader = IssuerReader(
        spec, SecretReader(), memory, author.issuer_type, namespace, settings.secrets
    )
    faults = FaultLog()
    signer = Signer(author, reader, settings, metrics, threads.run, faults)
    secrets = _secrets(kinds, spec, namespace)
    triggers = Triggers.of(author, compatibility)
    yield Lifetime(author, memory, threads)
    for kind in kinds:
        issuers = IssuerController(
            kind, author, reader, settings, memory, metrics, threads.run, faults, backoff, site.rng
        )
        yield Controller(
            kind,
            issuers.reconcile,
            name=kebab(kind.kind),
            field_manager=settings.field_manager,
            watches=[mapped(one, _users(memory, kind)) for one in secrets],
            channels=[memory.channels[kind]],
            predicate=predicates.on_entries(triggers.issuer),
            workers=settings.workers,
            deadline=settings.check_timeout + GRACE,
        )
    request_kinds: list[tuple[RequestKind, predicates.Changed]] = []
    if settings.certificate_requests:
        request_kinds.append((CertificateRequestKind(kinds, settings), triggers.request))
    if settings.kubernetes_csrs:
        request_kinds.append((SigningRequestKind(kinds, settings), triggers.signing_request))
    for request_kind, changed in request_kinds:
        requests = RequestController(request_kind, signer, memory, backoff, compatibility)
        yield Controller(
            select(
                request_kind.object_type, transform=request_kind.reduce, keep=requests.is_wanted
            ),
            requests.reconcile,
            name=f"{kebab(kinds[0].kind)}-{request_kind.resource.plural}"[:63],
            field_manager=settings.field_manager,
            watches=list(_links(kinds, memory, request_kind, triggers.linked)),
            reads=secrets,
            rbac=tuple(_rules(request_kind, kinds, settings)),
            predicate=predicates.on_entries(changed, request_kind.decode),
            workers=settings.workers,
            deadline=settings.sign_timeout + settings.check_timeout * 2 + GRACE,
        )


def _rules(
    request_kind: RequestKind, kinds: Sequence[Resource], settings: IssuerSettings
) -> Iterator[PolicyRule]:
    """Yield what answering requests of a kind needs besides reading them and their status."""
    if isinstance(request_kind, SigningRequestKind):
        served = [kind for kind in kinds if not kind.namespaced or settings.namespaced_csrs]
        if served:
            group = request_kind.resource.group
            yield PolicyRule(group, "signers", ("sign",), signer_names(served))
        if settings.namespaced_csrs:
            yield allow(SubjectAccessReview, "create")


def _secrets(kinds: Sequence[Resource], spec: SpecType[S], namespace: str) -> list[Watched]:
    """Return which Secrets are watched: names and versions, and only where issuers look."""
    if not spec.uses_secrets:
        return []
    everywhere = any(kind.namespaced for kind in kinds)
    return [select(Secret, namespace="" if everywhere else namespace, metadata_only=True)]


def _links(
    kinds: Sequence[Resource], memory: AppMemory, requests: RequestKind, changed: predicates.Changed
) -> Iterator[Trigger]:
    predicate = predicates.on_entries(changed)
    for kind in kinds:
        yield mapped(kind, _linked(memory, kind, requests.resource), predicate)


def _linked(memory: AppMemory, issuer: Resource, requests: Resource) -> Mapper:
    return lambda entry: memory.linked(requests, IssuerKey(issuer, entry.key))


def _users(memory: AppMemory, kind: Resource) -> Mapper:
    return lambda entry: memory.users_of(kind, entry.key)


def kebab(kind: str) -> str:
    """Return a kind in small letters: ``CAIssuer`` is ``ca-issuer``."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", kind).lower()
    return words[:40].rstrip("-")
