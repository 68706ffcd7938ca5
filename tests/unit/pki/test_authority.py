import shutil
import subprocess
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import AuthorityInformationAccessOID

from certwright.pki import (
    AlternativeNames,
    Authority,
    AuthorityUnfit,
    Endpoints,
    PrivateKey,
    RequestRefused,
    RequestTerms,
    Validity,
    client_template,
    create_intermediate,
    create_root,
    parse_name,
    parse_usages,
    read_certificates,
    self_sign,
    server_template,
    write_certificates,
)
from certwright.pki.authority import Revocation, new_serial, write_revocation_list
from certwright.pki.certificates import alternative_names, extension, usages_of
from certwright.pki.chains import is_self_signed
from certwright.pki.requests import Template, authority_template

DAY = timedelta(days=1)
NAMES = AlternativeNames.of_hosts("a.example", "10.0.0.1")


def carried(certificate: x509.Certificate, type_: Any) -> Any:
    """Return an extension of a certificate, or None."""
    return extension(certificate, type_)


@pytest.fixture
def leaf_template(key_of: Callable[..., PrivateKey]) -> Template:
    return server_template(parse_name("CN=a"), key_of(which="leaf").public_key(), DAY, NAMES)


def test_a_root_is_self_signed_and_may_sign(root: Authority) -> None:
    certificate = root.certificate
    assert is_self_signed(certificate)
    assert certificate.issuer == certificate.subject == parse_name("CN=Test Root,O=Test,C=DE")
    assert carried(certificate, x509.BasicConstraints) == x509.BasicConstraints(True, None)
    assert usages_of(certificate).key == {"digital signature", "cert sign", "crl sign"}


def test_a_leaf_says_what_its_template_says(
    root: Authority, leaf_template: Template, now: datetime
) -> None:
    leaf = root.issue(leaf_template, now)
    assert leaf.issuer == root.certificate.subject
    assert alternative_names(leaf) == NAMES
    assert usages_of(leaf) == parse_usages(["digital signature", "server auth"])
    assert carried(leaf, x509.BasicConstraints) == x509.BasicConstraints(False, None)
    signer = carried(root.certificate, x509.SubjectKeyIdentifier)
    assert carried(leaf, x509.AuthorityKeyIdentifier).key_identifier == signer.digest


@pytest.mark.parametrize(
    ("lifetime", "backdated"),
    [(DAY, timedelta(minutes=5)), (timedelta(minutes=10), timedelta(minutes=1))],
)
def test_the_start_lies_a_little_in_the_past(
    root: Authority,
    key_of: Callable[..., PrivateKey],
    now: datetime,
    lifetime: timedelta,
    backdated: timedelta,
) -> None:
    template = client_template(parse_name("CN=a"), key_of().public_key(), lifetime)
    validity = Validity.of(root.issue(template, now))
    assert validity.not_before == now.replace(microsecond=0) - backdated
    assert validity.lifetime == lifetime


def test_below_an_authority_of_a_moment_ago_a_certificate_lasts_as_long_as_asked(
    key_of: Callable[..., PrivateKey], now: datetime
) -> None:
    """OpenSSL and others do not back-date: the authority may be younger than our back-dating."""
    young = create_root(parse_name("CN=young"), key_of(), 90 * DAY, now)
    made = Validity.of(young.certificate).not_before + timedelta(seconds=2)
    leaf = young.issue(client_template(parse_name("CN=me"), key_of().public_key(), DAY), made)
    assert Validity.of(leaf).not_before == Validity.of(young.certificate).not_before
    assert Validity.of(leaf).lifetime == DAY


def test_nothing_outlives_its_authority(
    root: Authority, key_of: Callable[..., PrivateKey], now: datetime
) -> None:
    template = client_template(parse_name("CN=a"), key_of().public_key(), 5000 * DAY)
    leaf, own = Validity.of(root.issue(template, now)), Validity.of(root.certificate)
    assert leaf.not_after == own.not_after
    fresh = create_root(parse_name("CN=b"), key_of(), DAY, now)
    early = fresh.issue(template, Validity.of(fresh.certificate).not_before)
    assert Validity.of(early).not_before == Validity.of(fresh.certificate).not_before


def test_an_expired_authority_signs_nothing(
    root: Authority, leaf_template: Template, now: datetime
) -> None:
    with pytest.raises(AuthorityUnfit, match="the certificate authority is valid from"):
        root.issue(leaf_template, now + 3650 * DAY)
    with pytest.raises(AuthorityUnfit, match="not at"):
        root.issue(leaf_template, now - 2 * DAY)


def test_serials_are_large_and_differ() -> None:
    serials = {new_serial() for _ in range(2_000)}
    assert len(serials) == 2_000
    assert all(0 < serial < 1 << 159 for serial in serials)
    assert min(serials).bit_length() > 130
    assert max(serials).bit_length() == 159


