import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import ExtendedKeyUsageOID

from certwright.kube import JsonObject
from certwright.pki import (
    Authority,
    PathRefused,
    PrivateKey,
    client_template,
    create_intermediate,
    create_root,
    parse_name,
    verify_path,
)
from certwright.pki.paths import path_violations
from certwright.pki.requests import authority_template

DAY = timedelta(days=1)


@pytest.fixture(scope="module")
def leaf(
    intermediate: Authority, key_of: Callable[..., PrivateKey], now: datetime
) -> x509.Certificate:
    return intermediate.issue(
        client_template(parse_name("CN=leaf"), key_of().public_key(), DAY), now
    )


def refusals(leaf: x509.Certificate, **arguments: Any) -> list[str]:
    with pytest.raises(PathRefused) as caught:
        verify_path(leaf, **arguments)
    return [one.name for one in caught.value.violations]


def test_the_path_is_found_among_strangers(
    root: Authority,
    intermediate: Authority,
    leaf: x509.Certificate,
    key_of: Callable[..., PrivateKey],
    now: datetime,
) -> None:
    stranger = create_root(
        parse_name("CN=stranger"), key_of(which="stranger"), DAY, now
    ).certificate
    path = verify_path(
        leaf,
        roots=[stranger, root.certificate],
        intermediates=[stranger, intermediate.certificate, leaf],
        now=now,
        usage=ExtendedKeyUsageOID.CLIENT_AUTH,
    )
    assert path == (leaf, intermediate.certificate, root.certificate)


def test_a_trusted_leaf_is_its_own_path(leaf: x509.Certificate, now: datetime) -> None:
    assert verify_path(leaf, roots=[leaf], now=now) == (leaf,)


def test_what_is_wrong_has_a_name(
    root: Authority, intermediate: Authority, leaf: x509.Certificate, now: datetime
) -> None:
    good = {"roots": [root.certificate], "intermediates": [intermediate.certificate]}
    assert refusals(leaf, roots=[root.certificate], now=now) == ["NoPath"]
    assert refusals(leaf, **good, now=now + 2 * DAY) == ["Expired"]
    assert refusals(leaf, **good, now=now - timedelta(minutes=6)) == ["NotYetValid"]
    assert refusals(leaf, **good, now=now, usage=ExtendedKeyUsageOID.SERVER_AUTH) == [
        "UsageForbidden"
    ]


def test_a_root_of_the_same_name_is_not_enough(
    root: Authority,
    leaf: x509.Certificate,
    intermediate: Authority,
    key_of: Callable[..., PrivateKey],
    now: datetime,
) -> None:
    impostor = create_root(root.certificate.subject, key_of(which="impostor"), DAY, now)
    found = refusals(
        leaf, roots=[impostor.certificate], intermediates=[intermediate.certificate], now=now
    )
    assert found == ["BadSignature"]


def test_the_names_that_an_authority_may_sign_for_hold(
    root: Authority, key_of: Callable[..., PrivateKey], now: datetime
) -> None:
    """The authority refuses to sign; here somebody else did."""
    value = x509.NameConstraints(None, [x509.DNSName("example")])
    template = authority_template(parse_name("CN=narrow"), key_of(which=5).public_key(), DAY)
    narrow = Authority(
        root.issue(
            type(template)(
                template.subject, template.public_key, DAY, usages=template.usages, is_ca=True,
                name_constraints=x509.Extension(value.oid, True, value),
            ),
            now,
        ),
        key_of(which=5),
    )  # fmt: skip
    outside = (
        x509.CertificateBuilder()
        .subject_name(parse_name("CN=x"))
        .issuer_name(narrow.certificate.subject)
        .public_key(key_of().public_key())
        .serial_number(1)
        .not_valid_before(now - DAY)
        .not_valid_after(now + DAY)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("a.example")]), critical=False)
        .sign(key_of(which=5), hashes.SHA256())
    )
    given = {"roots": [root.certificate], "intermediates": [narrow.certificate], "now": now}
    assert refusals(outside, **given) == ["NameForbidden"]


