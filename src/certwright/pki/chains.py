"""Chains: one leaf-first list out of whatever order and mixture the certificates came in."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from certwright.pki.certificates import (
    CHAIN_LENGTH,
    extension,
    public_key_of,
    read_certificates,
    without_repeats,
    write_certificates,
)
from certwright.pki.constraints import NormalName, normal_name
from certwright.pki.errors import PARSE_ERRORS, BrokenChain, UnsupportedKey
from certwright.pki.pem import CHAIN_LIMIT

_BROKEN = "certificate chain is malformed or broken"


@dataclass(frozen=True, slots=True)
class Chain:
    """A leaf with its intermediates, and the best guess at the authority to trust.

    ``certificates`` is leaf first and ends with the highest that is not self-signed.
    ``authority`` is the root if it was among them, else the topmost of several, else None.
    A single self-signed certificate is both.
    """

    certificates: tuple[x509.Certificate, ...]
    authority: x509.Certificate | None

    @property
    def leaf(self) -> x509.Certificate:
        """The certificate that the chain is for."""
        return self.certificates[0]

    def to_pem(self) -> bytes:
        """Write the chain, leaf first, without the root."""
        return write_certificates(*self.certificates)


def read_chain(data: bytes | str, *, at_most: int = CHAIN_LENGTH) -> Chain:
    """Read a PEM text with the certificates of one chain in any order.

    Raises:
        TooLarge: more than 95,000 bytes, or more than *at_most* different certificates.
        MalformedPem, MalformedCertificate: they cannot be read.
        BrokenChain: they do not form exactly one chain.
    """
    return order_chain(read_certificates(data, limit=CHAIN_LIMIT, at_most=at_most))


def order_chain(certificates: Sequence[x509.Certificate]) -> Chain:
    """Join certificates by name and signature, each once; `BrokenChain` if that is not possible."""
    pool = without_repeats(certificates)
    parents = _parents(pool)
    children = {parent for parent in parents.values() if parent is not None}
    leaves = [place for place in range(len(pool)) if place not in children]
    if len(leaves) != 1:
        raise BrokenChain(_BROKEN)
    ordered: list[x509.Certificate] = []
    place: int | None = leaves[0]
    while place is not None:
        ordered.append(pool[place])
        place = parents[place]
    if len(ordered) != len(pool):
        raise BrokenChain(_BROKEN)
    top = ordered[-1]
    if len(ordered) == 1:
        return Chain((top,), top if is_self_signed(top) else None)
    return Chain(tuple(ordered[:-1] if is_self_signed(top) else ordered), top)


def is_self_signed(certificate: x509.Certificate) -> bool:
    """Return whether the certificate names itself as issuer and its own key signed it."""
    return is_issued_by(certificate, certificate)


def verify_signature(certificate: x509.Certificate, issuer: x509.Certificate) -> None:
    """Verify that the key of *issuer* signed *certificate*. Names are not compared.

    Raises:
        InvalidSignature: it did not.
        UnsupportedKey: the key is of a kind that is not accepted.
    """
    key = public_key_of(issuer)
    signature, signed = certificate.signature, certificate.tbs_certificate_bytes
    try:
        digest = certificate.signature_hash_algorithm
        parameters = certificate.signature_algorithm_parameters
        if isinstance(key, rsa.RSAPublicKey):
            if digest is None or not isinstance(parameters, padding.PKCS1v15 | padding.PSS):
                raise InvalidSignature
            key.verify(signature, signed, parameters, digest)
        elif isinstance(key, ec.EllipticCurvePublicKey):
            if digest is None or not isinstance(parameters, ec.ECDSA):
                raise InvalidSignature
            key.verify(signature, signed, ec.ECDSA(digest))
        else:
            key.verify(signature, signed)
    except PARSE_ERRORS as error:
        raise InvalidSignature from error


def _parents(pool: Sequence[x509.Certificate]) -> dict[int, int | None]:
    by_subject: dict[NormalName, list[int]] = defaultdict(list)
    for place, certificate in enumerate(pool):
        by_subject[normal_name(certificate.subject)].append(place)
    parents: dict[int, int | None] = {}
    taken: set[int] = set()
    for place, certificate in enumerate(pool):
        parents[place] = None
        for candidate in by_subject[normal_name(certificate.issuer)]:
            if candidate == place or not is_issued_by(certificate, pool[candidate]):
                continue
            if parents[place] is not None or candidate in taken:
                raise BrokenChain(_BROKEN)  # a branch, found before it costs more signatures
            parents[place] = candidate
            taken.add(candidate)
    return parents


def is_issued_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Return whether a certificate names another as its issuer, and the key of that signed it."""
    if normal_name(certificate.issuer) != normal_name(issuer.subject):
        return False
    if not _identifiers_agree(certificate, issuer):
        return False
    try:
        verify_signature(certificate, issuer)
    except (InvalidSignature, UnsupportedKey):
        return False
    return True


def _identifiers_agree(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Compare the key identifiers where both sides have one: much cheaper than a signature."""
    wanted = extension(certificate, x509.AuthorityKeyIdentifier)
    held = extension(issuer, x509.SubjectKeyIdentifier)
    if wanted is None or wanted.key_identifier is None or held is None:
        return True
    return wanted.key_identifier == held.digest
