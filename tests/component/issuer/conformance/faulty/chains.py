"""Issuers that hand over something else than a chain, leaf first and without root, and the root."""

import base64
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TypeAlias

from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import Certificate
from tests.component.issuer.conformance.bare import Bare, new_root
from tests.component.issuer.conformance.faulty.fault import fault

from certwright import pki
from certwright.pki import Authority, RequestTerms, SigningRequest
from certwright.pki.pem import write_block

DAY = timedelta(days=1)
Handed: TypeAlias = tuple[Sequence[Certificate], Sequence[Certificate]]
"""The chain, and the authority."""


class WithIntermediate(Bare):
    """Signs with an intermediate; hands over what `handed` chooses."""

    def __init__(self) -> None:
        super().__init__()
        self.key = pki.generate_key(pki.KeySpec())
        self.name = pki.distinguished_name("between")

    def root(self, now: datetime) -> Authority:
        if self.authority is None:
            self.authority = new_root(now - 400 * DAY)
        return self.authority

    def sign(
        self, asked: SigningRequest, terms: RequestTerms, now: datetime
    ) -> tuple[bytes, bytes]:
        root = self.root(now)
        between = pki.create_intermediate(root, self.name, self.key, 1825 * DAY, now)
        leaf = between.issue(self.template(asked, terms), now)
        chain, authority = self.handed(leaf, between.certificate, root, now)
        return pki.write_certificates(*chain), pki.write_certificates(*authority)

    def handed(
        self, leaf: Certificate, between: Certificate, root: Authority, now: datetime
    ) -> Handed:
        return [leaf, between], [root.certificate]


class Rewritten(Bare):
    """Writes a good chain in a way that cannot be read everywhere."""

    def sign(
        self, asked: SigningRequest, terms: RequestTerms, now: datetime
    ) -> tuple[bytes, bytes]:
        chain, authority = super().sign(asked, terms, now)
        return self.rewritten(chain), authority

    def rewritten(self, chain: bytes) -> bytes:
        raise NotImplementedError


# Chains


@fault("RootInChain")
class RootInChain(WithIntermediate):
    def handed(
        self, leaf: Certificate, between: Certificate, root: Authority, now: datetime
    ) -> Handed:
        return [leaf, between, root.certificate], [root.certificate]


@fault("WrongOrder")
class ChainTurned(WithIntermediate):
    def handed(
        self, leaf: Certificate, between: Certificate, root: Authority, now: datetime
    ) -> Handed:
        return [between, leaf], [root.certificate]


@fault("RepeatedCertificate")
class IntermediateTwice(WithIntermediate):
    def handed(
        self, leaf: Certificate, between: Certificate, root: Authority, now: datetime
    ) -> Handed:
        return [leaf, between, between], [root.certificate]


@fault("RepeatedCertificate")
class LeafTwice(WithIntermediate):
    def handed(
        self, leaf: Certificate, between: Certificate, root: Authority, now: datetime
    ) -> Handed:
        return [leaf, leaf, between], [root.certificate]


@fault("BrokenChain")
class StrangerInChain(WithIntermediate):
    def handed(
        self, leaf: Certificate, between: Certificate, root: Authority, now: datetime
    ) -> Handed:
        return [leaf, between, new_root(now, "stranger").certificate], [root.certificate]


@fault("Untrusted")
class IntermediateMissing(WithIntermediate):
    def handed(
        self, leaf: Certificate, between: Certificate, root: Authority, now: datetime
    ) -> Handed:
        return [leaf], [root.certificate]


@fault("Untrusted")
class IntermediateExpired(WithIntermediate):
    def handed(
        self, leaf: Certificate, between: Certificate, root: Authority, now: datetime
    ) -> Handed:
        old = pki.create_intermediate(root, self.name, self.key, 10 * DAY, now - 200 * DAY)
        return [leaf, old.certificate], [root.certificate]


# The authority


@fault("Untrusted")
class AnotherAuthority(WithIntermediate):
    def handed(
        self, leaf: Certificate, between: Certificate, root: Authority, now: datetime
    ) -> Handed:
        return [leaf, between], [new_root(now, "stranger").certificate]


@fault("Untrusted")
class AnotherAuthorityOfThatName(WithIntermediate):
    def handed(
        self, leaf: Certificate, between: Certificate, root: Authority, now: datetime
    ) -> Handed:
        return [leaf, between], [new_root(now).certificate]


@fault("CANotRoot")
class IntermediateAsAuthority(WithIntermediate):
    def handed(
        self, leaf: Certificate, between: Certificate, root: Authority, now: datetime
    ) -> Handed:
        return [leaf, between], [between]


@fault("MissingCA")
class NoAuthorityReturned(WithIntermediate):
    def handed(
        self, leaf: Certificate, between: Certificate, root: Authority, now: datetime
    ) -> Handed:
        return [leaf, between], []


@fault("Unparsable")
class UnreadableAuthority(Bare):
    def sign(
        self, asked: SigningRequest, terms: RequestTerms, now: datetime
    ) -> tuple[bytes, bytes]:
        return super().sign(asked, terms, now)[0], b"ca"


# Texts


@fault("Unparsable")
class NoCertificateAtAll(Rewritten):
    def rewritten(self, chain: bytes) -> bytes:
        return b"cert"


@fault("Unparsable")
class DerInsteadOfPem(Rewritten):
    def rewritten(self, chain: bytes) -> bytes:
        return pki.read_certificate(chain).public_bytes(Encoding.DER)


@fault("Unparsable")
class Base64Twice(Rewritten):
    def rewritten(self, chain: bytes) -> bytes:
        return base64.b64encode(chain)


@fault("Unparsable")
class TextCutShort(Rewritten):
    def rewritten(self, chain: bytes) -> bytes:
        return chain[: len(chain) // 2]


@fault("ForeignBlock")
class PrivateKeyInChain(Rewritten):
    def rewritten(self, chain: bytes) -> bytes:
        return chain + pki.write_key(pki.generate_key(pki.KeySpec()))


@fault("ForeignBlock")
class AnotherLabel(Rewritten):
    def rewritten(self, chain: bytes) -> bytes:
        der = pki.read_certificate(chain).public_bytes(Encoding.DER)
        return write_block("X509 CERTIFICATE", der)
