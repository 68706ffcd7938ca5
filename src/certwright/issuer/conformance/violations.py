"""Compares an answer with its request; every difference is a named violation. Pure.

To the names of `pki.certificate_violations`, `pki.matches.delivered_violations` and
`details.detail_violations` come: ``NotAnswered``, ``NotIssued``, ``Unparsable``, ``MissingCA``,
``CANotRoot``, ``Untrusted``, ``LiteralSubjectMismatch``.
"""

import base64
import binascii
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from certwright import pki
from certwright.issuer.conformance.cases.features import Feature
from certwright.issuer.conformance.cases.objects import CaseRequest
from certwright.issuer.conformance.details import detail_violations, fair_terms
from certwright.kube import JsonObject, find_condition
from certwright.kube.conditions import conditions_of
from certwright.pki import Violation
from certwright.pki.chains import is_self_signed
from certwright.pki.matches import delivered_violations
from certwright.pki.names import common_name


def answer_violations(
    asked: CaseRequest, answer: JsonObject, unsupported: Collection[Feature], now: datetime
) -> list[Violation]:
    """Return what is wrong with the answer to a request, but for features declared unsupported."""
    forgiven = frozenset(name for feature in unsupported for name in feature.forgives)
    if found := unanswered(answer):
        return [found]
    delivered = certificate_of(answer)
    try:
        chain = pki.read_certificates(delivered)
    except pki.PkiError as error:
        return [Violation("Unparsable", f"the certificate cannot be read: {error}")]
    leaf, ca = chain[0], _bytes_of(answer, "ca")
    terms = fair_terms(asked, leaf)
    found_all = [
        *pki.certificate_violations(leaf, asked.request, terms, now, backdating=timedelta()),
        *_literal_violations(asked, leaf),
        *detail_violations(asked, chain, _readable(ca)),
        *delivered_violations(delivered),
    ]
    if asked.case.suite == "CertificateRequest":
        found_all += _trust_violations(chain, ca, now)
    return [
        one for one in found_all if one.name not in forgiven and not _is_excused(one, asked, leaf)
    ]


def unanswered(answer: JsonObject) -> Violation | None:
    """Return why a request has no certificate; None if it has one."""
    state = [
        f"{one.type}={one.status} {one.reason}: {one.message}" for one in conditions_of(answer)
    ]
    said = "; ".join(state) or "it has no conditions"
    if is_refused(answer):
        return Violation("NotIssued", f"the request was refused: {said}")
    if is_issued(answer):
        return None
    return Violation("NotAnswered", f"there is no answer: {said}")


def is_issued(request: JsonObject) -> bool:
    """Return whether a request has its certificate, and a CertificateRequest Ready=True too."""
    if not certificate_of(request):
        return False
    if request["kind"] == "CertificateSigningRequest":
        return True
    ready = find_condition(conditions_of(request), "Ready")
    return ready is not None and ready.status == "True"


def is_refused(request: JsonObject) -> bool:
    """Return whether a request will never have a certificate."""
    conditions = conditions_of(request)
    if request["kind"] == "CertificateSigningRequest":
        return find_condition(conditions, "Failed") is not None
    ready = find_condition(conditions, "Ready")
    return ready is not None and ready.status == "False" and ready.reason in {"Failed", "Denied"}


def certificate_of(request: JsonObject) -> bytes:
    """Return the certificate a request was answered with, or nothing."""
    return _bytes_of(request, "certificate")


def _bytes_of(request: JsonObject, name: str) -> bytes:
    status: dict[str, Any] = request.get("status") or {}
    try:
        return base64.b64decode(status.get(name) or "", validate=True)
    except binascii.Error:  # a server that stores this does not type its fields
        return b"not base64"


def _literal_violations(asked: CaseRequest, leaf: Any) -> list[Violation]:
    """Compare a literal subject byte for byte: order and repetitions matter."""
    if not asked.case.subject:
        return []
    if leaf.subject.public_bytes() == asked.request.subject.public_bytes():
        return []
    said = f"the subject {pki.format_name(leaf.subject)!r} is not {asked.case.subject!r} as asked"
    return [Violation("LiteralSubjectMismatch", said)]


def _readable(pem: bytes) -> list[Any]:
    """Return the certificates of a text, none if it cannot be read; that is judged elsewhere."""
    try:
        return pki.read_certificates(pem)
    except pki.PkiError:
        return []


def _trust_violations(chain: list[Any], authority: bytes, now: datetime) -> list[Violation]:
    if not authority:
        return [Violation("MissingCA", "the certificate of the authority was not returned")]
    try:
        trusted = pki.read_certificates(authority)
    except pki.PkiError as error:
        return [Violation("Unparsable", f"the authority's certificate cannot be read: {error}")]
    found = []
    if not all(is_self_signed(one) for one in trusted):
        said = "the authority that was returned is not self-signed"
        found.append(Violation("CANotRoot", said))
    try:
        pki.verify_path(chain[0], roots=trusted, intermediates=chain[1:], now=now)
    except pki.PathRefused as error:
        said = f"the certificate does not lead to the authority that was returned: {error}"
        found.append(Violation("Untrusted", said))
    return found


def _is_excused(violation: Violation, asked: CaseRequest, leaf: Any) -> bool:
    """Return whether it is an added common name that is one of the requested names."""
    if violation.name != "SubjectMismatch" or asked.request.subject.rdns:
        return False
    given = common_name(leaf.subject)
    values = {name.partition(":")[2] for name in asked.request.names.as_set()}
    return len(leaf.subject.rdns) == 1 and given.lower() in values
