"""Key usages in cert-manager's words, and as the two extensions of a certificate."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID, ObjectIdentifier

from certwright.pki.errors import UnknownUsage, quoted
from certwright.pki.keys import PublicKey

KeyUsages: TypeAlias = frozenset[str]

# Word → attribute of x509.KeyUsage, in the order of the bits.
_BITS = {
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "data encipherment": "data_encipherment",
    "key agreement": "key_agreement",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
_EXTENDED = {
    "any": ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,
    "server auth": ExtendedKeyUsageOID.SERVER_AUTH,
    "client auth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "code signing": ExtendedKeyUsageOID.CODE_SIGNING,
    "email protection": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "ipsec end system": ObjectIdentifier("1.3.6.1.5.5.7.3.5"),
    "ipsec tunnel": ObjectIdentifier("1.3.6.1.5.5.7.3.6"),
    "ipsec user": ObjectIdentifier("1.3.6.1.5.5.7.3.7"),
    "timestamping": ExtendedKeyUsageOID.TIME_STAMPING,
    "ocsp signing": ExtendedKeyUsageOID.OCSP_SIGNING,
    "microsoft sgc": ObjectIdentifier("1.3.6.1.4.1.311.10.3.3"),
    "netscape sgc": ObjectIdentifier("2.16.840.1.113730.4.1"),
}
_SYNONYMS = {"signing": "digital signature", "s/mime": "email protection"}
_WORDS = {oid: word for word, oid in _EXTENDED.items()}
_ENCIPHERING = frozenset({"key encipherment", "data encipherment"})
_ONLY_WITH_AGREEMENT = frozenset({"encipher only", "decipher only"})


@dataclass(frozen=True, slots=True)
class Usages:
    """What a key may be used for: ``key`` is a set of bits, ``extended`` keeps its order."""

    key: KeyUsages = frozenset()
    extended: tuple[ObjectIdentifier, ...] = ()

    @classmethod
    def of_extensions(
        cls, key: x509.KeyUsage | None, extended: x509.ExtendedKeyUsage | None
    ) -> "Usages":
        """Take the two extensions apart; a missing one is empty."""
        agreement = key is not None and key.key_agreement
        bits = frozenset(
            word
            for word, attribute in _BITS.items()
            if key is not None
            and (agreement or word not in _ONLY_WITH_AGREEMENT)
            and getattr(key, attribute)
        )
        return cls(bits, tuple(extended or ()))

    def fitting(self, key: PublicKey, *, is_ca: bool = True) -> "Usages":
        """Return the usages that a key of this algorithm can serve, an authority's or not.

        Only RSA enciphers: the default usages of cert-manager ask for key encipherment,
        which RFC 5480 and RFC 8410 forbid in certificates for elliptic keys. Bits that
        mean something only beside key agreement go where that bit is missing. Only authorities
        sign certificates (RFC 5280, 4.2.1.3).
        """
        bits = self.key if is_ca else self.key - {"cert sign"}
        if isinstance(key, ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey):
            bits -= _ENCIPHERING
        if isinstance(key, ed25519.Ed25519PublicKey):
            bits -= {"key agreement"}
        if "key agreement" not in bits:
            bits -= _ONLY_WITH_AGREEMENT
        return Usages(bits, self.extended)

    def key_usage(self) -> x509.KeyUsage:
        """Return the key usage extension."""
        return x509.KeyUsage(**{name: word in self.key for word, name in _BITS.items()})

    def extended_key_usage(self) -> x509.ExtendedKeyUsage:
        """Return the extended key usage extension. There is none without usages."""
        return x509.ExtendedKeyUsage(self.extended)

    def key_words(self) -> list[str]:
        """Return the key usages in the order of their bits."""
        return [word for word in _BITS if word in self.key]

    def extended_words(self) -> list[str]:
        """Return the extended usages in their order; unknown ones as dotted numbers."""
        return [_WORDS.get(oid, oid.dotted_string) for oid in self.extended]


def parse_usages(words: Iterable[str]) -> Usages:
    """Read cert-manager's usage strings. Extended usages keep their order, repeats are dropped.

    Raises:
        UnknownUsage: words that name nothing; all of them are listed.
    """
    key: set[str] = set()
    extended: dict[ObjectIdentifier, None] = {}
    unknown: list[str] = []
    for given in words:
        word = _SYNONYMS.get(given, given)
        if word in _BITS:
            key.add(word)
        elif word in _EXTENDED:
            extended[_EXTENDED[word]] = None
        else:
            unknown.append(given)
    if unknown:
        raise UnknownUsage(f"unknown key usages: [{', '.join(map(quoted, unknown[:10]))}]")
    return Usages(frozenset(key), tuple(extended))


DEFAULT_USAGES = parse_usages(["digital signature", "key encipherment"])
"""What cert-manager means when a request names no usages."""
