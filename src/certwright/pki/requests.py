"""Certificate signing requests, and templates: the content of a certificate to be signed."""

import re
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from certwright.pki.errors import (
    PARSE_ERRORS,
    MalformedRequest,
    RequestRefused,
    TooLarge,
    Violation,
    listed,
)
from certwright.pki.keys import (
    STRONG_HASHES,
    PrivateKey,
    PublicKey,
    accepted_public_key,
    signature_hash,
)
from certwright.pki.names import AlternativeNames, control_characters
from certwright.pki.pem import REQUEST_LIMIT, single_block
from certwright.pki.usages import DEFAULT_USAGES, Usages, parse_usages

NAMES_LIMIT = 1_000
"""Alternative names of a request."""

_LABELS = ("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST")
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_is_dns_text = re.compile(rf"(?:\*\.)?{_LABEL}(?:\.{_LABEL})*").fullmatch

_AUTHORITY = parse_usages(["digital signature", "cert sign", "crl sign"])
_SERVER = parse_usages(["digital signature", "key encipherment", "server auth"])
_CLIENT = parse_usages(["digital signature", "client auth"])
_PEER = parse_usages(["digital signature", "key encipherment", "server auth", "client auth"])


@dataclass(frozen=True, slots=True)
class RequestTerms:
    """What is asked for beside the signing request; where both speak, they must agree."""

    lifetime: timedelta = timedelta(days=90)
    is_ca: bool = False
    usages: Usages = DEFAULT_USAGES


@dataclass(frozen=True, slots=True)
class SigningRequest:
    """A signing request that was read, with a good signature by an accepted key.

    ``usages`` is None when the request carries neither of the two extensions; ``is_ca`` is
    None when it carries no basic constraints.
    """

    csr: x509.CertificateSigningRequest
    public_key: PublicKey
    subject: x509.Name
    names: AlternativeNames
    names_extension: x509.SubjectAlternativeName | None
    name_constraints: x509.Extension[x509.NameConstraints] | None
    is_ca: bool | None
    usages: Usages | None
    path_length: int | None = None
    """How many authorities may follow below the one that is asked for; None is unlimited."""


def build_request(
    key: PrivateKey,
    subject: x509.Name,
    names: AlternativeNames = AlternativeNames(),  # noqa: B008 - frozen, hence harmless
    *,
    is_ca: bool = False,
    usages: Usages | None = None,
) -> x509.CertificateSigningRequest:
    """Make a signing request. Slow where the key is.

    Basic constraints are written for authorities only, usages if given; alternative names are
    critical where the subject is empty. Raises `MalformedName` if the names cannot be written.
    """
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    if names:
        builder = builder.add_extension(names.to_extension(), critical=not subject.rdns)
    if is_ca:
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
    if usages is not None and usages.key:
        builder = builder.add_extension(usages.key_usage(), True)
    if usages is not None and usages.extended:
        builder = builder.add_extension(usages.extended_key_usage(), False)
    return builder.sign(key, signature_hash(key))


def write_request(csr: x509.CertificateSigningRequest) -> bytes:
    """Write a signing request as PEM."""
    return csr.public_bytes(Encoding.PEM)


def read_request(data: bytes | str) -> SigningRequest:
    """Read the only signing request of a PEM text and verify that its sender holds the key.

    Raises:
        TooLarge: more than 65,536 bytes, or more than 1,000 alternative names.
        MalformedPem: no PEM, or not exactly one signing request.
        MalformedRequest: it does not parse, or repeats an extension.
        UnsupportedKey: the key is of a kind that is not accepted.
        RequestRefused: ``WeakSignature`` (SHA-1 or weaker) or ``BadSignature``.
    """
    block = single_block(data, *_LABELS, limit=REQUEST_LIMIT)
    try:
        csr = x509.load_der_x509_csr(block.der)
        # The key is checked first: verifying with a giant one would be the attack.
        public_key = accepted_public_key(csr.public_key())
        _verify_signature(csr)
        request = _taken_apart(csr, public_key)
    except PARSE_ERRORS as error:
        raise MalformedRequest(f"the signing request does not parse: {error}"[:300]) from error
    if len(request.names) > NAMES_LIMIT:
        raise TooLarge(f"{len(request.names)} alternative names are more than {NAMES_LIMIT}")
    return request


