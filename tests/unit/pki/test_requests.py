from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from certwright.kube import JsonObject
from certwright.pki import (
    AlternativeNames,
    PrivateKey,
    RequestRefused,
    RequestTerms,
    SigningRequest,
    TooLarge,
    UnsupportedKey,
    build_request,
    certificate_violations,
    check_request,
    distinguished_name,
    parse_name,
    parse_usages,
    read_request,
    write_request,
)
from certwright.pki.errors import MalformedPem, MalformedRequest
from certwright.pki.pem import write_block
from certwright.pki.requests import Template, request_template, request_violations

TLS = parse_usages(["digital signature", "key encipherment", "server auth", "client auth"])


def violations(request: SigningRequest, **terms: Any) -> JsonObject:
    return {one.name: one.message for one in request_violations(request, RequestTerms(**terms))}


@pytest.mark.parametrize("algorithm", ["RSA", "ECDSA", "Ed25519"])
def test_a_request_says_what_it_was_built_with(
    key_of: Callable[..., PrivateKey], algorithm: str
) -> None:
    key = key_of(algorithm, 2048 if algorithm == "RSA" else 0)
    names = AlternativeNames(dns=("a.example",), uris=("spiffe://x/y",))
    csr = build_request(key, parse_name("CN=a,O=b"), names, is_ca=True, usages=TLS)
    request = read_request(write_request(csr))
    assert request.subject == parse_name("CN=a,O=b")
    assert request.names == names
    assert request.usages == TLS
    assert request.is_ca is True
    assert request.public_key == key.public_key()


def test_a_bare_request_leaves_everything_else_open(request_for: Callable[..., Any]) -> None:
    request = request_for("a.example")
    assert (request.is_ca, request.usages, request.name_constraints) == (None, None, None)
    assert violations(request) == {}
    assert violations(request, is_ca=True, usages=TLS) == {}


@pytest.mark.parametrize(("subject", "critical"), [("", True), ("CN=a", False)])
def test_names_are_critical_where_there_is_no_subject(
    request_for: Callable[..., Any], subject: str, *, critical: bool
) -> None:
    request = request_for("a.example", subject=parse_name(subject))
    found = request.csr.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert found.critical is critical


def test_ca_must_agree(request_for: Callable[..., Any]) -> None:
    request = request_for("a.example", is_ca=True)
    assert violations(request) == {
        "CaMismatch": "encoded CSR error: IsCA true does not match expected value false"
    }
    assert violations(request, is_ca=True) == {}


def test_usages_must_agree_in_order(request_for: Callable[..., Any]) -> None:
    request = request_for("a.example", usages=TLS)
    assert violations(request, usages=TLS) == {}
    swapped = parse_usages(["digital signature", "key encipherment", "client auth", "server auth"])
    assert violations(request, usages=swapped) == {
        "ExtendedKeyUsageMismatch": "encoded CSR error: the ExtKeyUsages ['server auth', 'client auth']"
        " do not match the expected ExtKeyUsages ['client auth', 'server auth']"
    }
    assert violations(request)["ExtendedKeyUsageMismatch"].endswith("expected ExtKeyUsages []")
    assert violations(request, usages=parse_usages(["signing", "server auth", "client auth"])) == {
        "KeyUsageMismatch": "encoded CSR error: the KeyUsages ['digital signature', 'key encipherment']"
        " do not match the expected KeyUsages ['digital signature']"
    }


def test_a_request_must_name_something(request_for: Callable[..., Any]) -> None:
    assert set(violations(request_for(subject=parse_name("")))) == {"NothingNamed"}


@pytest.mark.parametrize(
    "name",
    [
        "a..b",
        ".a",
        "a.",
        "-a.b",
        "a-.b",
        "*",
        "a.*.b",
        "*.*.b",
        "a b",
        "a/b",
        "x" * 64 + ".b",
        ".".join(["x" * 50] * 6),
    ],
)
def test_dns_names_must_be_dns_names(request_for: Callable[..., Any], name: str) -> None:
    request = request_for("a.example", names=AlternativeNames(dns=("good.example", name)))
    assert set(violations(request)) == {"DnsNameMalformed"}
    assert "good" not in violations(request)["DnsNameMalformed"]


@pytest.mark.parametrize(
    "name",
    ["a", "A.b-c.example", "*.example", "_srv.example", "x" * 63 + ".b", "xn--bcher-kva.example"],
)
def test_dns_names_of_every_good_kind(request_for: Callable[..., Any], name: str) -> None:
    assert violations(request_for("a.example", names=AlternativeNames(dns=(name,)))) == {}


def test_nul_in_names_is_found(request_for: Callable[..., Any]) -> None:
    request = request_for(subject=distinguished_name("bank.example\0.evil.example"))
    assert violations(request) == {
        "ControlCharacter": r"names hold control characters: 'bank.example\x00.evil.example'"
    }


