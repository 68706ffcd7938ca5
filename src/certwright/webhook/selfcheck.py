"""Readiness that was seen: a dry run through the API server that reached a server of ours.

The registration has one more webhook, which matches nothing but Leases with a label of this
check. A dry run creates one; the webhook denies it and says which certificate the connection had.
The other webhooks of the server let such dry runs pass. So the whole way is tried, as for a real
request: configuration, authority, Service, name and certificate. If it fails, the API server says
why. Nothing is ever stored.

With several replicas another one may answer; it has the same certificate, or the check is
repeated.
"""

import asyncio
import secrets
from collections.abc import Iterator
from typing import Final

import msgspec
import structlog
from msgspec import Struct

from certwright.client import Client, TransportError
from certwright.kube import ApiError, BadRequest, JsonObject
from certwright.kube.errors import Cause
from certwright.kube.kinds import Lease
from certwright.kube.reviews.admission import (
    AdmissionReview,
    read_admission_review,
    write_admission_review,
)
from certwright.runtime import Backoff
from certwright.runtime.queue.backoff import Rng
from certwright.runtime.serve.health import Check
from certwright.tls.server import ServingCertificate
from certwright.webhook.configuration import Registration
from certwright.webhook.decisions import Deny, respond
from certwright.webhook.declaration import AdmissionHandler, intercept
from certwright.webhook.endpoints import Answer

LABEL: Final = "webhook.certwright.dev/self-check"
NONCE: Final = "webhook.certwright.dev/nonce"
REACHED: Final = "WebhookReached"
"""The reason of the denial, and of its cause: the nonce and the fingerprint."""

_log = structlog.get_logger()


def self_check_webhook(registration: Registration) -> AdmissionHandler:
    """Return the webhook that only the check itself calls."""

    def never(_request: object) -> Deny:
        raise AssertionError("answered by SelfCheck.answer")

    return AdmissionHandler(
        f"self-check.{registration.name}.webhook.certwright.dev",
        never,
        [intercept(Lease, "CREATE")],
        path="/self-check",
        namespace_selector={
            "matchLabels": {"kubernetes.io/metadata.name": registration.self_check}
        },
        object_selector={"matchLabels": {LABEL: registration.name}},
    )


def _labelled(label: str, value: str) -> JsonObject:
    return {"matchLabels": {label: value}}


class SelfCheck:
    """Asks until the certificate in use was seen by the API server; answers such questions."""

    def __init__(
        self, registration: Registration, client: Client, certificate: ServingCertificate, rng: Rng
    ) -> None:
        self.webhook = self_check_webhook(registration)
        self.path = self.webhook.path
        self._registration = registration
        self._client = client
        self._certificate = certificate
        self._backoff = Backoff(base_seconds=0.2, cap_seconds=10.0, rng=rng)
        self._changed = asyncio.Event()
        self.verified = ""
        """The fingerprint that was seen last."""
        self.problem = "the API server was not asked yet"
        certificate.listen(self._changed.set)

    def readiness(self) -> Iterator[Check]:
        """Yield whether the API server has reached a server with the certificate in use."""
        detail = f"certificate {self.verified[:16]}" if self.verified else "never"
        yield Check("webhook self-check", self.problem, f"reached with: {detail}")

    async def run(self) -> None:
        """Run until cancelled."""
        failures = 0
        while True:
            self._changed.clear()
            pair = self._certificate.pair
            if pair is None or pair.fingerprint == self.verified:
                await self._changed.wait()
                continue
            if await self._ask(pair.fingerprint):
                failures = 0
                continue
            failures += 1
            await asyncio.sleep(self._backoff.delay(failures))

    async def _ask(self, fingerprint: str) -> bool:
        """Send one dry run; return whether it came back as it should."""
        nonce = secrets.token_hex(8)
        try:
            await self._client.create(self._object(nonce), dry_run=True)
            problem = "the API server does not call the webhook yet"
        except TransportError as error:
            # The API server is away, which says nothing about the webhook.
            problem = self.problem if self.verified else f"the API server did not answer: {error}"
        except ApiError as error:
            problem = refusal_problem(error, nonce, fingerprint)
        if problem and problem != self.problem:
            _log.warning("webhook self-check failed", error=problem)
        self.problem = problem
        if not problem:
            self.verified = fingerprint
            _log.info("webhook self-check passed", fingerprint=fingerprint)
        return not problem

    def _object(self, nonce: str) -> JsonObject:
        metadata = {
            "name": f"webhook-self-check-{nonce}",
            "namespace": self._registration.self_check,
            "labels": {LABEL: self._registration.name},
            "annotations": {NONCE: nonce},
        }
        return {"apiVersion": Lease.api_version, "kind": Lease.kind, "metadata": metadata}

    @staticmethod
    def concerns(request: AdmissionReview) -> bool:
        """Return whether a request is that of a check, so that other webhooks let it pass.

        Only dry runs are: a label that any user can set must not lead past a webhook.
        """
        return bool(request.dry_run) and request.kind.kind == Lease.kind and _is_check(request)

    async def answer(self, body: bytes, certificate: str) -> Answer:
        """Answer the review of a check, whichever replica sent it: deny, and say what was seen."""
        request = read_admission_review(body)
        nonce = _metadata(request).annotations.get(NONCE, "")
        denied = Deny(
            "the webhook was reached; nothing is stored",
            reason=REACHED,
            causes=[Cause(REACHED, certificate, nonce[:64])],
        )
        response = respond(request, denied, mutating=False)
        return Answer(write_admission_review(response), "denied")


class _Metadata(Struct):
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class _Asked(Struct):
    metadata: _Metadata


def _metadata(request: AdmissionReview) -> _Metadata:
    try:
        return msgspec.json.decode(request.raw_object, type=_Asked).metadata
    except msgspec.MsgspecError as error:
        raise BadRequest(f"self-check: {error}") from None


def _is_check(request: AdmissionReview) -> bool:
    try:
        return LABEL in _metadata(request).labels
    except BadRequest:
        return False


def refusal_problem(error: ApiError, nonce: str, fingerprint: str) -> str:
    """Return what a refusal says about the way to the webhook; empty if it was reached."""
    if error.status_reason != REACHED:
        return f"the dry run was refused: {error.message}"
    for cause in error.causes:
        if (cause.reason, cause.field) == (REACHED, nonce):
            if cause.message == fingerprint:
                return ""
            return "the webhook was reached with another certificate"
    return "another webhook answered the self-check"