def request_violations(request: SigningRequest, terms: RequestTerms) -> list[Violation]:
    """Return what speaks against signing this request on these terms; empty is good.

    ``NothingNamed``, ``ControlCharacter``, ``DnsNameMalformed``, ``CaMismatch``,
    ``NameConstraintsMisplaced``, ``KeyUsageMismatch``, ``ExtendedKeyUsageMismatch``. Usages are
    compared only if the request carries any; extended ones in their order, as cert-manager's
    admission does.
    """
    found: list[Violation] = []
    if not request.subject.rdns and not request.names:
        found.append(
            Violation("NothingNamed", "the request has no subject and no alternative names")
        )
    if forged := control_characters(request.subject, request.names):
        found.append(
            Violation("ControlCharacter", f"names hold control characters: {listed(forged)}")
        )
    names = request.names.dns
    if malformed := [name for name in names if len(name) > 253 or not _is_dns_text(name)]:
        found.append(Violation("DnsNameMalformed", f"no DNS names: {listed(malformed)}"))
    if addresses := [name for name in names if _is_address(name)]:
        message = f"IP addresses are no DNS names: {listed(addresses)}"
        found.append(Violation("DnsNameMalformed", message))
    if request.name_constraints is not None and not terms.is_ca:
        message = "only a certificate authority has name constraints, and none is asked for"
        found.append(Violation("NameConstraintsMisplaced", message))
    if request.is_ca is not None and request.is_ca != terms.is_ca:
        found.append(
            Violation(
                "CaMismatch",
                f"encoded CSR error: IsCA {_go(request.is_ca)} does not match expected"
                f" value {_go(terms.is_ca)}",
            )
        )
    if request.usages is not None:
        found += _usage_violations(request.usages, terms.usages)
    return found


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def check_request(request: SigningRequest, terms: RequestTerms) -> None:
    """Raise `RequestRefused` if `request_violations` finds something."""
    if found := request_violations(request, terms):
        raise RequestRefused(found)


def _verify_signature(csr: x509.CertificateSigningRequest) -> None:
    digest = csr.signature_hash_algorithm
    if digest is not None and not isinstance(digest, STRONG_HASHES):
        raise RequestRefused(
            [Violation("WeakSignature", f"the request is signed with {digest.name.upper()}")]
        )
    if not csr.is_signature_valid:
        raise RequestRefused(
            [Violation("BadSignature", "the request is not signed by the key it holds")]
        )


def _taken_apart(csr: x509.CertificateSigningRequest, public_key: PublicKey) -> SigningRequest:
    carried: dict[type, Any] = {type(one.value): one for one in csr.extensions}
    values: dict[type, Any] = {kind: one.value for kind, one in carried.items()}
    names = values.get(x509.SubjectAlternativeName)
    constraints = values.get(x509.BasicConstraints)
    key_usage, extended = values.get(x509.KeyUsage), values.get(x509.ExtendedKeyUsage)
    carries_usages = key_usage is not None or extended is not None
    return SigningRequest(
        csr=csr,
        public_key=public_key,
        subject=csr.subject,
        names=AlternativeNames() if names is None else AlternativeNames.of_extension(names),
        names_extension=names,
        name_constraints=carried.get(x509.NameConstraints),
        is_ca=None if constraints is None else constraints.ca,
        path_length=None if constraints is None else constraints.path_length,
        usages=Usages.of_extensions(key_usage, extended) if carries_usages else None,
    )


