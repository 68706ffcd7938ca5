"""From an app's declaration to the controllers of one process."""

import asyncio
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from certwright.api.certificates import CertificateSigningRequest
from certwright.api.certmanager import CertificateRequest
from certwright.issuer.check.loop import IssuerLoop
from certwright.issuer.check.reader import IssuerReader, SecretReader
from certwright.issuer.requests.certificaterequests import CertificateRequests
from certwright.issuer.requests.desk import Desk
from certwright.issuer.requests.loop import RequestLoop
from certwright.issuer.requests.match import IssuerAt
from certwright.issuer.requests.outcomes import Compat
from certwright.issuer.requests.requeststatus import RequestScribe
from certwright.issuer.requests.signingrequests import SigningRequests
from certwright.issuer.requests.signingstatus import SigningScribe
from certwright.issuer.requests.transform import Slim
from certwright.issuer.run import predicates
from certwright.issuer.run.memory import Memory
from certwright.issuer.run.metrics import IssuerMetrics
from certwright.issuer.settings import Settings
from certwright.issuer.sign.calls import Author, call
from certwright.issuer.sign.sign import Signer
from certwright.issuer.sign.threads import Threads
from certwright.issuer.spec import SpecType
from certwright.kube import Object, Resource
from certwright.kube.kinds import Secret
from certwright.runtime import (
    Controller,
    Entry,
    OperatorHost,
    Part,
    Trigger,
    Watched,
    mapped,
    select,
)
from certwright.runtime.triggers import Mapper

S = TypeVar("S")

GRACE = timedelta(seconds=30)
"""What a reconcile may take beside the author's code."""
HOOK_LIMIT = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Lifetime:
    """The life of an app in a process: its hooks, and threads for what is not async."""

    author: Author[Any]
    memory: Memory
    threads: Threads

    async def run(self) -> None:
        """Start up, wait for the end, and shut down."""
        try:
            for hook in self.author.startup:
                await call(hook, limit=HOOK_LIMIT, threads=self.threads.run)
            self.memory.started.set()
            await asyncio.Event().wait()
        finally:
            for hook in self.author.shutdown:
                await call(hook, limit=HOOK_LIMIT, threads=self.threads.run)
            self.threads.close()


@dataclass(frozen=True, slots=True)
class Triggers:
    """Which changes wake whom."""

    issuer: predicates.Changed
    linked: predicates.Changed
    request: predicates.Changed
    signing_request: predicates.Changed

    @classmethod
    def of(cls, author: Author[Any], compat: Compat) -> "Triggers":
        """Return what an app wakes for: more, if its author tells what to ignore."""
        issuer: predicates.Changed = predicates.issuer_changed
        linked: predicates.Changed = predicates.readiness_changed
        if compat == "upstream":
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
    settings: Settings,
) -> Iterable[Part]:
    """Return the controllers of an app, with a memory of their own."""
    memory, metrics = Memory(kinds), IssuerMetrics(site.metrics)
    backoff = replace(settings.backoff, rng=site.rng)
    threads = Threads(settings.workers, partial(metrics.overdue, kinds[0].kind))
    namespace = settings.cluster_resource_namespace
    reader = IssuerReader(spec, SecretReader(), memory, author.issuer_type, namespace)
    signer = Signer(author, reader, settings, metrics, threads.run)
    secrets = _secrets(kinds, spec, namespace)
    triggers = Triggers.of(author, settings.compat)
    yield Lifetime(author, memory, threads)
    for kind in kinds:
        loop = IssuerLoop(
            kind, author, reader, settings, memory, metrics, threads.run, backoff, site.rng
        )
        yield Controller(
            kind,
            loop.reconcile,
            name=kebab(kind.kind),
            field_manager=settings.field_owner,
            watches=[mapped(one, _users(memory, kind)) for one in secrets],
            channels=[memory.channels[kind]],
            predicate=predicates.on_entries(triggers.issuer),
            workers=settings.workers,
            deadline=settings.check_timeout + GRACE,
        )
    for desk, watched in _desks(kinds, settings, memory):
        requests = RequestLoop(desk, signer, memory, backoff)
        is_cert_managers = desk.resource == CertificateRequest.resource
        changed = triggers.request if is_cert_managers else triggers.signing_request
        yield Controller(
            watched,
            requests.reconcile,
            name=f"{kebab(kinds[0].kind)}-{desk.resource.plural}"[:63],
            field_manager=settings.field_owner,
            watches=list(_links(kinds, memory, desk, triggers.linked)),
            reads=secrets,
            predicate=predicates.on_entries(changed),
            workers=settings.workers,
            deadline=settings.sign_timeout + settings.check_timeout * 2 + GRACE,
        )


def _desks(
    kinds: Sequence[Resource], settings: Settings, memory: Memory
) -> Iterator[tuple[Desk, Watched]]:
    group, compat = kinds[0].group, settings.compat
    if settings.certificate_requests:
        scribe = RequestScribe(
            field_owner=settings.field_owner, set_ca=settings.set_ca, compat=compat
        )
        desk: Desk = CertificateRequests(kinds, scribe, compat)
        yield desk, _open_requests(CertificateRequest, group, memory)
    if settings.kubernetes_csrs:
        desk = SigningRequests(
            kinds,
            SigningScribe(compat=compat),
            settings.field_owner,
            settings.namespaced_csrs,
        )
        yield desk, _open_requests(CertificateSigningRequest, group, memory)


def _open_requests(kind: type[Object], group: str, memory: Memory) -> Watched:
    """Watch the requests that may have to be signed; there are a thousand times as many others."""
    slim = Slim(group)

    def is_wanted(entry: Entry) -> bool:
        version = entry.meta.resource_version
        return slim.is_open(entry.raw) and not memory.is_settled(kind.resource, entry.key, version)

    return select(kind, transform=slim, keep=is_wanted)


def _secrets(kinds: Sequence[Resource], spec: SpecType[S], namespace: str) -> list[Watched]:
    """Return which Secrets are watched: names and versions, and only where issuers look."""
    if not spec.uses_secrets:
        return []
    everywhere = any(kind.namespaced for kind in kinds)
    return [select(Secret, namespace="" if everywhere else namespace, metadata_only=True)]


def _links(
    kinds: Sequence[Resource], memory: Memory, desk: Desk, changed: predicates.Changed
) -> Iterator[Trigger]:
    predicate = predicates.on_entries(changed)
    for kind in kinds:
        yield mapped(kind, _linked(memory, kind, desk.resource), predicate)


def _linked(memory: Memory, issuer: Resource, requests: Resource) -> Mapper:
    return lambda entry: memory.linked(requests, IssuerAt(issuer, entry.key))


def _users(memory: Memory, kind: Resource) -> Mapper:
    return lambda entry: memory.users_of(kind, entry.key)


def kebab(kind: str) -> str:
    """Return a kind in small letters: ``CAIssuer`` is ``ca-issuer``."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", kind).lower()
    return words[:40].rstrip("-")
