"""What certificate authorities differ in.

The names are those of cert-manager's own suite; ``ExactSANs`` and ``KubernetesCSRs`` are ours.
"""

from collections.abc import Mapping
from enum import StrEnum


class Feature(StrEnum):
    """Something a certificate authority may or may not do."""

    ACME_RENEWAL_INFORMATION = "ACMEUseARI"
    COMMON_NAME = "CommonName"
    DURATION = "Duration"
    ECDSA = "ECDSA"
    ED25519 = "Ed25519"
    EMAIL_SANS = "EmailSANs"
    EXACT_SANS = "ExactSANs"
    IP_ADDRESSES = "IPAddresses"
    ISSUE_CA = "IssueCA"
    KEY_USAGES = "KeyUsages"
    KUBERNETES_CSRS = "KubernetesCSRs"
    LITERAL_SUBJECT = "LiteralCertificateSubject"
    LONG_DOMAIN = "LongDomain"
    ONLY_SAN = "OnlySAN"
    OTHER_NAMES = "OtherNames"
    REUSE_PRIVATE_KEY = "ReusePrivateKey"
    SAVE_CA = "SaveCAToSecret"
    SAVE_ROOT_CA = "SaveRootCAToSecret"
    URI_SANS = "URISANs"
    WILDCARDS = "Wildcards"

    @property
    def meaning(self) -> str:
        """What an authority with this feature does."""
        return _MEANINGS[self]

    @property
    def forgives(self) -> frozenset[str]:
        """The names of the violations that do not count where this feature is missing."""
        return _FORGIVES.get(self, frozenset())


def read_feature(text: str) -> Feature:
    """Return a feature by its name; `ValueError` with all names if it is none."""
    try:
        return Feature(text)
    except ValueError as error:
        names = ", ".join(sorted(Feature))
        raise ValueError(f"{text!r} is not a feature; choose from {names}") from error


def read_unsupported(given: object) -> dict[Feature, str]:
    """Return what an authority does not do, as its author declared it: features or their names.

    Raises `TypeError` if it is no mapping to reasons, `ValueError` if a feature does not exist.
    """
    if not isinstance(given, Mapping):
        raise TypeError(
            f"unsupported is {given!r}: each feature has a reason, write"
            ' unsupported = {Feature.DURATION: "the authority decides"}'
        )
    return {read_feature(one): reason for one, reason in given.items()}


_MEANINGS = {
    Feature.ACME_RENEWAL_INFORMATION: "tells when to renew, by ACME's renewal information",
    Feature.COMMON_NAME: "takes over the common name",
    Feature.DURATION: "takes over the requested lifetime",
    Feature.ECDSA: "signs for ECDSA keys",
    Feature.ED25519: "signs for Ed25519 keys",
    Feature.EMAIL_SANS: "takes over e-mail addresses as alternative names",
    Feature.EXACT_SANS: "leaves the common name out of the alternative names",
    Feature.IP_ADDRESSES: "takes over IP addresses as alternative names",
    Feature.ISSUE_CA: "signs certificates of authorities",
    Feature.KEY_USAGES: "takes over the requested usages",
    Feature.KUBERNETES_CSRS: "answers Kubernetes' own CertificateSigningRequests",
    Feature.LITERAL_SUBJECT: "takes over a subject as it is, repeated attributes included",
    Feature.LONG_DOMAIN: "signs for DNS labels of 63 characters",
    Feature.ONLY_SAN: "signs requests without a common name",
    Feature.OTHER_NAMES: "takes over other names, such as user principal names",
    Feature.REUSE_PRIVATE_KEY: "signs for the same key again",
    Feature.SAVE_CA: "returns the certificate of the authority",
    Feature.SAVE_ROOT_CA: "returns the root's certificate, not an intermediate's",
    Feature.URI_SANS: "takes over URIs as alternative names",
    Feature.WILDCARDS: "signs for wildcard DNS names",
}

_FORGIVES = {
    Feature.COMMON_NAME: frozenset({"SubjectMismatch"}),
    Feature.DURATION: frozenset({"DurationMismatch"}),
    Feature.EXACT_SANS: frozenset({"CommonNameCopied"}),
    Feature.KEY_USAGES: frozenset({"MissingUsage", "ExtraUsage"}),
    Feature.SAVE_CA: frozenset({"MissingCA", "CANotRoot"}),
    Feature.SAVE_ROOT_CA: frozenset({"CANotRoot"}),
}
