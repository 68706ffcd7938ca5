"""One case of a certificate to request, as data."""

import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, TypeAlias

from certwright import pki
from certwright.issuer.conformance.cases.features import Feature

Suite: TypeAlias = Literal["CertificateRequest", "CertificateSigningRequest"]

RSA = pki.KeySpec(pki.KeyAlgorithm.RSA)
ECDSA = pki.KeySpec(pki.KeyAlgorithm.ECDSA)
ED25519 = pki.KeySpec(pki.KeyAlgorithm.ED25519)

USUAL_LIFETIME = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Case:
    """A request to be answered with a fitting certificate; by default RSA, two usages, 90 days."""

    suite: Suite
    name: str
    needs: frozenset[Feature] = frozenset()
    key: pki.KeySpec = RSA
    common_name: str = ""
    subject: str = ""
    """The whole subject, as RFC 4514 text; replaces the common name."""
    names: pki.AlternativeNames = field(default_factory=pki.AlternativeNames)
    usages: tuple[str, ...] = ()
    lifetime: timedelta | None = None
    expiration_seconds: int | None = None
    """The other way to ask a Kubernetes CSR for a lifetime."""
    is_ca: bool = False

    @property
    def slug(self) -> str:
        """The name, fit for an object and for a test's id."""
        return slug(self.name)

    @property
    def asked_lifetime(self) -> timedelta:
        """How long the certificate should be valid; an annotation wins over the seconds."""
        if self.lifetime is not None:
            return self.lifetime
        if self.expiration_seconds is not None:
            return timedelta(seconds=self.expiration_seconds)
        return USUAL_LIFETIME


def required_features(case: Case) -> frozenset[Feature]:
    """Return the features that an authority needs to sign a case."""
    if case.subject:
        return frozenset({Feature.LITERAL_SUBJECT})
    names = case.names
    needed = {
        Feature.KUBERNETES_CSRS: case.suite == "CertificateSigningRequest",
        Feature.COMMON_NAME: bool(case.common_name),
        Feature.ONLY_SAN: not case.common_name,
        Feature.ECDSA: case.key == ECDSA,
        Feature.ED25519: case.key == ED25519,
        Feature.ISSUE_CA: case.is_ca,
        Feature.DURATION: case.lifetime is not None or case.expiration_seconds is not None,
        Feature.KEY_USAGES: bool(case.usages),
        Feature.IP_ADDRESSES: bool(names.ips),
        Feature.EMAIL_SANS: bool(names.emails),
        Feature.URI_SANS: bool(names.uris),
        Feature.OTHER_NAMES: bool(names.others),
        Feature.WILDCARDS: any(name.startswith("*.") for name in names.dns),
        Feature.LONG_DOMAIN: any(len(name.partition(".")[0]) == 63 for name in names.dns),
    }
    return frozenset(feature for feature, is_needed in needed.items() if is_needed)


def slug(text: str) -> str:
    """Return text as lower-case words joined by dashes."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
