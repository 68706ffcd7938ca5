"""Certificate authorities: a certificate with its key, and what they sign.

Signing with a slow key (`Authority.is_slow`) belongs in a thread pool. An authority never
signs what could not be verified: it must hold a certificate for this purpose, valid now,
and what it signs never outlives it.
"""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import AuthorityInformationAccessOID

from certwright.pki.certificates import (
    Validity,
    extension,
    is_authority,
    public_key_of,
    write_certificates,
)
from certwright.pki.constraints import name_violations
from certwright.pki.errors import AuthorityUnfit
from certwright.pki.keys import (
    PrivateKey,
    SignatureHash,
    accepted_public_key,
    key_spec,
    public_key_bytes,
    signature_hash,
)
from certwright.pki.requests import (
    RequestTerms,
    SigningRequest,
    Template,
    authority_template,
    check_request,
    request_template,
)

_SERIAL_BITS = 159  # the most that stay positive in the 20 octets RFC 5280 allows


@dataclass(frozen=True, slots=True)
class Endpoints:
    """URLs in certificates: revocation lists, OCSP, the signer's certificate."""

    revocation_lists: tuple[str, ...] = ()
    ocsp: tuple[str, ...] = ()
    issuers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Revocation:
    """A certificate that shall no longer be believed, since when and why."""

    serial: int
    since: datetime
    reason: x509.ReasonFlags | None = None


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate that may sign, its key, and the intermediates between it and its root.

    Raises:
        AuthorityUnfit: the certificate is not for signing, or the key is not its key.
        UnsupportedKey: the key is of a kind that is not accepted.
    """

    certificate: x509.Certificate
    key: PrivateKey = field(repr=False)
    chain: tuple[x509.Certificate, ...] = ()
    endpoints: Endpoints = Endpoints()
    _hash: SignatureHash | None = field(init=False, repr=False)
    _start: x509.CertificateBuilder = field(init=False, repr=False)
    _validity: Validity = field(init=False, repr=False)
    _constraints: x509.NameConstraints | None = field(init=False, repr=False)
    _above: bytes = field(init=False, repr=False)
    is_slow: bool = field(init=False, repr=False, compare=False)
    """Whether signing belongs in a thread pool."""
    top_pem: bytes = field(init=False, repr=False, compare=False)
    """The highest certificate that is known, the root where the chain holds it, as PEM."""

    def __post_init__(self) -> None:
        usage = extension(self.certificate, x509.KeyUsage)
        if not is_authority(self.certificate) or (usage is not None and not usage.key_cert_sign):
            raise AuthorityUnfit("the certificate is not allowed to sign certificates")
        held = public_key_bytes(accepted_public_key(self.key.public_key()))
        if held != public_key_bytes(public_key_of(self.certificate)):
            raise AuthorityUnfit("the private key does not belong to the certificate")
        # What is the same for every certificate is worked out once: it is a fifth of the work.
        object.__setattr__(self, "_hash", signature_hash(self.key))
        object.__setattr__(self, "is_slow", key_spec(self.key).is_slow)
        object.__setattr__(self, "_start", self._common_part())
        object.__setattr__(self, "_validity", Validity.of(self.certificate))
        constraints = extension(self.certificate, x509.NameConstraints)
        object.__setattr__(self, "_constraints", constraints)
        object.__setattr__(self, "_above", write_certificates(*self.intermediates))
        top = self.chain[-1] if self.chain else self.certificate
        object.__setattr__(self, "top_pem", write_certificates(top))

    def issue(
        self, template: Template, now: datetime, validity: Validity | None = None
    ) -> x509.Certificate:
        """Sign a certificate.

        It starts up to five minutes before *now* and ends no later than the authority's own; a
        *validity* that is given is cut to the authority's instead. Raises `AuthorityUnfit` if the
        authority is not valid now, or must not sign this: another authority below its path length,
        or names outside its name constraints.
        """
        own = self._validity
        if not own.covers(now):
            raise AuthorityUnfit(
                f"the certificate authority is valid from {own.not_before.isoformat()} to"
                f" {own.not_after.isoformat()}, not at {now.isoformat()}"
            )
        if template.is_ca:
            template = self._below(template)
        self._check_names(template)
        if validity is None:
            validity = Validity.starting(now, template.lifetime).within(own)
        return _completed(self._start, template, validity.cut(own)).sign(self.key, self._hash)

    def issue_request(
        self, request: SigningRequest, terms: RequestTerms, now: datetime
    ) -> x509.Certificate:
        """Check a signing request and sign what it asks for.

        Raises:
            RequestRefused: the request must not be signed on these terms.
            AuthorityUnfit: as `issue`.
        """
        check_request(request, terms)
        return self.issue(request_template(request, terms), now)

    def write_chain(self, leaf: x509.Certificate) -> bytes:
        """Write a certificate and the way to the root as PEM, leaf first, without the root."""
        return write_certificates(leaf) + self._above

    def revocation_list(
        self, revoked: Iterable[Revocation], *, number: int, now: datetime, lifetime: timedelta
    ) -> x509.CertificateRevocationList:
        """Sign a revocation list. *number* must grow from list to list.

        Raises:
            AuthorityUnfit: the certificate may not sign revocation lists.
        """
        usage = extension(self.certificate, x509.KeyUsage)
        if usage is not None and not usage.crl_sign:
            raise AuthorityUnfit("the certificate is not allowed to sign revocation lists")
        validity = Validity.starting(now, lifetime)
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self.certificate.subject)
            .last_update(validity.not_before)
            .next_update(validity.not_after)
            .add_extension(x509.CRLNumber(number), critical=False)
            .add_extension(self._key_identifier(), critical=False)
        )
        for entry in revoked:
            builder = builder.add_revoked_certificate(_revoked(entry))
        return builder.sign(self.key, self._hash)

    @property
    def intermediates(self) -> tuple[x509.Certificate, ...]:
        """The certificates between one of this authority and the root, lowest first."""
        is_root = self.certificate.issuer == self.certificate.subject
        return () if is_root else (self.certificate, *self.chain)

    def _below(self, template: Template) -> Template:
        constraints = extension(self.certificate, x509.BasicConstraints)
        own = constraints.path_length if constraints else None
        if own is None:
            return template
        if own == 0:
            raise AuthorityUnfit("the path length allows no authority below this one")
        length = own - 1 if template.path_length is None else min(template.path_length, own - 1)
        return Template(
            template.subject, template.public_key, template.lifetime, template.names,
            template.usages, True, length, template.name_constraints,
        )  # fmt: skip

    def _check_names(self, template: Template) -> None:
        if self._constraints is None:
            return
        if found := name_violations(template.subject, template.names, self._constraints):
            raise AuthorityUnfit("; ".join(violation.message for violation in found))

    def _key_identifier(self) -> x509.AuthorityKeyIdentifier:
        identifier = extension(self.certificate, x509.SubjectKeyIdentifier)
        if identifier is None:
            return x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)

    def _common_part(self) -> x509.CertificateBuilder:
        """Return a builder with the issuer, and the extensions about the issuer."""
        builder = (
            x509.CertificateBuilder()
            .issuer_name(self.certificate.subject)
            .add_extension(self._key_identifier(), critical=False)
        )
        places = [
            x509.AccessDescription(method, x509.UniformResourceIdentifier(url))
            for method, urls in (
                (AuthorityInformationAccessOID.OCSP, self.endpoints.ocsp),
                (AuthorityInformationAccessOID.CA_ISSUERS, self.endpoints.issuers),
            )
            for url in urls
        ]
        if places:
            builder = builder.add_extension(x509.AuthorityInformationAccess(places), False)
        points = [
            x509.DistributionPoint([x509.UniformResourceIdentifier(url)], None, None, None)
            for url in self.endpoints.revocation_lists
        ]
        if points:
            builder = builder.add_extension(x509.CRLDistributionPoints(points), False)
        return builder


def create_root(
    subject: x509.Name,
    key: PrivateKey,
    lifetime: timedelta,
    now: datetime,
    *,
    path_length: int | None = None,
) -> Authority:
    """Make a self-signed root. Slow where the key is."""
    public_key = accepted_public_key(key.public_key())
    template = authority_template(subject, public_key, lifetime, path_length=path_length)
    return Authority(self_sign(template, key, now), key)


def create_intermediate(
    parent: Authority, subject: x509.Name, key: PrivateKey, lifetime: timedelta, now: datetime
) -> Authority:
    """Make an authority below another one. Slow where the parent's key is.

    Raises:
        AuthorityUnfit: the parent must not sign it.
    """
    public_key = accepted_public_key(key.public_key())
    certificate = parent.issue(authority_template(subject, public_key, lifetime), now)
    return Authority(certificate, key, parent.intermediates)


def self_sign(
    template: Template, key: PrivateKey, now: datetime, validity: Validity | None = None
) -> x509.Certificate:
    """Sign a certificate with the key that it holds. Slow where the key is.

    It starts up to five minutes before *now*, unless a *validity* is given.

    Raises:
        AuthorityUnfit: the template holds another key.
    """
    own = accepted_public_key(key.public_key())
    if public_key_bytes(template.public_key) != public_key_bytes(own):
        raise AuthorityUnfit("the template holds another key than the one that shall sign it")
    start = (
        x509.CertificateBuilder()
        .issuer_name(template.subject)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(own), critical=False)
    )
    validity = validity or Validity.starting(now, template.lifetime)
    return _completed(start, template, validity).sign(key, signature_hash(key))


def write_revocation_list(revocation_list: x509.CertificateRevocationList) -> bytes:
    """Write a revocation list as PEM."""
    return revocation_list.public_bytes(Encoding.PEM)


def new_serial() -> int:
    """Return a serial number of 159 random bits, never zero."""
    return secrets.randbits(_SERIAL_BITS) or 1


def _completed(
    start: x509.CertificateBuilder, template: Template, validity: Validity
) -> x509.CertificateBuilder:
    builder = (
        start.subject_name(template.subject)
        .public_key(template.public_key)
        .serial_number(new_serial())
        .not_valid_before(validity.not_before)
        .not_valid_after(validity.not_after)
    )
    for value, critical in template.extensions():
        builder = builder.add_extension(value, critical)
    return builder


def _revoked(entry: Revocation) -> x509.RevokedCertificate:
    builder = (
        x509.RevokedCertificateBuilder()
        .serial_number(entry.serial)
        .revocation_date(entry.since.replace(microsecond=0))
    )
    if entry.reason is not None:
        builder = builder.add_extension(x509.CRLReason(entry.reason), critical=False)
    return builder.build()