def test_a_violation_refuses_the_request(request_for: Callable[..., Any]) -> None:
    check_request(request_for("a.example"), RequestTerms())
    with pytest.raises(RequestRefused) as caught:
        check_request(request_for("a..b", is_ca=True), RequestTerms())
    assert [one.name for one in caught.value.violations] == ["DnsNameMalformed", "CaMismatch"]
    assert str(caught.value).startswith("no DNS names: 'a..b'; encoded CSR error")
    assert caught.value.reason == "RequestRefused"


def test_terms_default_to_what_cert_manager_means() -> None:
    assert RequestTerms() == RequestTerms(
        timedelta(hours=2160),
        is_ca=False,
        usages=parse_usages(["digital signature", "key encipherment"]),
    )


def signed(
    key: Any,
    digest: Any = None,
    names: list[str] | tuple[str] = ("a.example",),
) -> x509.CertificateSigningRequest:
    builder = x509.CertificateSigningRequestBuilder().subject_name(parse_name("CN=a"))
    builder = builder.add_extension(
        x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False
    )
    return builder.sign(key, digest or hashes.SHA256())


def test_a_forged_signature_is_refused(key_of: Callable[..., PrivateKey]) -> None:
    der = bytearray(signed(key_of()).public_bytes(Encoding.DER))
    place = der.index(b"a.example")
    der[place] = ord("b")
    with pytest.raises(RequestRefused) as caught:
        read_request(write_block("CERTIFICATE REQUEST", bytes(der)))
    assert [one.name for one in caught.value.violations] == ["BadSignature"]


def test_weak_hashes_are_refused(key_of: Callable[..., PrivateKey]) -> None:
    vectors = pytest.importorskip("cryptography_vectors")
    with vectors.open_vector_file("x509/requests/rsa_sha1.pem", "rb") as file:
        text = file.read()
    with pytest.raises(RequestRefused) as caught:
        read_request(text)
    assert str(caught.value) == "the request is signed with SHA1"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ec.generate_private_key(ec.SECP256K1()), "curve secp256k1"),
        (lambda: rsa.generate_private_key(65_537, 1024), "RSA 1024"),  # noqa: S505
    ],
)
def test_keys_that_are_not_accepted_are_refused(make: Callable[..., Any], message: str) -> None:
    with pytest.raises(UnsupportedKey, match=message):
        read_request(write_request(signed(make())))


def test_a_thousand_names_and_no_more(key_of: Callable[..., PrivateKey]) -> None:
    names = [f"{number}.example" for number in range(1_000)]
    assert len(read_request(write_request(signed(key_of(), names=names))).names) == 1_000
    with pytest.raises(TooLarge, match="1001 alternative names are more than 1000"):
        read_request(write_request(signed(key_of(), names=[*names, "x.example"])))


def test_size_is_checked_first() -> None:
    with pytest.raises(TooLarge, match="maximum of 65536"):
        read_request(b"-" * 65_537)


def test_exactly_one_request(key_of: Callable[..., PrivateKey]) -> None:
    text = write_request(signed(key_of()))
    assert read_request(b"comment\n" + text.replace(b"\n", b"\r\n")).names.dns == ("a.example",)
    for bad, message in ((b"", "found 0"), (text + text, "found 2")):
        with pytest.raises(
            MalformedPem, match=f"expected one PEM block CERTIFICATE REQUEST, {message}"
        ):
            read_request(bad)


def test_the_old_label_is_read(key_of: Callable[..., PrivateKey]) -> None:
    text = write_request(signed(key_of())).replace(
        b"CERTIFICATE REQUEST", b"NEW CERTIFICATE REQUEST"
    )
    assert read_request(text).names.dns == ("a.example",)


def test_truncation_is_named(key_of: Callable[..., PrivateKey]) -> None:
    der = signed(key_of()).public_bytes(Encoding.DER)
    for length in range(0, len(der), 7):
        with pytest.raises(MalformedRequest, match="does not parse"):
            read_request(write_block("CERTIFICATE REQUEST", der[:length]))


def rewritten(csr: x509.CertificateSigningRequest, change: Callable[..., Any]) -> bytes:
    """The signing request with other bytes; the signature no longer matters."""
    return write_block("CERTIFICATE REQUEST", change(csr.public_bytes(Encoding.DER)))


def test_indefinite_lengths_are_refused(key_of: Callable[..., PrivateKey]) -> None:
    """BER is no DER: two encodings of one request would be two requests."""
    text = rewritten(signed(key_of()), lambda der: b"\x30\x80" + der[4:] + b"\0\0")
    with pytest.raises(MalformedRequest, match="does not parse"):
        read_request(text)


