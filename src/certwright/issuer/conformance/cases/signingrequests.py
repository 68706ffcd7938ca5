"""The cases of Kubernetes' own CertificateSigningRequests: many are those of Certificates."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from certwright.issuer.conformance.cases.case import ECDSA, ED25519, RSA, Case, required_features
from certwright.issuer.conformance.cases.certificaterequests import CERTIFICATE_CASES
from certwright.pki import AlternativeNames, KeySpec

_DNS = AlternativeNames(dns=("one.example.com",))
_KEYS: Final[dict[str, KeySpec]] = {"RSA": RSA, "ECDSA": ECDSA, "Ed25519": ED25519}
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
    moved = [replace(known[name], suite="CertificateSigningRequest") for name in _SHARED]
    return [replace(case, needs=required_features(case)) for case in moved]


def _case(name: str, **requested: Any) -> Case:
    case = Case("CertificateSigningRequest", name, **requested)
    return replace(case, needs=required_features(case))


def _cases_per_key() -> list[Case]:
    made = []
    for word, key in _KEYS.items():
        made += [
            _case(f"one DNS name, {word} key", names=_DNS, key=key),
            _case(f"only a common name, {word} key", common_name="common.example.com", key=key),
        ]
    return made


SIGNING_CASES: Final[tuple[Case, ...]] = (
    *_cases_per_key(),
    *_shared(),
    _case(
        "two e-mail addresses",
        names=AlternativeNames(emails=("first@example.com", "second@example.com")),
    ),
    _case(
        "a common name and a lifetime by annotation",
        common_name="common.example.com",
        names=_DNS,
        lifetime=timedelta(hours=896),
    ),
    _case(
        "a common name and a lifetime by seconds",
        common_name="common.example.com",
        names=_DNS,
        expiration_seconds=3333,
    ),
    _case("a lifetime by annotation", names=_DNS, lifetime=timedelta(hours=896)),
    _case(
        "a lifetime by annotation and by seconds",
        names=_DNS,
        lifetime=timedelta(minutes=30),
        expiration_seconds=3333,
    ),
    _case(
        "four usages",
        common_name="common.example.com",
        usages=("server auth", "client auth", "digital signature", "data encipherment"),
    ),
    _case(
        "a certificate authority with its usages and 10000 hours",
        common_name="cert-manager-ca",
        usages=("digital signature", "key encipherment", "cert sign"),
        lifetime=timedelta(hours=10_000),
        is_ca=True,
    ),
)
