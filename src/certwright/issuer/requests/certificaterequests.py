"""cert-manager's CertificateRequests: how they are read, and what they ask for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import ClassVar

from certwright import pki
from certwright.api.certmanager import CertificateRequest
from certwright.issuer.conditions import FORBIDDEN_ON_REQUESTS, READY
from certwright.issuer.requests.desk import Asked, TermsError, own_conditions
from certwright.issuer.requests.match import IssuerAt, match_reference
from certwright.issuer.requests.outcomes import Change, Compat, Waiting
from certwright.issuer.requests.phase import Gate, gate_request, is_settled
from certwright.issuer.requests.requeststatus import RequestScribe, Said
from certwright.issuer.sign.verdicts import Verdict
from certwright.kube import Resource, find_condition
from certwright.kube.durations import parse_duration
from certwright.runtime import Entry

DEFAULT_LIFETIME = timedelta(hours=2160)


@dataclass(frozen=True, slots=True)
class CertificateRequests:
    """The desk for CertificateRequests."""

    kinds: Sequence[Resource]
    scribe: RequestScribe
    compat: Compat = "v1"
    resource: ClassVar[Resource] = CertificateRequest.resource
    forbidden: ClassVar[frozenset[str]] = FORBIDDEN_ON_REQUESTS

    def read(self, entry: Entry) -> Asked:
        """Read a request from its store."""
        typed = entry.as_(CertificateRequest)
        conditions = tuple(typed.status.conditions)
        said = Said(conditions, own_conditions(entry, self.scribe.field_owner))
        return Asked(typed.metadata, conditions, typed, said)

    def match(self, asked: Asked) -> IssuerAt:
        """Find the issuer by reference."""
        return match_reference(asked.typed.spec.issuer_ref, asked.metadata.namespace, self.kinds)

    def gate(self, asked: Asked) -> Gate:
        """Judge what the request is ready for."""
        deleting = asked.metadata.deletion_timestamp is not None
        return gate_request(asked.conditions, is_deleting=deleting, compat=self.compat)

    def is_final(self, asked: Asked) -> bool:
        """Whether it is settled, one way or the other."""
        return is_settled(find_condition(asked.conditions, READY))

    def is_issued(self, asked: Asked) -> bool:
        """Whether it has a certificate."""
        return bool(asked.typed.status.certificate)

    def terms(self, asked: Asked) -> pki.RequestTerms:
        """Read lifetime, usages and whether an authority is asked for."""
        return request_terms(asked.typed)

    def initialize(self, asked: Asked, now: datetime) -> Change:
        """Say that it was seen."""
        return self.scribe.initialize(asked.said, now)

    def deny(self, asked: Asked, now: datetime) -> Change:
        """Say that it is denied."""
        return self.scribe.deny(asked.said, now)

    def wait(self, asked: Asked, why: Waiting, now: datetime) -> Change:
        """Say that it waits for its issuer."""
        return self.scribe.wait(asked.said, why, now)

    def settle(self, asked: Asked, verdict: Verdict, now: datetime) -> Change:
        """Say how an attempt to sign ended."""
        return self.scribe.settle(asked.said, verdict, now)


def request_terms(request: CertificateRequest) -> pki.RequestTerms:
    """Read what a CertificateRequest asks for beside its signing request.

    An authority's certificate may sign certificates, whether the usages say so or not.

    Raises:
        TermsError: the duration is none, or not positive.
        pki.UnknownUsage: a usage is none.
    """
    spec = request.spec
    return _terms(tuple(spec.usages), spec.duration or "", spec.is_ca)


@lru_cache(maxsize=8)  # most requests ask for the same; few, as a hostile one may be a megabyte
def _terms(words: tuple[str, ...], duration: str, is_ca: bool) -> pki.RequestTerms:  # noqa: FBT001
    usages = pki.parse_usages(words) if words else pki.DEFAULT_USAGES
    if is_ca:
        usages = pki.Usages(usages.key | {"cert sign"}, usages.extended)
    lifetime = DEFAULT_LIFETIME
    if duration:
        try:
            lifetime = parse_duration(duration)
        except ValueError as error:
            raise TermsError("ErrorParseDuration", f"spec.duration: {error}") from error
        if lifetime <= timedelta():
            raise TermsError("InvalidDuration", f"spec.duration: {duration} is not positive")
    return pki.RequestTerms(lifetime, is_ca, usages)
