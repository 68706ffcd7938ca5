"""Makes requests, approves or denies them, and watches their versions."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import Final

from certwright import pki
from certwright.api.certmanager import CertificateRequest, IssuerRef
from certwright.client import ConnectionLost, Selection, WatchOptions
from certwright.client.responses import to_event
from certwright.issuer.conformance.cases.case import Case
from certwright.issuer.conformance.cases.objects import (
    ANNOTATIONS,
    APPROVAL_REASON,
    CaseRequest,
    certificate_request,
    key_secret,
    make_case_request,
    signing_request,
    with_key_secret,
)
from certwright.issuer.conformance.undertest import IssuerUnderTest
from certwright.issuer.conformance.violations import is_issued, is_refused
from certwright.kube import (
    ApiError,
    Conflict,
    Forbidden,
    JsonObject,
    Key,
    NotFound,
    Resource,
    find_condition,
    format_time,
    is_true,
    key_of,
    kinds,
    resource_of,
)
from certwright.kube.conditions import conditions_of
from certwright.pki import Violation

_REQUESTS: Final[dict[str, Resource]] = {
    "CertificateRequest": resource_of(CertificateRequest),
    "CertificateSigningRequest": kinds.CertificateSigningRequest,
}
_ATTEMPTS: Final = 10
REPAIRS: Final = frozenset({"ForeignBlock", "RepeatedCertificate", "RootInChain", "WrongOrder"})
"""Violations of chains that the issuer library repairs; its Events have these reasons."""
_APPROVERS: Final = {"CertificateRequest": "status", "CertificateSigningRequest": "approval"}


class RequestDeleted(Exception):
    """A request was deleted, and not by the kit."""


@dataclass(slots=True)
class ObservedRequest:
    """A request that was made, and every version of it that was seen."""

    asked: CaseRequest
    resource: Resource
    key: Key
    versions: list[JsonObject] = field(default_factory=list)

    @property
    def last(self) -> JsonObject:
        """The request as it was seen last."""
        return self.versions[-1]


class Requester:
    """Makes requests to one issuer, one or many at a time."""

    def __init__(self, subject: IssuerUnderTest) -> None:
        self.subject = subject
        self._client = subject.client

    @asynccontextmanager
    async def make(
        self, case: Case, *, issuer: IssuerRef | None = None, signer: str = ""
    ) -> AsyncIterator[ObservedRequest]:
        """Make the request of a case; it is deleted in the end."""
        async with self.make_of(
            make_case_request(case, _key_of(case.key)), issuer=issuer, signer=signer
        ) as made:
            yield made

    @asynccontextmanager
    async def make_of(
        self, asked: CaseRequest, *, issuer: IssuerRef | None = None, signer: str = ""
    ) -> AsyncIterator[ObservedRequest]:
        """Make a request with a signing request of the caller's own."""
        case = asked.case
        if case.suite == "CertificateRequest":
            reference = issuer or self.subject.reference
            manifest = certificate_request(case, asked.csr, reference, self.subject.namespace)
        else:
            manifest = signing_request(case, asked.csr, signer or self.subject.signer)
        async with self.make_from(asked, manifest) as made:
            yield made

    @asynccontextmanager
    async def make_from(
        self, asked: CaseRequest, manifest: JsonObject
    ) -> AsyncIterator[ObservedRequest]:
        """Make a request from a manifest."""
        async with contextlib.AsyncExitStack() as stack:
            if self.subject.key_secrets and asked.case.suite == "CertificateRequest":
                secret = await stack.enter_async_context(self._created(key_secret(asked, manifest)))
                manifest = with_key_secret(manifest, secret["metadata"]["name"])
            created = await stack.enter_async_context(self._created(manifest))
            yield ObservedRequest(asked, _REQUESTS[asked.case.suite], key_of(created), [created])

    @asynccontextmanager
    async def _created(self, manifest: JsonObject) -> AsyncIterator[JsonObject]:
        """Create an object for a while."""
        created = await self._client.create(manifest)
        try:
            yield created
        finally:
            resource = kinds.Secret if created["kind"] == "Secret" else _REQUESTS[created["kind"]]
            with contextlib.suppress(NotFound):  # deleted by a clean-up of the cluster
                await self._client.delete(resource, key_of(created))

    async def approve(self, made: ObservedRequest) -> None:
        """Approve a request, unless it is approved or denied already."""
        await self._decide(made, "Approved")

    async def deny(self, made: ObservedRequest) -> bool:
        """Deny a request; return False if it was approved before."""
        await self._decide(made, "Denied")
        return not is_true(conditions_of(await self._read(made)), "Approved")

    async def annotate(self, made: ObservedRequest, text: str) -> None:
        """Change an annotation that means nothing."""
        patch = {"metadata": {"annotations": {f"{ANNOTATIONS}poke": text}}}
        await self._client.patch(made.resource, made.key, patch)

    async def add_condition(self, made: ObservedRequest, condition: JsonObject) -> None:
        """Add a condition beside those that are there."""
        subresource = _APPROVERS[made.resource.kind]
        for attempt in range(_ATTEMPTS):
            current = await self._read(made)
            status = current.get("status") or {}
            held = status.get("conditions") or []
            current["status"] = {**status, "conditions": [*held, condition]}
            try:
                await self._client.update(current, subresource=subresource)
            except Conflict:
                if attempt == _ATTEMPTS - 1:
                    raise
            else:
                return

    async def answer(self, made: ObservedRequest) -> JsonObject:
        """Watch a request until it is answered or time is up, and a moment longer."""
        await self.watch(made, self.subject.patience, until=_is_answered)
        await self.watch(made, self.subject.glance / 10)
        return made.last

    async def repairs(self, made: ObservedRequest) -> list[Violation]:
        """Return what the issuer put right in the chain of its authority, as its Events tell.

        The issuer library writes them; without the right to read Events nothing is known.
        """
        about = f"involvedObject.uid={made.last['metadata']['uid']}"
        space = made.key.namespace or "default"
        try:
            events = (await self._client.list(kinds.CoreEvent, space, fields=about)).items
        except Forbidden:
            return []
        told = {one["reason"]: one.get("message", "") for one in events}
        return [Violation(name, told[name]) for name in sorted(REPAIRS & set(told))]

    async def watch(
        self,
        made: ObservedRequest,
        time: timedelta,
        until: Callable[[JsonObject], bool] = lambda _request: False,
    ) -> bool:
        """Collect the versions of a request until one is as wanted; return whether one was."""
        try:
            async with asyncio.timeout(time.total_seconds()):
                while not until(made.last):
                    await self._follow(made, until)
        except TimeoutError:
            return False
        return True

    async def _follow(self, made: ObservedRequest, until: Callable[[JsonObject], bool]) -> None:
        """Watch from the last version on, until it is as wanted or the watch ends."""
        selection = Selection(made.key.namespace, fields=f"metadata.name={made.key.name}")
        options = WatchOptions(made.last["metadata"]["resourceVersion"], bookmarks=False)
        try:
            async with self._client.watch(made.resource, selection, options) as batches:
                async for lines in batches:
                    for line in lines:
                        event = to_event(line)
                        if event["type"] == "DELETED":
                            raise RequestDeleted("the request was deleted before its end")
                        if event["type"] != "MODIFIED":
                            raise ConnectionLost(f"the watch sent {event['type']}")
                        made.versions.append(event["object"])
                        if until(event["object"]):
                            return
        except (ConnectionLost, ApiError):
            await asyncio.sleep(0.1)
            made.versions.append(await self._read(made))

    async def _read(self, made: ObservedRequest) -> JsonObject:
        return await self._client.get(made.resource, made.key)

    async def _decide(self, made: ObservedRequest, decision: str) -> None:
        now = format_time(self.subject.clock.now())
        condition = {
            "type": decision,
            "status": "True",
            "reason": APPROVAL_REASON,
            "message": "by the conformance kit",
            "lastTransitionTime": now,
        }
        if made.resource.kind == "CertificateSigningRequest":
            condition["lastUpdateTime"] = now
        try:
            if not _is_decided(await self._read(made)):
                await self.add_condition(made, condition)
        except ApiError:
            if not _is_decided(await self._read(made)):
                raise


def _is_decided(request: JsonObject) -> bool:
    conditions = conditions_of(request)
    return any(find_condition(conditions, decision) for decision in ("Approved", "Denied"))


def _is_answered(request: JsonObject) -> bool:
    return is_issued(request) or is_refused(request)


@lru_cache(maxsize=8)
def _key_of(spec: pki.KeySpec) -> pki.PrivateKey:
    """Return a key; each kind is made once, because RSA keys take long."""
    return pki.generate_key(spec)