def test_path_lengths_count_down(key_of: Callable[..., PrivateKey], now: datetime) -> None:
    top = create_root(parse_name("CN=top"), key_of(which=1), 10 * DAY, now, path_length=1)
    middle = create_intermediate(top, parse_name("CN=mid"), key_of(which=2), 5 * DAY, now)
    assert carried(middle.certificate, x509.BasicConstraints).path_length == 0
    assert middle.chain == ()
    with pytest.raises(AuthorityUnfit, match="path length allows no authority below"):
        create_intermediate(middle, parse_name("CN=low"), key_of(which=3), DAY, now)
    asked = authority_template(parse_name("CN=x"), key_of(which=3).public_key(), DAY, path_length=9)
    given = carried(top.issue(asked, now), x509.BasicConstraints)
    assert given.path_length == 0


def test_a_chain_is_written_leaf_first_without_the_root(
    root: Authority, intermediate: Authority, leaf_template: Template, now: datetime
) -> None:
    leaf = intermediate.issue(leaf_template, now)
    assert read_certificates(intermediate.write_chain(leaf)) == [leaf, intermediate.certificate]
    direct = root.issue(leaf_template, now)
    assert read_certificates(root.write_chain(direct)) == [direct]


def test_deeper_chains_hold_every_intermediate(
    intermediate: Authority,
    leaf_template: Template,
    key_of: Callable[..., PrivateKey],
    now: datetime,
) -> None:
    deep = create_intermediate(intermediate, parse_name("CN=deep"), key_of(which=4), DAY, now)
    leaf = deep.issue(leaf_template, now)
    assert read_certificates(deep.write_chain(leaf)) == [
        leaf, deep.certificate, intermediate.certificate,
    ]  # fmt: skip


def test_the_top_is_the_root_where_the_chain_holds_it(
    root: Authority, intermediate: Authority
) -> None:
    assert root.top_pem == write_certificates(root.certificate)
    assert intermediate.top_pem == write_certificates(intermediate.certificate)
    whole = Authority(intermediate.certificate, intermediate.key, (root.certificate,))
    assert whole.top_pem == write_certificates(root.certificate)


def test_only_an_authority_with_its_key_is_one(
    root: Authority, leaf_template: Template, key_of: Callable[..., PrivateKey], now: datetime
) -> None:
    leaf = root.issue(leaf_template, now)
    with pytest.raises(AuthorityUnfit, match="not allowed to sign certificates"):
        Authority(leaf, key_of(which="leaf"))
    with pytest.raises(AuthorityUnfit, match="does not belong"):
        Authority(root.certificate, key_of(which="leaf"))
    assert "PrivateKey" not in repr(root)


def test_endpoints_are_written_into_every_certificate(
    root: Authority, leaf_template: Template, now: datetime
) -> None:
    endpoints = Endpoints(("http://x/crl",), ("http://x/ocsp",), ("http://x/ca",))
    leaf = Authority(root.certificate, root.key, endpoints=endpoints).issue(leaf_template, now)
    access = {
        one.access_method: one.access_location.value
        for one in carried(leaf, x509.AuthorityInformationAccess)
    }
    assert access == {
        AuthorityInformationAccessOID.OCSP: "http://x/ocsp",
        AuthorityInformationAccessOID.CA_ISSUERS: "http://x/ca",
    }
    (point,) = carried(leaf, x509.CRLDistributionPoints)
    assert [name.value for name in point.full_name] == ["http://x/crl"]


def test_name_constraints_of_the_authority_hold(
    root: Authority, key_of: Callable[..., PrivateKey], leaf_template: Template, now: datetime
) -> None:
    constraints = x509.NameConstraints([x509.DNSName("example.org")], None)
    template = authority_template(parse_name("CN=narrow"), key_of(which=5).public_key(), DAY)
    template = type(template)(
        template.subject, template.public_key, DAY, usages=template.usages, is_ca=True,
        name_constraints=x509.Extension(constraints.oid, True, constraints),
    )  # fmt: skip
    narrow = Authority(root.issue(template, now), key_of(which=5))
    with pytest.raises(AuthorityUnfit, match=r"'a\.example' is not permitted"):
        narrow.issue(leaf_template, now)


def test_a_request_is_checked_and_signed(
    root: Authority, request_for: Callable[..., Any], now: datetime
) -> None:
    leaf = root.issue_request(request_for("a.example"), RequestTerms(), now)
    assert alternative_names(leaf).dns == ("a.example",)
    assert Validity.of(leaf).lifetime == 90 * DAY
    assert usages_of(leaf) == parse_usages(["digital signature"])
    with pytest.raises(RequestRefused):
        root.issue_request(request_for("a.example", is_ca=True), RequestTerms(), now)