def test_trailing_bytes_are_refused(key_of: Callable[..., PrivateKey]) -> None:
    with pytest.raises(MalformedRequest, match="does not parse"):
        read_request(rewritten(signed(key_of()), lambda der: der + b"\0"))


def test_repeated_extensions_are_refused(key_of: Callable[..., PrivateKey]) -> None:
    """Subject alternative names twice: one for the check, one for the certificate."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(parse_name("CN=a"))
    names = x509.SubjectAlternativeName([x509.DNSName("a.example")])
    other = x509.UnrecognizedExtension(x509.ObjectIdentifier("2.5.29.99"), names.public_bytes())
    csr = (
        builder.add_extension(names, False)
        .add_extension(other, False)
        .sign(key_of(), hashes.SHA256())
    )
    tbs = csr.tbs_certrequest_bytes
    at = tbs.index(b"\x06\x03\x55\x1d\x63")
    resigned = tbs[: at + 4] + b"\x11" + tbs[at + 5 :]
    signature = cast("Any", key_of()).sign(resigned, ec.ECDSA(hashes.SHA256()))
    algorithm = b"\x30\x0a\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02"
    body = resigned + algorithm + b"\x03" + bytes([len(signature) + 1]) + b"\0" + signature
    der = b"\x30\x82" + len(body).to_bytes(2) + body
    with pytest.raises(MalformedRequest, match=r"(?i)duplicate"):
        read_request(write_block("CERTIFICATE REQUEST", der))


def carrying(key: PrivateKey, *extensions: x509.ExtensionType) -> SigningRequest:
    """Return a request with extensions that `build_request` does not write."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(parse_name("CN=a.example"))
    for one in extensions:
        builder = builder.add_extension(one, critical=True)
    return read_request(write_request(builder.sign(cast("Any", key), hashes.SHA256())))


@pytest.mark.parametrize("name", ["10.0.0.1", "255.255.255.255"])
def test_an_address_is_no_dns_name(key_of: Callable[..., PrivateKey], name: str) -> None:
    request = carrying(key_of(), x509.SubjectAlternativeName([x509.DNSName(name)]))
    assert violations(request) == {"DnsNameMalformed": f"IP addresses are no DNS names: '{name}'"}


def test_a_name_that_only_looks_like_an_address_is_one(key_of: Callable[..., PrivateKey]) -> None:
    names = [x509.DNSName("10.0.0.1.example"), x509.DNSName("1.2.3")]
    assert violations(carrying(key_of(), x509.SubjectAlternativeName(names))) == {}


def test_name_constraints_are_for_authorities(key_of: Callable[..., PrivateKey]) -> None:
    """RFC 5280, 4.2.1.10; cert-manager refuses such a Certificate too."""
    constraints = x509.NameConstraints([x509.DNSName("example")], None)
    request = carrying(key_of(), constraints)
    assert set(violations(request)) == {"NameConstraintsMisplaced"}
    assert violations(request, is_ca=True) == {}


@pytest.mark.parametrize("length", [None, 0, 3])
def test_the_path_length_of_a_request_is_kept(
    key_of: Callable[..., PrivateKey], length: int | None
) -> None:
    request = carrying(key_of(), x509.BasicConstraints(ca=True, path_length=length))
    assert request.path_length == length
    assert request_template(request, RequestTerms(is_ca=True)).path_length == length


def test_what_only_an_authority_may_have_is_left_out(key_of: Callable[..., PrivateKey]) -> None:
    """RFC 5280, 4.2.1.3, 4.2.1.9 and 4.2.1.10."""
    constraints = x509.NameConstraints([x509.DNSName("example")], None)
    template = Template(
        parse_name("CN=a"), key_of().public_key(), timedelta(days=1),
        usages=parse_usages(["digital signature", "cert sign"]), path_length=3,
        name_constraints=x509.Extension(constraints.oid, True, constraints),
    )  # fmt: skip
    given: dict[Any, Any] = {type(value): value for value, _ in template.extensions()}
    assert not given[x509.KeyUsage].key_cert_sign
    assert given[x509.BasicConstraints] == x509.BasicConstraints(ca=False, path_length=None)
    assert x509.NameConstraints not in given
    authority: dict[Any, Any] = {
        type(value): value for value, _ in replace(template, is_ca=True).extensions()
    }
    assert authority[x509.KeyUsage].key_cert_sign
    assert authority[x509.BasicConstraints].path_length == 3
    assert x509.NameConstraints in authority


def test_a_usage_that_is_for_authorities_only_is_not_missed(
    root: Any, key_of: Callable[..., PrivateKey], now: datetime
) -> None:
    request = carrying(key_of(which="leaf"))
    terms = RequestTerms(usages=parse_usages(["digital signature", "cert sign"]))
    leaf = root.issue_request(request, terms, now)
    assert certificate_violations(leaf, request, terms, now) == []
