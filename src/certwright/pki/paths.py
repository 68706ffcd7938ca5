"""Path validation: does this certificate lead to a root that is trusted?

RFC 5280 section 6.1 without policies and revocation: signatures, names, validity, basic
constraints, path length, key usage, name constraints, critical extensions; and extended
usages, which intermediates restrict too. A critical extension that is not processed here,
policy constraints among them, refuses the path: no path is accepted for want of a check.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID, ObjectIdentifier

from certwright.pki.certificates import (
    CHAIN_LENGTH,
    Validity,
    extension,
    has_strong_signature,
    without_repeats,
)
from certwright.pki.chains import verify_signature
from certwright.pki.constraints import NormalName, name_violations, normal_name
from certwright.pki.errors import PathRefused, UnsupportedKey, Violation, quoted

_MOST_SIGNATURES = 60
_PROCESSED = {
    ExtensionOID.BASIC_CONSTRAINTS,
    ExtensionOID.KEY_USAGE,
    ExtensionOID.EXTENDED_KEY_USAGE,
    ExtensionOID.SUBJECT_ALTERNATIVE_NAME,
    ExtensionOID.NAME_CONSTRAINTS,
    ExtensionOID.CERTIFICATE_POLICIES,  # without policies asked for, any will do
}
Path = tuple[x509.Certificate, ...]


def verify_path(
    leaf: x509.Certificate,
    *,
    roots: Iterable[x509.Certificate],
    intermediates: Iterable[x509.Certificate] = (),
    now: datetime,
    usage: ObjectIdentifier | None = None,
) -> Path:
    """Return the path from the leaf to a trusted root, both included.

    Every way through the intermediates is tried, up to ten certificates and sixty
    signatures. *usage* is the extended usage the leaf shall serve.

    Raises:
        PathRefused: no way is good. The violations are those of the way that came closest:
            ``NoPath``, ``BadSignature``, ``WeakSignature``, ``UnsupportedKey``, ``Expired``,
            ``NotYetValid``, ``NotAnAuthority``, ``PathTooLong``, ``NameForbidden``,
            ``UsageForbidden``, ``UnknownCriticalExtension``.
    """
    search = _Search(_by_subject(intermediates), _by_subject(roots), now, usage)
    search.extend((leaf,))
    if search.found is None:
        raise PathRefused(
            search.closest
            or [Violation("NoPath", f"no path from {_shown(leaf)} to a trusted root")]
        )
    return search.found


@dataclass(slots=True)
class _Search:
    """A walk from the leaf upwards that stops at the first good path."""

    intermediates: dict[NormalName, list[x509.Certificate]]
    roots: dict[NormalName, list[x509.Certificate]]
    now: datetime
    usage: ObjectIdentifier | None
    found: Path | None = None
    closest: list[Violation] = field(default_factory=list)
    signatures: int = 0

    def extend(self, path: Path) -> None:
        top = path[-1]
        if top in self.roots.get(normal_name(top.subject), ()):
            self._check(path)
            return
        issuer = normal_name(top.issuer)
        for root in self.roots.get(issuer, ()):
            if self.found is None and self._signed(top, root):
                self._check((*path, root))
        for between in self.intermediates.get(issuer, ()):
            if self.found is not None or len(path) >= CHAIN_LENGTH - 1:
                return
            if between not in path and self._signed(top, between):
                self.extend((*path, between))

    def _signed(self, certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
        self.signatures += 1
        if self.signatures > _MOST_SIGNATURES:
            return False
        try:
            verify_signature(certificate, issuer)
        except InvalidSignature:
            self._note("BadSignature", f"{_shown(issuer)} did not sign {_shown(certificate)}")
            return False
        except UnsupportedKey as error:
            self._note("UnsupportedKey", f"{_shown(issuer)}: {error}")
            return False
        return True

    def _note(self, name: str, message: str) -> None:
        if not self.closest:
            self.closest = [Violation(name, message)]

    def _check(self, path: Path) -> None:
        violations = path_violations(path, self.now, self.usage)
        if not violations:
            self.found = path
        elif not self.closest or self.closest[0].name in {"BadSignature", "UnsupportedKey"}:
            self.closest = violations  # the signatures are good here: more useful


def path_violations(
    path: Sequence[x509.Certificate], now: datetime, usage: ObjectIdentifier | None = None
) -> list[Violation]:
    """Return what is wrong with a path, leaf first, root last, whose signatures are good."""
    found: list[Violation] = []
    for certificate in path:
        found += _own_violations(certificate, now, usage)
    for certificate in path[:-1]:  # the root is trusted for itself, not for its signature
        if not has_strong_signature(certificate):
            found.append(Violation("WeakSignature", f"{_shown(certificate)} is weakly signed"))
    below = 0  # intermediates between an authority and the leaf that are not self-issued
    for place, authority in enumerate(path[1:], 1):
        found += _authority_violations(authority, below)
        constraints = extension(authority, x509.NameConstraints)
        if constraints is not None:
            found += _constraint_violations(path[:place], constraints)
        if not _is_self_issued(authority):
            below += 1
    return found


def _own_violations(
    certificate: x509.Certificate, now: datetime, usage: ObjectIdentifier | None
) -> list[Violation]:
    found: list[Violation] = []
    validity = Validity.of(certificate)
    if now > validity.not_after:
        when = validity.not_after.isoformat()
        found.append(Violation("Expired", f"{_shown(certificate)} expired at {when}"))
    if now < validity.not_before:
        when = validity.not_before.isoformat()
        found.append(Violation("NotYetValid", f"{_shown(certificate)} is valid from {when}"))
    for item in certificate.extensions:
        if item.critical and item.oid not in _PROCESSED:
            message = f"{_shown(certificate)} has the critical extension {item.oid.dotted_string}"
            found.append(Violation("UnknownCriticalExtension", message))
    extended = extension(certificate, x509.ExtendedKeyUsage)
    if usage is not None and extended is not None:
        allowed = {usage, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}
        if allowed.isdisjoint(extended):
            message = f"{_shown(certificate)} is not for {usage.dotted_string}"
            found.append(Violation("UsageForbidden", message))
    return found


def _authority_violations(authority: x509.Certificate, below: int) -> list[Violation]:
    constraints = extension(authority, x509.BasicConstraints)
    usage = extension(authority, x509.KeyUsage)
    if constraints is None or not constraints.ca or (usage and not usage.key_cert_sign):
        return [Violation("NotAnAuthority", f"{_shown(authority)} may not sign certificates")]
    if constraints.path_length is not None and below > constraints.path_length:
        message = f"{_shown(authority)} allows {constraints.path_length} authorities below it"
        return [Violation("PathTooLong", message)]
    return []


def _constraint_violations(
    below: Sequence[x509.Certificate], constraints: x509.NameConstraints
) -> list[Violation]:
    return [
        violation
        for place, certificate in enumerate(below)
        if place == 0 or not _is_self_issued(certificate)
        for violation in name_violations(
            certificate.subject, extension(certificate, x509.SubjectAlternativeName), constraints
        )
    ]


def _is_self_issued(certificate: x509.Certificate) -> bool:
    return normal_name(certificate.subject) == normal_name(certificate.issuer)


def _by_subject(
    certificates: Iterable[x509.Certificate],
) -> dict[NormalName, list[x509.Certificate]]:
    out: dict[NormalName, list[x509.Certificate]] = defaultdict(list)
    for certificate in without_repeats(certificates):
        out[normal_name(certificate.subject)].append(certificate)
    return out


def _shown(certificate: x509.Certificate) -> str:
    return quoted(certificate.subject.rfc4514_string() or f"serial {certificate.serial_number:x}")
