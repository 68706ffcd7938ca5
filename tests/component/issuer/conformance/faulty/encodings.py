"""Issuers whose certificates are made badly: criticality, identifiers, hashes, serial numbers."""

from datetime import datetime
from random import Random
from typing import Any, ClassVar

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509 import Certificate
from tests.component.issuer.conformance.bare import Bare, resigned
from tests.component.issuer.conformance.faulty.certificates import AUTHORITY
from tests.component.issuer.conformance.faulty.fault import BEHAVIOUR, fault

from certwright.pki import Authority, RequestTerms, SigningRequest

MANY = "many requests are answered at once"


class Remade(Bare):
    """Makes a good certificate, and signs another in its place."""

    def leaf(
        self, authority: Authority, asked: SigningRequest, terms: RequestTerms, now: datetime
    ) -> Certificate:
        return self.remade(authority, super().leaf(authority, asked, terms, now))

    def remade(self, authority: Authority, good: Certificate) -> Certificate:
        return resigned(authority, good, self.extension)

    def extension(self, one: x509.Extension[Any]) -> tuple[x509.ExtensionType, bool] | None:
        return one.value, one.critical


class Lax(Remade):
    """Does not mark an extension as critical."""

    kind: ClassVar[type[x509.ExtensionType]]

    def extension(self, one: x509.Extension[Any]) -> tuple[x509.ExtensionType, bool] | None:
        return one.value, one.critical and not isinstance(one.value, self.kind)


class Without(Remade):
    """Leaves an extension out."""

    kind: ClassVar[type[x509.ExtensionType]]

    def extension(self, one: x509.Extension[Any]) -> tuple[x509.ExtensionType, bool] | None:
        return None if isinstance(one.value, self.kind) else (one.value, one.critical)


class Numbered(Remade):
    """Chooses serial numbers badly."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.chance = Random(3)  # noqa: S311 - that it is bad is the point

    def remade(self, authority: Authority, good: Certificate) -> Certificate:
        self.count += 1
        return resigned(authority, good, serial=self.serial())

    def serial(self) -> int:
        raise NotImplementedError


@fault("NotCritical")
class NamesNotCritical(Lax):
    kind = x509.SubjectAlternativeName


@fault("NotCritical")
class KeyUsageNotCritical(Lax):
    kind = x509.KeyUsage


@fault("NotCritical", AUTHORITY)
class BasicConstraintsNotCritical(Lax):
    kind = x509.BasicConstraints


@fault("KeyIdentifierMissing")
class NoAuthorityKeyIdentifier(Without):
    kind = x509.AuthorityKeyIdentifier


@fault("KeyIdentifierMissing", AUTHORITY)
class NoSubjectKeyIdentifier(Without):
    kind = x509.SubjectKeyIdentifier


@fault("MissingUsage")
class NoKeyUsage(Without):
    kind = x509.KeyUsage


@fault("MissingName")
class NoNames(Without):
    kind = x509.SubjectAlternativeName


@fault("KeyIdentifierMismatch")
class AnotherAuthorityKeyIdentifier(Remade):
    def extension(self, one: x509.Extension[Any]) -> tuple[x509.ExtensionType, bool] | None:
        if isinstance(one.value, x509.AuthorityKeyIdentifier):
            return x509.AuthorityKeyIdentifier(b"x" * 20, None, None), False
        return one.value, one.critical


@fault("WeakSignature")
class WeakHash(Remade):
    def remade(self, authority: Authority, good: Certificate) -> Certificate:
        return resigned(authority, good, digest=hashes.SHA224())


@fault("SerialPredictable", MANY, BEHAVIOUR)
class CountedSerials(Numbered):
    def serial(self) -> int:
        return 4711 + self.count


@fault("SerialPredictable", MANY, BEHAVIOUR)
class CountedSerialsBehindAPrefix(Numbered):
    def serial(self) -> int:
        return (1 << 150) + self.count


@fault("SerialPredictable", MANY, BEHAVIOUR)
class SerialsOf32Bits(Numbered):
    def serial(self) -> int:
        return self.chance.getrandbits(32) + 1


@fault("SerialRepeated", MANY, BEHAVIOUR)
class OneSerial(Numbered):
    def serial(self) -> int:
        return 1 << 100


class OneForAll(Bare):
    """Signs once, and hands out the same certificate ever after."""

    def __init__(self) -> None:
        super().__init__()
        self.made: Certificate | None = None

    def leaf(
        self, authority: Authority, asked: SigningRequest, terms: RequestTerms, now: datetime
    ) -> Certificate:
        if self.made is None:
            self.made = super().leaf(authority, asked, terms, now)
        return self.made


@fault("SerialRepeated", "the same key is signed again", BEHAVIOUR)
class TheSameCertificateAgain(OneForAll):
    pass


@fault("MissingName", "one more name is signed", BEHAVIOUR)
class TheOldCertificateAgain(OneForAll):
    pass