def _usage_violations(carried: Usages, expected: Usages) -> list[Violation]:
    found: list[Violation] = []
    if carried.key != expected.key:
        found.append(
            Violation(
                "KeyUsageMismatch",
                f"encoded CSR error: the KeyUsages {_words(carried.key_words())} do not match"
                f" the expected KeyUsages {_words(expected.key_words())}",
            )
        )
    if carried.extended != expected.extended:
        found.append(
            Violation(
                "ExtendedKeyUsageMismatch",
                f"encoded CSR error: the ExtKeyUsages {_words(carried.extended_words())} do not"
                f" match the expected ExtKeyUsages {_words(expected.extended_words())}",
            )
        )
    return found


def _words(words: list[str]) -> str:
    return "[" + ", ".join(f"'{word}'" for word in words[:20]) + "]"


def _go(value: bool) -> str:  # noqa: FBT001 - a value to be shown
    return "true" if value else "false"


# Templates


@dataclass(frozen=True, slots=True)
class Template:
    """The content of a certificate to come.

    Usages that the key cannot serve are left out. What only an authority may have (RFC 5280) is
    left out of other certificates: the usage ``cert sign``, a path length, name constraints.
    """

    subject: x509.Name
    public_key: PublicKey
    lifetime: timedelta
    names: x509.SubjectAlternativeName | None = None
    usages: Usages = DEFAULT_USAGES
    is_ca: bool = False
    path_length: int | None = None
    name_constraints: x509.Extension[x509.NameConstraints] | None = None

    def extensions(self) -> list[tuple[x509.ExtensionType, bool]]:
        """Return the extensions that do not depend on the signer, each with its criticality."""
        fitting = self.usages.fitting(self.public_key, is_ca=self.is_ca)
        length = self.path_length if self.is_ca else None
        out: list[tuple[x509.ExtensionType, bool]] = [
            (x509.BasicConstraints(ca=self.is_ca, path_length=length), True)
        ]
        if fitting.key:
            out.append((fitting.key_usage(), True))
        if fitting.extended:
            out.append((fitting.extended_key_usage(), False))
        if self.names is not None:
            out.append((self.names, not self.subject.rdns))  # RFC 5280, 4.2.1.6
        if self.name_constraints is not None and self.is_ca:
            out.append((self.name_constraints.value, self.name_constraints.critical))
        out.append((x509.SubjectKeyIdentifier.from_public_key(self.public_key), False))
        return out


def authority_template(
    subject: x509.Name,
    public_key: PublicKey,
    lifetime: timedelta,
    *,
    path_length: int | None = None,
) -> Template:
    """Describe a certificate authority, root or intermediate."""
    return Template(
        subject, public_key, lifetime, usages=_AUTHORITY, is_ca=True, path_length=path_length
    )


def server_template(
    subject: x509.Name, public_key: PublicKey, lifetime: timedelta, names: AlternativeNames
) -> Template:
    """Describe a server that is reached under *names*."""
    return Template(subject, public_key, lifetime, names.to_extension(), _SERVER)


def client_template(
    subject: x509.Name,
    public_key: PublicKey,
    lifetime: timedelta,
    names: AlternativeNames | None = None,
) -> Template:
    """Describe a client that is known by its subject, or by *names*."""
    extension = names.to_extension() if names else None
    return Template(subject, public_key, lifetime, extension, _CLIENT)


def peer_template(
    subject: x509.Name, public_key: PublicKey, lifetime: timedelta, names: AlternativeNames
) -> Template:
    """Describe a member of a mesh: server and client in one."""
    return Template(subject, public_key, lifetime, names.to_extension(), _PEER)


def request_template(request: SigningRequest, terms: RequestTerms) -> Template:
    """Describe what a request asks for, on these terms.

    Taken from the request: key, subject, alternative names with everything in them, and of an
    authority path length and name constraints. Taken from the terms: lifetime, usages, whether it
    is an authority. All other extensions of the request are dropped. The request must have been
    checked.
    """
    return Template(
        subject=request.subject,
        public_key=request.public_key,
        lifetime=terms.lifetime,
        names=request.names_extension,
        usages=terms.usages,
        is_ca=terms.is_ca,
        path_length=request.path_length if terms.is_ca else None,
        name_constraints=request.name_constraints,
    )
