"""Whether a certificate is issued now, and why; pure."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from certwright import pki
from certwright.api.discoverydefaults import client_identity
from certwright.operators.discoveryservice.certificates.contents import (
    HeldContents,
    bundle_digest,
)
from certwright.operators.discoveryservice.certificates.profile import (
    CLIENT_AUTH,
    SERVER_AUTH,
    difference,
)
from certwright.operators.discoveryservice.certificates.schedule import Schedule
from certwright.operators.discoveryservice.certificates.wanted import WantedCertificate
from certwright.pki.certificates import Certificate, fingerprint, is_authority
from certwright.pki.chains import is_issued_by
from certwright.pki.pairs import CertifiedKey
from certwright.pki.rotation import RotationAction


class IssueCause(StrEnum):
    """Why a certificate is issued; a label of metrics."""

    FIRST = "SecretMissing"
    UNREADABLE = "SecretUnreadable"
    REPLACED = "CertificateReplaced"
    SPEC = "SpecChanged"
    EXPIRED = "CertificateExpired"
    NOT_YET_VALID = "CertificateNotYetValid"
    UNTRUSTED = "IssuerNotTrusted"
    ROTATED = "IssuerRotated"
    PROOF = "BundleDistributed"
    AGE = "CertificateAboutToExpire"
    REQUESTED = "RenewalRequested"


class IssuerFault(StrEnum):
    """Why an issuer cannot be used; a reason of the condition Ready."""

    MISSING = "IssuerNotFound"
    INVALID = "IssuerInvalid"
    EXPIRED = "IssuerExpired"
    NOT_YET_VALID = "IssuerNotYetValid"


class IssuerUnusable(Exception):
    """An authority that cannot sign; the message says why."""

    def __init__(self, fault: IssuerFault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class UsableIssuer:
    """An authority that can sign now, and what is trusted besides it."""

    pair: CertifiedKey
    bundle: tuple[Certificate, ...]
    ordered: RotationAction = RotationAction.NONE
    service: str = ""

    def identity(self, wanted: WantedCertificate) -> str:
        """Return the URI for a certificate; none if the authority is of no DiscoveryService."""
        return client_identity(self.service, wanted.key.namespace) if self.service else ""


def usable_issuer(contents: HeldContents, now: datetime) -> UsableIssuer:
    """Return an authority if it can sign now; `IssuerUnusable` if not."""
    pair = contents.pair
    if pair is None:
        raise IssuerUnusable(IssuerFault.INVALID, contents.problem)
    try:
        pair.authority()
    except pki.PkiError as error:
        raise IssuerUnusable(IssuerFault.INVALID, str(error)) from None
    validity = pair.validity
    if now > validity.not_after:
        raise IssuerUnusable(IssuerFault.EXPIRED, f"it expired at {validity.not_after:%FT%TZ}")
    if now < validity.not_before:
        raise IssuerUnusable(
            IssuerFault.NOT_YET_VALID, f"it is valid from {validity.not_before:%FT%TZ}"
        )
    named = [one for one in contents.bundle if is_authority(one)]
    bundle = named if pair.certificate in named else [pair.certificate, *named]
    return UsableIssuer(pair, tuple(bundle), contents.ordered, contents.service)


@dataclass(frozen=True, slots=True)
class Judged:
    """What a certificate that exists is worth."""

    cause: IssueCause | None
    """Why it is to be replaced, whatever its age; None if it is as it should be."""
    detail: str = ""
    usable: bool = False
    """Whether it works now all the same, until it is replaced."""


def judge(
    wanted: WantedCertificate,
    held: HeldContents,
    issuer: UsableIssuer | None,
    now: datetime,
) -> Judged:
    """Judge the certificate that a Secret holds, but for its age.

    *issuer* is None for a certificate that signs itself, and while there is no issuer: then it is
    judged by the authorities it came with.
    """
    pair = held.pair
    if pair is None:
        return Judged(IssueCause.UNREADABLE, held.problem)
    if held.issued and held.issued != pair.fingerprint:
        return Judged(IssueCause.REPLACED, "it is not the certificate that was issued")
    if (now < pair.validity.not_before) or (now > pair.validity.not_after):
        late = now > pair.validity.not_after
        return Judged(IssueCause.EXPIRED if late else IssueCause.NOT_YET_VALID)
    if (problem := _distrust(wanted, held, issuer, now)) is not None:
        return Judged(IssueCause.UNTRUSTED, problem)
    if field := _difference(wanted, pair, issuer):
        return Judged(IssueCause.SPEC, field, usable=True)
    cause = _order(wanted, held, issuer) if issuer is not None else None
    return Judged(cause, usable=True)


def is_now_due(
    wanted: WantedCertificate, schedule: Schedule, judged: Judged, now: datetime
) -> bool:
    """Return whether a certificate that is as it should be is to be renewed by its age."""
    return judged.cause is None and wanted.renewed and schedule.is_due(now)


def is_left_alone(wanted: WantedCertificate, cause: IssueCause) -> bool:
    """Return whether a certificate that is not renewed stays although there is a cause."""
    return not wanted.renewed and cause in {IssueCause.EXPIRED, IssueCause.NOT_YET_VALID}


def needs_bundle(held: HeldContents, issuer: UsableIssuer | None) -> bool:
    """Return whether the authorities beside a certificate are not those of its issuer."""
    if issuer is None:
        pair = held.pair
        return pair is not None and held.anchors != {pair.fingerprint}
    return bundle_digest(held.bundle) != bundle_digest(issuer.bundle)


def _distrust(
    wanted: WantedCertificate, held: HeldContents, issuer: UsableIssuer | None, now: datetime
) -> str | None:
    """Return why a certificate does not lead to an authority that is trusted."""
    assert held.pair is not None
    if wanted.issuer is None:
        return None  # it is its own authority, and was judged as that
    roots = issuer.bundle if issuer is not None else held.bundle
    usage = SERVER_AUTH if wanted.is_server else CLIENT_AUTH
    try:
        pki.verify_path(
            held.pair.certificate, roots=roots, intermediates=held.pair.chain, now=now, usage=usage
        )
    except pki.PathRefused as error:
        return str(error)
    return None


def _difference(wanted: WantedCertificate, pair: CertifiedKey, issuer: UsableIssuer | None) -> str:
    """Return in which field a certificate differs from its spec, as far as that can be known."""
    if issuer is not None:
        identity, validity = issuer.identity(wanted), issuer.pair.validity
        return difference(pair.certificate, wanted, identity, validity)
    return difference(pair.certificate, wanted, "") if wanted.issuer is None else ""


def _order(
    wanted: WantedCertificate, held: HeldContents, issuer: UsableIssuer
) -> IssueCause | None:
    """Return why the rotation of the authority wants the certificate to be issued anew."""
    assert held.pair is not None
    signed = is_issued_by(held.pair.certificate, issuer.pair.certificate)
    match issuer.ordered:
        case RotationAction.PROVE:
            proven = held.issued_with == bundle_digest(issuer.bundle)
            return None if proven or wanted.is_server else IssueCause.PROOF
        case RotationAction.REISSUE_SERVERS:
            return IssueCause.ROTATED if wanted.is_server and not signed else None
        case RotationAction.REISSUE_ALL:
            return None if signed else IssueCause.ROTATED
        case _:
            return None


def signer_of(certificate: Certificate, authorities: tuple[Certificate, ...]) -> str:
    """Return the fingerprint of the authority that signed a certificate; "" if none of them did."""
    for one in authorities:
        if is_issued_by(certificate, one):
            return fingerprint(one)
    return ""
