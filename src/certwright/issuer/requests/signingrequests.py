"""Kubernetes' own signing requests: how they are read, and what they ask for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from certwright import pki
from certwright.api.certificates import (
    DURATION_ANNOTATION,
    IS_CA_ANNOTATION,
    SHORTEST_SECONDS,
    CertificateSigningRequest,
)
from certwright.issuer.conditions import (
    DENIED,
    FAILED,
    FORBIDDEN_ON_SIGNING_REQUESTS,
)
from certwright.issuer.requests.certificaterequests import DEFAULT_LIFETIME
from certwright.issuer.requests.desk import Asked, TermsError, own_conditions
from certwright.issuer.requests.match import IssuerAt, match_signer
from certwright.issuer.requests.outcomes import Change, Waiting
from certwright.issuer.requests.phase import Gate, gate_signing_request
from certwright.issuer.requests.signingstatus import SigningSaid, SigningScribe
from certwright.issuer.sign.verdicts import Verdict
from certwright.kube import Condition, Resource
from certwright.kube.durations import parse_duration
from certwright.runtime import Entry


@dataclass(frozen=True, slots=True)
class SigningRequests:
    """The desk for CertificateSigningRequests."""

    kinds: Sequence[Resource]
    scribe: SigningScribe
    field_owner: str
    namespaced: bool = False
    resource: ClassVar[Resource] = CertificateSigningRequest.resource
    forbidden: ClassVar[frozenset[str]] = FORBIDDEN_ON_SIGNING_REQUESTS

    def read(self, entry: Entry) -> Asked:
        """Read a request from its store."""
        typed = entry.as_(CertificateSigningRequest)
        own = own_conditions(entry, self.field_owner)
        conditions = tuple(
            Condition(
                type=one.type,
                status=one.status,
                reason=one.reason,
                message=one.message,
                last_transition_time=one.last_transition_time,
            )
            for one in typed.status.conditions
        )
        said = SigningSaid(tuple(typed.status.conditions), own)
        return Asked(typed.metadata, conditions, typed, said)

    def match(self, asked: Asked) -> IssuerAt:
        """Find the issuer by the signer's name."""
        name = asked.typed.spec.signer_name
        return match_signer(name, self.kinds, namespaced=self.namespaced)

    def gate(self, asked: Asked) -> Gate:
        """Judge what the request is ready for."""
        return gate_signing_request(
            asked.typed.status.conditions,
            has_certificate=bool(asked.typed.status.certificate),
            is_deleting=asked.metadata.deletion_timestamp is not None,
        )

    def is_final(self, asked: Asked) -> bool:
        """Whether it is settled, one way or the other."""
        ended = any(one.type in {FAILED, DENIED} for one in asked.conditions)
        return ended or self.is_issued(asked)

    def is_issued(self, asked: Asked) -> bool:
        """Whether it has a certificate."""
        return bool(asked.typed.status.certificate)

    def terms(self, asked: Asked) -> pki.RequestTerms:
        """Read lifetime, usages and whether an authority is asked for."""
        return signing_terms(asked.typed)

    def initialize(self, asked: Asked, now: datetime) -> Change:  # noqa: ARG002
        """Say nothing: these requests have no Ready condition."""
        return Change()

    def deny(self, asked: Asked, now: datetime) -> Change:  # noqa: ARG002
        """Say nothing: the request says it itself."""
        return Change()

    def wait(self, asked: Asked, why: Waiting, now: datetime) -> Change:  # noqa: ARG002
        """Tell that it waits for its issuer."""
        return self.scribe.wait(asked.said, why)

    def settle(self, asked: Asked, verdict: Verdict, now: datetime) -> Change:
        """Say how an attempt to sign ended."""
        return self.scribe.settle(asked.said, verdict, now)


def signing_terms(request: CertificateSigningRequest) -> pki.RequestTerms:
    """Read what a signing request asks for beside its encoded part.

    The annotation decides about the duration where both speak. Unlike cert-manager's kind,
    ``is-ca`` adds no usage.

    Raises:
        TermsError: the duration is none, or shorter than ten minutes.
        pki.UnknownUsage: a usage is none.
    """
    spec, annotations = request.spec, request.metadata.annotations
    lifetime = DEFAULT_LIFETIME
    if spec.expiration_seconds is not None:
        lifetime = timedelta(seconds=spec.expiration_seconds)
    text = annotations.get(DURATION_ANNOTATION)
    if text is not None:
        try:
            lifetime = parse_duration(text)
        except ValueError as error:
            message = f"annotation {DURATION_ANNOTATION}: {error}"
            raise TermsError("ErrorParseDuration", message) from error
    if lifetime < timedelta(seconds=SHORTEST_SECONDS):
        message = f"a duration of {lifetime.total_seconds():g}s is shorter than {SHORTEST_SECONDS}s"
        raise TermsError("InvalidDuration", message)
    usages = pki.parse_usages(spec.usages) if spec.usages else pki.DEFAULT_USAGES
    return pki.RequestTerms(lifetime, annotations.get(IS_CA_ANNOTATION) == "true", usages)
