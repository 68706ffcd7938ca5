"""Every kind of certificate with every kind of key, judged by pkilint."""

import ipaddress
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding

from certwright.issuer.conformance.cases.case import Case
from certwright.issuer.conformance.cases.certificaterequests import CERTIFICATE_CASES
from certwright.issuer.conformance.cases.signingrequests import SIGNING_CASES
from certwright.pki import (
    AlternativeNames,
    Authority,
    Endpoints,
    PrivateKey,
    RequestTerms,
    build_request,
    client_template,
    create_intermediate,
    create_root,
    parse_name,
    parse_usages,
    read_request,
    self_sign,
    server_template,
    write_request,
)
from certwright.pki.authority import Revocation
from certwright.pki.requests import authority_template, peer_template

pkilint = pytest.importorskip("pkilint", reason="pip install pkilint")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

KEYS = [
    ("RSA", 2048),
    ("RSA", 3072),
    ("ECDSA", 256),
    ("ECDSA", 384),
    ("ECDSA", 521),
    ("Ed25519", 256),
]
DAY = timedelta(days=1)
NAMES = AlternativeNames(
    dns=("a.example.com", "b.example.com"), ips=(ipaddress.ip_address("10.0.0.1"),)
)
SUBJECT = parse_name("CN=a.example.com,O=Test,C=DE")


@pytest.fixture(scope="module")
def lint() -> Callable[..., Any]:
    from pkilint import loader, pkix  # noqa: PLC0415
    from pkilint.pkix import certificate, crl, extension, name  # noqa: PLC0415
    from pkilint.validation import ValidationFindingSeverity  # noqa: PLC0415

    attributes, extensions = name.ATTRIBUTE_TYPE_MAPPINGS, extension.EXTENSION_MAPPINGS
    for_certificates = certificate.create_pkix_certificate_validator_container(
        certificate.create_decoding_validators(attributes, extensions),
        [
            certificate.create_issuer_validator_container([]),
            certificate.create_validity_validator_container(),
            certificate.create_subject_validator_container([]),
            certificate.create_extensions_validator_container([]),
            certificate.create_spki_validator_container([]),
        ],
    )
    for_lists = crl.create_pkix_crl_validator_container(
        [pkix.create_attribute_decoder(attributes), pkix.create_extension_decoder(extensions)],
        [
            crl.create_issuer_validator_container([]),
            crl.create_validity_validator_container([]),
            crl.create_extensions_validator_container([]),
        ],
    )

    def findings(document: x509.Certificate | x509.CertificateRevocationList) -> list[str]:
        der = document.public_bytes(Encoding.DER)
        if isinstance(document, x509.Certificate):
            loaded, validator = loader.RFC5280CertificateDocumentLoader(), for_certificates
        else:
            loaded, validator = loader.RFC5280CertificateListDocumentLoader(), for_lists
        results = validator.validate(loaded.load_der_document(der).root)
        return sorted(
            {
                found.finding.code
                for result in results
                for found in result.finding_descriptions
                if found.finding.severity <= ValidationFindingSeverity.WARNING
            }
        )

    return findings


@pytest.fixture(scope="module")
def signer(root: Authority) -> Authority:
    return Authority(
        root.certificate,
        root.key,
        endpoints=Endpoints(
            revocation_lists=("http://crl.example.com/root.crl",),
            ocsp=("http://ocsp.example.com",),
            issuers=("http://example.com/root.crt",),
        ),
    )


def request_certificate(
    signer: Authority,
    key: EllipticCurvePrivateKey | Ed25519PrivateKey | RSAPrivateKey,
    now: datetime,
    names: AlternativeNames,
    terms: RequestTerms,
    subject: x509.Name = SUBJECT,
) -> x509.Certificate:
    csr = build_request(key, subject, names, is_ca=terms.is_ca, usages=terms.usages)
    return signer.issue_request(read_request(write_request(csr)), terms, now)


