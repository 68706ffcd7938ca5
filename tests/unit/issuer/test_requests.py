"""What authors see of a request, and what its template keeps."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import NameOID, ObjectIdentifier
from tests.support.issuer.issuer_rows import T1, T2

from certwright import pki
from certwright.api.certificates import (
    DURATION_ANNOTATION,
    IS_CA_ANNOTATION,
    CertificateSigningRequest,
    SigningRequestSpec,
)
from certwright.api.certmanager import CertificateRequest, CertificateRequestSpec, IssuerRef
from certwright.issuer import Bundle
from certwright.issuer.request import Request
from certwright.issuer.requests.certificaterequest import request_terms
from certwright.issuer.requests.kind import TermsError
from certwright.issuer.requests.signingrequest import AnnotationRules, signing_terms
from certwright.kube import ObjectMeta
from certwright.pki import Authority
from certwright.pki.names import common_name
from certwright.pki.requests import Template

KEY = pki.generate_key(pki.KeySpec(pki.KeyAlgorithm.ECDSA))
CA_KEY = pki.generate_key(pki.KeySpec(pki.KeyAlgorithm.ECDSA))


async def offload(fn: Any, *arguments: Any) -> Any:
    return fn(*arguments)


async def no_secret(name: Any) -> None:
    raise LookupError(name)


def request(pem: bytes, **fields: Any) -> Request:
    """Return a request as authors get it."""
    made = {
        "kind": "CertificateRequest", "name": "cr1", "namespace": "ns1", "uid": "u", "created": T1,
        "issuer_kind": "TestIssuer", "issuer_name": "issuer-1", "issuer_namespace": "ns1",
        "now": T2, "csr_pem": pem.decode(), "read_terms": pki.RequestTerms,
        "read_secret": no_secret, "offload": offload,
    }  # fmt: skip
    return Request(**{**made, **fields})


def csr(subject: str, *names: x509.GeneralName) -> bytes:
    builder = x509.CertificateSigningRequestBuilder().subject_name(
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)] if subject else [])
    )
    builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return pki.write_request(builder.sign(KEY, hashes.SHA256()))


@pytest.fixture
def ca() -> Authority:
    return pki.create_root(pki.parse_name("CN=CA"), CA_KEY, timedelta(days=365), T2)


async def signed(pem: bytes, ca: Authority) -> tuple[x509.Certificate, Bundle]:
    bundle = await request(pem).sign_with(ca)
    return pki.read_chain(bundle.chain).leaf, bundle


@pytest.mark.scenario("ISS-62")
@pytest.mark.parametrize("subject", ["", "web"])
async def test_names_are_critical_where_the_subject_is_empty(ca: Authority, subject: str) -> None:
    leaf, _ = await signed(csr(subject, x509.DNSName("web.example.com")), ca)
    found = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert found.critical is (not subject)


@pytest.mark.scenario("ISS-63")
async def test_other_names_survive_byte_for_byte(ca: Authority) -> None:
    upn = x509.OtherName(ObjectIdentifier("1.3.6.1.4.1.311.20.2.3"), b"\x0c\x08me@there")
    pem = csr("web", upn, x509.RFC822Name("me@example.com"), x509.DNSName("web.example.com"))
    leaf, _ = await signed(pem, ca)
    asked = x509.load_pem_x509_csr(pem).extensions
    given = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    wanted = asked.get_extension_for_class(x509.SubjectAlternativeName)
    assert given.value.public_bytes() == wanted.value.public_bytes()


async def test_a_local_authority_gives_its_certificate_along(ca: Authority) -> None:
    pem = csr("web", x509.DNSName("web.example.com"))
    leaf, bundle = await signed(pem, ca)
    assert pki.read_certificate(bundle.ca) == ca.certificate
    assert common_name(leaf.subject) == "web"
    found = request(pem)
    assert found.common_name == "web"
    assert list(found.names.dns) == ["web.example.com"]


async def test_slow_authorities_sign_elsewhere() -> None:
    slow = pki.create_root(
        pki.parse_name("CN=RSA"),
        pki.generate_key(pki.KeySpec(pki.KeyAlgorithm.RSA, 2048)),
        timedelta(days=365),
        T2,
    )
    elsewhere = []

    async def note(fn: Callable[..., Any], *arguments: Template | datetime) -> x509.Certificate:
        elsewhere.append(fn)
        value: x509.Certificate = fn(*arguments)
        return value

    pem = csr("web", x509.DNSName("web.example.com"))
    await request(pem, offload=note).sign_with(slow)
    assert elsewhere == [slow.issue]


def test_where_a_request_comes_from() -> None:
    annotations = {
        "cert-manager.io/certificate-name": "web",
        "cert-manager.io/certificate-revision": "7",
    }
    found = request(b"", annotations=annotations)
    assert (found.certificate_name, found.revision) == ("web", 7)
    assert (request(b"").certificate_name, request(b"").revision) == ("", None)


def cert_managers(**spec: Any) -> CertificateRequest:
    ref = IssuerRef("i", "k", "g")
    return CertificateRequest(spec=CertificateRequestSpec(request=b"", issuer_ref=ref, **spec))


def kubernetes(annotations: dict[str, str] | None = None, **spec: Any) -> CertificateSigningRequest:
    made = SigningRequestSpec(request=b"", signer_name="a/b", **spec)
    return CertificateSigningRequest(metadata=ObjectMeta(annotations=annotations or {}), spec=made)


@pytest.mark.scenario("ISS-64")
def test_an_authority_may_sign_if_cert_manager_asks_and_not_if_kubernetes_does() -> None:
    asked = request_terms(cert_managers(is_ca=True))
    assert asked.usages.key_words() == ["digital signature", "key encipherment", "cert sign"]
    asked = signing_terms(kubernetes({IS_CA_ANNOTATION: "true"}), AnnotationRules(may_widen=True))
    assert asked.is_ca
    assert asked.usages.key_words() == ["digital signature", "key encipherment"]
    assert not signing_terms(kubernetes({IS_CA_ANNOTATION: "True"})).is_ca


@pytest.mark.scenario("ISS-65")
@pytest.mark.scenario("ISS-93")
@pytest.mark.parametrize(
    ("terms", "lifetime"),
    [
        (lambda: request_terms(cert_managers()), timedelta(days=90)),
        (lambda: request_terms(cert_managers(duration="896h")), timedelta(hours=896)),
        (lambda: signing_terms(kubernetes()), timedelta(days=90)),
        (lambda: signing_terms(kubernetes(expiration_seconds=3333)), timedelta(seconds=3333)),
        (
            lambda: signing_terms(kubernetes({DURATION_ANNOTATION: "1h"}, expiration_seconds=7200)),
            timedelta(hours=1),
        ),
        (
            lambda: signing_terms(kubernetes({DURATION_ANNOTATION: "1h"}, expiration_seconds=3333)),
            timedelta(seconds=3333),
        ),
    ],
)
def test_lifetimes(terms: Callable[..., Any], lifetime: timedelta) -> None:
    assert terms().lifetime == lifetime


@pytest.mark.scenario("ISS-92")
@pytest.mark.parametrize(
    ("terms", "reason"),
    [
        (lambda: signing_terms(kubernetes({DURATION_ANNOTATION: "bogus"})), "ErrorParseDuration"),
        (lambda: signing_terms(kubernetes({DURATION_ANNOTATION: "300s"})), "InvalidDuration"),
        (lambda: signing_terms(kubernetes({DURATION_ANNOTATION: "2161h"})), "AnnotationNotAllowed"),
        (lambda: signing_terms(kubernetes({IS_CA_ANNOTATION: "true"})), "AnnotationNotAllowed"),
        (lambda: request_terms(cert_managers(duration="bogus")), "ErrorParseDuration"),
        (lambda: request_terms(cert_managers(duration="0s")), "InvalidDuration"),
    ],
)
def test_lifetimes_that_cannot_be(terms: Callable[..., Any], reason: str) -> None:
    with pytest.raises(TermsError) as refused:
        terms()
    assert refused.value.reason == reason


@pytest.mark.scenario("ISS-61")
def test_unknown_usages_are_named() -> None:
    with pytest.raises(pki.UnknownUsage, match="world domination"):
        request_terms(cert_managers(usages=["signing", "world domination"]))
