"""The cases of Kubernetes' own CertificateSigningRequests."""

from datetime import timedelta
from ipaddress import ip_address
from typing import Any, Final

from certwright.issuer.conformance.cases import ECDSA, ED25519, RSA, Case
from certwright.issuer.conformance.certificatecases import LONG_LABEL, SPIFFE
from certwright.issuer.conformance.features import Feature
from certwright.pki import AlternativeNames, KeySpec

_DNS = AlternativeNames(dns=("one.example.com",))
_IP = ip_address("192.0.2.7")
_KEYS: tuple[tuple[str, KeySpec, tuple[Feature, ...]], ...] = (
    ("RSA", RSA, ()),
    ("ECDSA", ECDSA, (Feature.ECDSA,)),
    ("Ed25519", ED25519, (Feature.ED25519,)),
)


def _case(name: str, *needs: Feature, **asked: Any) -> Case:
    features = frozenset({Feature.KUBERNETES_CSRS, *needs})
    return Case("CertificateSigningRequest", name, features, **asked)


def _cases_per_key() -> list[Case]:
    made = []
    for word, key, needs in _KEYS:
        made += [
            _case(f"one DNS name, {word} key", *needs, Feature.ONLY_SAN, names=_DNS, key=key),
            _case(
                f"only a common name, {word} key",
                *needs,
                Feature.COMMON_NAME,
                common_name="common.example.com",
                key=key,
            ),
        ]
    return made


SIGNING_CASES: Final[tuple[Case, ...]] = (
    *_cases_per_key(),
    _case(
        "a common name and an IP address",
        Feature.IP_ADDRESSES,
        Feature.COMMON_NAME,
        common_name="common.example.com",
        names=AlternativeNames(ips=(_IP,)),
    ),
    _case(
        "an IP address", Feature.IP_ADDRESSES, Feature.ONLY_SAN, names=AlternativeNames(ips=(_IP,))
    ),
    _case(
        "a DNS name and an IP address",
        Feature.IP_ADDRESSES,
        Feature.ONLY_SAN,
        names=AlternativeNames(dns=_DNS.dns, ips=(_IP,)),
    ),
    _case("a certificate authority", Feature.ISSUE_CA, Feature.ONLY_SAN, names=_DNS, is_ca=True),
    _case(
        "two e-mail addresses",
        Feature.EMAIL_SANS,
        Feature.ONLY_SAN,
        names=AlternativeNames(emails=("first@example.com", "second@example.com")),
    ),
    _case(
        "a common name and a URI",
        Feature.URI_SANS,
        Feature.COMMON_NAME,
        common_name="common.example.com",
        names=AlternativeNames(uris=(SPIFFE,)),
    ),
    _case(
        "two DNS names, one also the common name",
        Feature.COMMON_NAME,
        common_name="one.example.com",
        names=AlternativeNames(dns=("one.example.com", "two.example.com")),
    ),
    _case(
        "a DNS name and another common name",
        Feature.COMMON_NAME,
        common_name="common.example.com",
        names=_DNS,
    ),
    _case(
        "a common name and a lifetime by annotation",
        Feature.DURATION,
        Feature.COMMON_NAME,
        common_name="common.example.com",
        names=_DNS,
        lifetime=timedelta(hours=896),
    ),
    _case(
        "a common name and a lifetime by seconds",
        Feature.DURATION,
        Feature.COMMON_NAME,
        common_name="common.example.com",
        names=_DNS,
        expiration_seconds=3333,
    ),
    _case(
        "a lifetime by annotation",
        Feature.DURATION,
        Feature.ONLY_SAN,
        names=_DNS,
        lifetime=timedelta(hours=896),
    ),
    _case(
        "a lifetime by annotation and by seconds",
        Feature.DURATION,
        Feature.ONLY_SAN,
        names=_DNS,
        lifetime=timedelta(hours=896),
        expiration_seconds=3333,
    ),
    _case(
        "a wildcard",
        Feature.WILDCARDS,
        Feature.ONLY_SAN,
        names=AlternativeNames(dns=("*.wild.example.com",)),
    ),
    _case(
        "a wildcard and its parent",
        Feature.WILDCARDS,
        Feature.ONLY_SAN,
        names=AlternativeNames(dns=("*.wild.example.com", "wild.example.com")),
    ),
    _case("a URI", Feature.URI_SANS, Feature.ONLY_SAN, names=AlternativeNames(uris=(SPIFFE,))),
    _case(
        "four usages",
        Feature.KEY_USAGES,
        Feature.COMMON_NAME,
        common_name="common.example.com",
        usages=("server auth", "client auth", "digital signature", "data encipherment"),
    ),
    _case(
        "a certificate authority with its usages and 10000 hours",
        Feature.ISSUE_CA,
        Feature.DURATION,
        Feature.KEY_USAGES,
        Feature.COMMON_NAME,
        common_name="cert-manager-ca",
        usages=("digital signature", "key encipherment", "cert sign"),
        lifetime=timedelta(hours=10_000),
        is_ca=True,
    ),
    _case(
        "a label of 63 characters",
        Feature.LONG_DOMAIN,
        Feature.ONLY_SAN,
        names=AlternativeNames(dns=(f"{LONG_LABEL}.example.com",)),
    ),
)