TEMPLATES: dict[str, Callable[[Any, Any, Any], x509.Certificate]] = {
    "server": lambda signer, key, now: signer.issue(
        server_template(SUBJECT, key.public_key(), DAY, NAMES), now
    ),
    "server without subject": lambda signer, key, now: signer.issue(
        server_template(parse_name(""), key.public_key(), DAY, NAMES), now
    ),
    "client": lambda signer, key, now: signer.issue(
        client_template(SUBJECT, key.public_key(), DAY), now
    ),
    "client with names": lambda signer, key, now: signer.issue(
        client_template(SUBJECT, key.public_key(), DAY, AlternativeNames(emails=("me@example.com",))), now
    ),
    "peer": lambda signer, key, now: signer.issue(
        peer_template(
            SUBJECT, key.public_key(), DAY, AlternativeNames(uris=("https://example.com/ns/a/sa/b",))
        ),
        now,
    ),
    "intermediate": lambda signer, key, now: create_intermediate(
        signer, parse_name("CN=Between"), key, DAY, now
    ).certificate,
    "intermediate with path length": lambda signer, key, now: signer.issue(
        authority_template(parse_name("CN=Between"), key.public_key(), DAY, path_length=0), now
    ),
    "root": lambda _, key, now: create_root(SUBJECT, key, 3650 * DAY, now).certificate,
    "root until 2060": lambda _, key, now: create_root(
        SUBJECT, key, 29 * 365 * DAY, now, path_length=1
    ).certificate,
    "self-signed server": lambda _, key, now: self_sign(
        server_template(SUBJECT, key.public_key(), DAY, NAMES), key, now
    ),
    "request with cert-manager's defaults": lambda signer, key, now: request_certificate(
        signer, key, now, NAMES, RequestTerms()
    ),
    "request with many usages": lambda signer, key, now: request_certificate(
        signer, key, now, NAMES,
        RequestTerms(usages=parse_usages(["signing", "data encipherment", "server auth", "client auth"])),
    ),
    "request for an authority": lambda signer, key, now: request_certificate(
        signer, key, now, AlternativeNames(),
        RequestTerms(is_ca=True, usages=parse_usages(["signing", "key encipherment", "cert sign"])),
    ),
    "request that would sign and is no authority": lambda signer, key, now: request_certificate(
        signer, key, now, NAMES, RequestTerms(usages=parse_usages(["signing", "cert sign"])),
    ),
}  # fmt: skip


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize(("algorithm", "size"), KEYS)
def test_nothing_is_found(
    lint: Callable[..., Any],
    signer: Authority,
    key_of: Callable[..., PrivateKey],
    now: datetime,
    template: str,
    algorithm: str,
    size: int,
) -> None:
    certificate = TEMPLATES[template](signer, key_of(algorithm, size), now)
    assert lint(certificate) == []


@pytest.mark.parametrize(("algorithm", "size"), KEYS)
def test_nothing_is_found_in_a_revocation_list(
    lint: Callable[..., Any],
    key_of: Callable[..., PrivateKey],
    now: datetime,
    algorithm: str,
    size: int,
) -> None:
    authority = create_root(SUBJECT, key_of(algorithm, size), DAY, now)
    revoked = [
        Revocation(17, now, x509.ReasonFlags.key_compromise),
        Revocation(18, now - DAY),
    ]
    listed = authority.revocation_list(revoked, number=1, now=now, lifetime=DAY)
    assert lint(listed) == []


@pytest.mark.parametrize("case", [*CERTIFICATE_CASES, *SIGNING_CASES], ids=lambda one: one.slug)
def test_nothing_is_found_in_what_the_conformance_kit_asks_for(
    lint: Callable[..., Any],
    signer: Authority,
    key_of: Callable[..., PrivateKey],
    now: datetime,
    case: Case,
) -> None:
    key = key_of(case.key.algorithm.value, case.key.size)
    subject = parse_name(case.subject or (f"CN={case.common_name}" if case.common_name else ""))
    usages = [*(case.usages or ("digital signature", "key encipherment"))]
    if case.is_ca and "cert sign" not in usages:
        usages.append("cert sign")
    terms = RequestTerms(case.asked_lifetime, case.is_ca, parse_usages(usages))
    certificate = request_certificate(signer, key, now, case.names, terms, subject)
    expected = set()
    if any(name.startswith("*.") for name in case.names.dns):
        expected.add("pkix.invalid_domain_name_syntax")
    if any(uri.startswith("spiffe:") for uri in case.names.uris):
        expected.add("pkix.invalid_uri_syntax")
    assert set(lint(certificate)) <= expected


def test_two_findings_are_about_names_that_people_ask_for(
    lint: Callable[..., Any], signer: Authority, key_of: Callable[..., PrivateKey], now: datetime
) -> None:
    """RFC 5280 leaves wildcards to others (RFC 9525); the linter knows no SPIFFE (a URI all the same)."""
    names = AlternativeNames(dns=("*.example.com",), uris=("spiffe://example.com/ns/a",))
    certificate = signer.issue(server_template(SUBJECT, key_of().public_key(), DAY, names), now)
    assert lint(certificate) == ["pkix.invalid_domain_name_syntax", "pkix.invalid_uri_syntax"]


def test_the_linter_finds_what_we_avoid(
    lint: Callable[..., Any], signer: Authority, key_of: Callable[..., PrivateKey], now: datetime
) -> None:
    """Key encipherment for an elliptic key is what cert-manager asks for by default."""
    usage = parse_usages(["digital signature", "key encipherment"]).key_usage()
    builder = (
        x509.CertificateBuilder()
        .subject_name(SUBJECT)
        .issuer_name(SUBJECT)
        .public_key(key_of().public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + DAY)
        .add_extension(usage, critical=True)
    )
    certificate = builder.sign(key_of(), hashes.SHA256())
    assert "pkix.key_usage_value_prohibited_for_ec" in lint(certificate)