def test_the_search_is_bounded(key_of: Callable[..., PrivateKey], now: datetime) -> None:
    """Authorities that all sign each other offer more ways than anybody can try."""
    key = key_of(which="mesh")
    mesh = [create_root(parse_name("CN=mesh"), key, (9 + step) * DAY, now) for step in range(12)]
    leaf = mesh[0].issue(client_template(parse_name("CN=leaf"), key_of().public_key(), DAY), now)
    other = create_root(parse_name("CN=mesh"), key_of(which="other"), DAY, now).certificate
    found = refusals(leaf, roots=[other], intermediates=[one.certificate for one in mesh], now=now)
    assert found == ["BadSignature"]


def test_ten_certificates_are_the_longest_path(
    key_of: Callable[..., PrivateKey], now: datetime
) -> None:
    key = key_of()
    authorities = [create_root(parse_name("CN=0"), key, 99 * DAY, now)]
    for number in range(1, 9):
        name = parse_name(f"CN={number}")
        authorities.append(create_intermediate(authorities[-1], name, key, 50 * DAY, now))
    between = [one.certificate for one in authorities[1:]]
    roots = [authorities[0].certificate]
    leaf = authorities[-1].issue(client_template(parse_name("CN=l"), key.public_key(), DAY), now)
    assert len(verify_path(leaf, roots=roots, intermediates=between, now=now)) == 10
    more = create_intermediate(authorities[-1], parse_name("CN=9"), key, 50 * DAY, now)
    leaf = more.issue(client_template(parse_name("CN=l"), key.public_key(), DAY), now)
    found = refusals(leaf, roots=roots, intermediates=[*between, more.certificate], now=now)
    assert found == ["NoPath"]


def test_weak_signatures_count_below_the_root_only() -> None:
    """The SHA-1 leaf of a real chain is named; a SHA-1 root is trusted for itself."""
    vectors = pytest.importorskip("cryptography_vectors")
    with vectors.open_vector_file("x509/custom/post2000utctime.pem", "rb") as file:
        old = x509.load_pem_x509_certificate(file.read())
    moment = old.not_valid_before_utc
    assert "WeakSignature" not in [one.name for one in path_violations((old,), moment)]
    assert "WeakSignature" in [one.name for one in path_violations((old, old), moment)]


# The NIST suite. Left out: what needs revocation lists (sections 4.4, 4.5 in part, 4.7.4,
# 4.7.5, 4.14, 4.15), what asks for policies (4.8 to 4.12), and DSA.
NEEDS_REVOCATION = re.compile(
    r"CRL|cRL|Revoked|deltaCRL|distributionPoint|onlyContains|onlySomeReasons|"
    r"Invalid\w+SerialNumber|InvalidBasicSelfIssued"
)
NEEDS_POLICIES = re.compile(r"[pP]olic(y|ies)|UserNotice|CPSPointer|inhibitAny|AllCertificates")
NEEDS_DSA = re.compile(r"DSA")


@pytest.fixture(scope="module")
def pkits() -> JsonObject:
    vectors = pytest.importorskip("cryptography_vectors")
    from importlib.resources import files  # noqa: PLC0415

    folder = files(vectors) / "x509" / "PKITS_data" / "certs"
    return {
        entry.name.removesuffix(".crt"): x509.load_der_x509_certificate(entry.read_bytes())
        for entry in folder.iterdir()
        if entry.name.endswith(".crt") and "InheritedCACert" not in entry.name and "Inheritance" not in entry.name
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore::cryptography.utils.CryptographyDeprecationWarning")
def test_the_nist_suite_agrees(pkits: dict[str, x509.Certificate]) -> None:
    anchor = pkits["TrustAnchorRootCertificate"]
    subjects = {name: one for name, one in pkits.items() if re.search(r"Test\d+EE$", name)}
    between = [one for name, one in pkits.items() if name not in subjects]
    verdicts = {}
    for name, certificate in subjects.items():
        if any(rule.search(name) for rule in (NEEDS_REVOCATION, NEEDS_POLICIES, NEEDS_DSA)):
            continue
        try:
            verify_path(
                certificate,
                roots=[anchor],
                intermediates=between,
                now=datetime(2012, 1, 1, tzinfo=UTC),
            )
            verdicts[name] = "Valid"
        except PathRefused:
            verdicts[name] = "Invalid"
    wrong = [name for name, verdict in verdicts.items() if not name.startswith(verdict)]
    assert not wrong
    assert len(verdicts) == 89
    assert {"Valid", "Invalid"} == set(verdicts.values())