def test_names_of_a_request_survive_byte_for_byte(
    root: Authority, request_for: Callable[..., Any], now: datetime
) -> None:
    upn = x509.OtherName(x509.ObjectIdentifier("1.3.6.1.4.1.311.20.2.3"), b"\x0c\x03a@b")
    names = AlternativeNames(dns=("a.example",), emails=("c@d.example",), others=(upn,))
    request = request_for("a.example", names=names)
    leaf = root.issue_request(request, RequestTerms(), now)
    asked = request.csr.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    given = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert given.value.public_bytes() == asked.value.public_bytes()
    assert not given.critical
    bare = root.issue_request(request_for("a.example", subject=parse_name("")), RequestTerms(), now)
    assert bare.extensions.get_extension_for_class(x509.SubjectAlternativeName).critical


def test_the_subject_of_a_request_survives_byte_for_byte(
    root: Authority, request_for: Callable[..., Any], now: datetime
) -> None:
    subject = parse_name("CN=*.example,OU=b,OU=a+UID=7,O=x")
    request = request_for("a.example", subject=subject)
    leaf = root.issue_request(request, RequestTerms(), now)
    assert leaf.subject.public_bytes() == request.csr.subject.public_bytes()


def test_self_signing_needs_the_key_of_the_template(
    leaf_template: Template, key_of: Callable[..., PrivateKey], now: datetime
) -> None:
    assert is_self_signed(self_sign(leaf_template, key_of(which="leaf"), now))
    with pytest.raises(AuthorityUnfit, match="another key"):
        self_sign(leaf_template, key_of(which="other"), now)


def test_a_revocation_list_names_the_revoked(root: Authority, now: datetime) -> None:
    revoked = [Revocation(7, now - DAY, x509.ReasonFlags.superseded), Revocation(8, now)]
    listed = root.revocation_list(revoked, number=3, now=now, lifetime=7 * DAY)
    assert listed.is_signature_valid(root.key.public_key())
    assert [one.serial_number for one in listed] == [7, 8]
    entry = listed.get_revoked_certificate_by_serial_number(7)
    assert entry is not None
    reason = entry.extensions[0].value
    assert reason == x509.CRLReason(x509.ReasonFlags.superseded)
    assert listed.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number == 3
    assert listed.next_update_utc == listed.last_update_utc + 7 * DAY
    assert write_revocation_list(listed).startswith(b"-----BEGIN X509 CRL-----")


def test_only_authorities_sign_revocation_lists(
    root: Authority,
    request_for: Callable[..., Any],
    key_of: Callable[..., PrivateKey],
    now: datetime,
) -> None:
    terms = RequestTerms(is_ca=True, usages=parse_usages(["cert sign"]))
    certificate = root.issue_request(request_for("ca.example", is_ca=True), terms, now)
    with pytest.raises(AuthorityUnfit, match="revocation lists"):
        Authority(certificate, key_of(which="leaf")).revocation_list(
            [], number=1, now=now, lifetime=DAY
        )


@pytest.mark.skipif(shutil.which("openssl") is None, reason="apt-get install openssl")
@pytest.mark.parametrize(
    ("signer", "holder"),
    [
        ("RSA", "RSA"),
        ("ECDSA", "RSA"),
        ("ECDSA", "ECDSA"),
        ("Ed25519", "Ed25519"),
        ("RSA", "Ed25519"),
    ],
)
def test_openssl_believes_it(
    key_of: Callable[..., PrivateKey], now: datetime, tmp_path: Path, signer: str, holder: str
) -> None:
    size = {"RSA": 2048}
    top = create_root(
        parse_name("CN=Top"), key_of(signer, size.get(signer, 0), "top"), 9 * DAY, now
    )
    between = create_intermediate(
        top, parse_name("CN=Between"), key_of(signer, size.get(signer, 0), "mid"), 5 * DAY, now
    )
    key = key_of(holder, size.get(holder, 0), "low")
    leaf = between.issue(server_template(parse_name("CN=a"), key.public_key(), DAY, NAMES), now)
    for name, certificate in (
        ("root", top.certificate),
        ("mid", between.certificate),
        ("leaf", leaf),
    ):
        (tmp_path / name).write_bytes(write_certificates(certificate))
    (tmp_path / "crl").write_bytes(
        write_revocation_list(between.revocation_list([], number=1, now=now, lifetime=DAY))
    )
    verify = [
        "openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname", "a.example",
        "-attime", str(int(now.timestamp())), "-CAfile", "root", "-untrusted", "mid",
        "-crl_check", "-CRLfile", "crl", "leaf",
    ]  # fmt: skip
    done = subprocess.run(verify, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("leaf: OK", 0), done.stderr
