"""Does this certificate fit this request? Every difference has a name.

Nothing here decides whether a difference matters: an issuer refuses all of them, a
conformance test forgives what a certificate authority declared not to support.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.x509.oid import NameOID

from certwright.pki.certificates import (
    BACKDATING,
    Validity,
    alternative_names,
    has_strong_signature,
    is_authority,
    public_key_of,
    read_certificates,
    usages_of,
)
from certwright.pki.chains import is_self_signed, order_chain
from certwright.pki.constraints import normal_name
from certwright.pki.errors import (
    BrokenChain,
    CertificateRefused,
    UnsupportedKey,
    Violation,
    listed,
    quoted,
)
from certwright.pki.keys import PrivateKey, PublicKey, accepted_public_key, public_key_bytes
from certwright.pki.names import common_name, format_name
from certwright.pki.pem import CHAIN_LIMIT, read_blocks
from certwright.pki.requests import RequestTerms, SigningRequest

_TOLERANCE = timedelta(seconds=30)
_IMPLIED = frozenset({"key agreement"})  # some authorities add it for elliptic keys, harmlessly


def certificate_violations(
    certificate: x509.Certificate,
    request: SigningRequest,
    terms: RequestTerms,
    now: datetime,
    *,
    backdating: timedelta = BACKDATING,
) -> list[Violation]:
    """Return every way in which a certificate fails to answer its request; empty is good.

    ``KeyMismatch``, ``Expired``, ``NotYetValid``, ``CaMismatch``, ``SubjectMismatch``,
    ``MissingName``, ``ExtraName``, ``MissingUsage``, ``ExtraUsage``, ``DurationMismatch``,
    ``WeakSignature``. The common name may be repeated among the DNS names; a subject
    without one may be given one of the alternative names; usages that the key cannot
    serve may be missing; the lifetime may differ by 30 s, and be longer by *backdating*.
    """
    return [
        *_key_violations(certificate, request.public_key),
        *_time_violations(certificate, terms, now, backdating),
        *_kind_violations(certificate, terms),
        *_subject_violations(certificate, request),
        *_name_violations(certificate, request),
        *_usage_violations(certificate, request, terms),
    ]


def check_certificate(
    certificate: x509.Certificate, request: SigningRequest, terms: RequestTerms, now: datetime
) -> None:
    """Raise `CertificateRefused` if `certificate_violations` finds something."""
    if found := certificate_violations(certificate, request, terms, now):
        raise CertificateRefused(found)


def check_key_pair(certificate: x509.Certificate, key: PrivateKey) -> None:
    """Raise `CertificateRefused` (``KeyMismatch``) if a certificate was made for another key."""
    if found := _key_violations(certificate, accepted_public_key(key.public_key())):
        raise CertificateRefused(found)


def chain_violations(certificates: Sequence[x509.Certificate]) -> list[Violation]:
    """Return what is wrong with a chain as it was delivered: leaf first, no root, no gap.

    ``RepeatedCertificate``, ``BrokenChain``, ``WrongOrder``, ``RootInChain``. A single
    self-signed certificate is a good chain.
    """
    found: list[Violation] = []
    if len(set(certificates)) != len(certificates):
        found.append(Violation("RepeatedCertificate", "the chain holds a certificate twice"))
    try:
        ordered = order_chain(certificates)
    except BrokenChain as error:
        return [*found, Violation("BrokenChain", str(error))]
    roots = [one for one in certificates if is_self_signed(one)]
    if roots and len(set(certificates)) > 1:
        subject = format_name(roots[0].subject)
        found.append(Violation("RootInChain", f"the chain holds the root {quoted(subject)}"))
    delivered = [one for one in dict.fromkeys(certificates) if one in ordered.certificates]
    if delivered != list(ordered.certificates):
        found.append(Violation("WrongOrder", "the chain is not ordered from the leaf upwards"))
    return found


def delivered_violations(data: bytes | str) -> list[Violation]:
    """Return what is wrong with a chain as PEM text: as `chain_violations`, and what text adds.

    Repeated certificates are seen, which reading drops, and ``ForeignBlock``: a PEM block that is
    not a CERTIFICATE, over which Go's readers stumble. Raises as `read_certificates`.
    """
    found = chain_violations(read_certificates(data))
    blocks = read_blocks(data, limit=CHAIN_LIMIT)
    if foreign := sorted({block.label for block in blocks} - {"CERTIFICATE"}):
        message = f"beside certificates there are PEM blocks of another kind: {listed(foreign)}"
        found.append(Violation("ForeignBlock", message))
    ders = [block.der for block in blocks]
    if len(set(ders)) != len(ders):
        found.append(Violation("RepeatedCertificate", "the chain holds a certificate twice"))
    return found


def _key_violations(certificate: x509.Certificate, expected: PublicKey) -> list[Violation]:
    try:
        held = public_key_bytes(public_key_of(certificate))
    except UnsupportedKey as error:
        return [Violation("KeyMismatch", str(error))]
    if held == public_key_bytes(expected):
        return []
    return [Violation("KeyMismatch", "the certificate was made for another key")]


def _time_violations(
    certificate: x509.Certificate, terms: RequestTerms, now: datetime, backdating: timedelta
) -> list[Violation]:
    validity = Validity.of(certificate)
    found: list[Violation] = []
    if now > validity.not_after:
        found.append(Violation("Expired", f"it expired at {validity.not_after.isoformat()}"))
    if now < validity.not_before:
        found.append(Violation("NotYetValid", f"valid from {validity.not_before.isoformat()}"))
    shortest, longest = terms.lifetime - _TOLERANCE, terms.lifetime + backdating + _TOLERANCE
    if not shortest <= validity.lifetime <= longest:
        message = f"it is valid for {validity.lifetime} instead of {terms.lifetime}"
        found.append(Violation("DurationMismatch", message))
    return found


def _kind_violations(certificate: x509.Certificate, terms: RequestTerms) -> list[Violation]:
    found: list[Violation] = []
    if is_authority(certificate) != terms.is_ca:
        asked = "" if terms.is_ca else "no "
        found.append(Violation("CaMismatch", f"{asked}certificate authority was asked for"))
    if not has_strong_signature(certificate):
        found.append(Violation("WeakSignature", "its signature rests on a weak hash"))
    return found


def _subject_violations(certificate: x509.Certificate, request: SigningRequest) -> list[Violation]:
    asked, given = request.subject, certificate.subject
    if normal_name(asked) == normal_name(given):
        return []
    if not common_name(asked) and f"DNS:{common_name(given).lower()}" in request.names.as_set():
        given = x509.Name(
            [attribute for attribute in given if attribute.oid != NameOID.COMMON_NAME]
        )
        if normal_name(asked) == normal_name(given):
            return []
    message = (
        f"the subject is {quoted(format_name(certificate.subject))}"
        f" instead of {quoted(format_name(asked))}"
    )
    return [Violation("SubjectMismatch", message)]


def _name_violations(certificate: x509.Certificate, request: SigningRequest) -> list[Violation]:
    asked, given = request.names.as_set(), alternative_names(certificate).as_set()
    found: list[Violation] = []
    if missing := sorted(asked - given):
        found.append(Violation("MissingName", f"names are missing: {listed(missing)}"))
    copied = f"DNS:{common_name(request.subject).lower()}"
    if extra := sorted(given - asked - {copied}):
        found.append(Violation("ExtraName", f"names were not asked for: {listed(extra)}"))
    return found


def _usage_violations(
    certificate: x509.Certificate, request: SigningRequest, terms: RequestTerms
) -> list[Violation]:
    given, asked = usages_of(certificate), terms.usages
    fitting = asked.fitting(request.public_key, is_ca=terms.is_ca)
    missing = [*sorted(fitting.key - given.key), *_beyond(fitting.extended, given.extended)]
    extra = [*sorted(given.key - asked.key - _IMPLIED), *_beyond(given.extended, asked.extended)]
    found: list[Violation] = []
    if missing:
        found.append(Violation("MissingUsage", f"usages are missing: {listed(missing)}"))
    if extra:
        found.append(Violation("ExtraUsage", f"usages were not asked for: {listed(extra)}"))
    return found


def _beyond(
    these: Sequence[x509.ObjectIdentifier], those: Sequence[x509.ObjectIdentifier]
) -> list[str]:
    return sorted(oid.dotted_string for oid in set(these) - set(those))
