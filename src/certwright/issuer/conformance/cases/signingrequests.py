"""The cases of Kubernetes' own CertificateSigningRequests: many are those of Certificates."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from certwright.issuer.conformance.cases.case import ECDSA, ED25519, RSA, Case
from certwright.issuer.conformance.cases.certificaterequests import CERTIFICATE_CASES
from certwright.issuer.conformance.cases.features import Feature
from certwright.pki import AlternativeNames, KeySpec

_DNS = AlternativeNames(dns=("one.example.com",))
_KEYS: tuple[tuple[str, KeySpec, tuple[Feature, ...]], ...] = (
    ("RSA", RSA, ()),
    ("ECDSA", ECDSA, (Feature.ECDSA,)),
    ("Ed25519", ED25519, (Feature.ED25519,)),
)
_SHARED: Final = (
    "a common name and an IP address",
    "an IP address",
    "a DNS name and an IP address",
    "a certificate authority",
    "a common name and a URI",
    "two DNS names, one also the common name",
    "a DNS name and another common name",
    "a wildcard",
    "a wildcard and its parent",
    "a URI",
    "a label of 63 characters",
)
"""What is asked of both kinds of requests in the same way."""


def _shared() -> list[Case]:
    known = {case.name: case for case in CERTIFICATE_CASES}
    csrs = frozenset({Feature.KUBERNETES_CSRS})
    return [
        replace(known[name], suite="CertificateSigningRequest", needs=known[name].needs | csrs)
        for name in _SHARED
    ]


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
    *_shared(),
    _case(
        "two e-mail addresses",
        Feature.EMAIL_SANS,
        Feature.ONLY_SAN,
        names=AlternativeNames(emails=("first@example.com", "second@example.com")),
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
)
