import ipaddress

import pytest
from cryptography import x509

from certwright.pki import parse_name
from certwright.pki.constraints import name_violations, normal_name

OTHER = x509.OtherName(x509.ObjectIdentifier("1.2.3"), b"\x05\x00")
NOBODY = parse_name("")


def dns(value: str) -> x509.DNSName:
    return x509.DNSName(value)


def uri(value: str) -> x509.UniformResourceIdentifier:
    return x509.UniformResourceIdentifier(value)


def mail(value: str) -> x509.RFC822Name:
    return x509.RFC822Name(value)


def address(value: str) -> x509.IPAddress:
    return x509.IPAddress(ipaddress.ip_address(value))


def network(value: str) -> x509.IPAddress:
    return x509.IPAddress(ipaddress.ip_network(value))


@pytest.mark.parametrize(
    ("tree", "inside", "outside"),
    [
        (
            dns("example.com"),
            [dns("example.com"), dns("a.EXAMPLE.com")],
            [dns("badexample.com"), dns("com")],
        ),
        (dns(".example.com"), [dns("a.example.com")], [dns("example.org")]),
        (dns(""), [dns("anything.example")], []),
        (mail("example.com"), [mail("a@example.com")], [mail("a@b.example.com")]),
        (mail(".example.com"), [mail("a@b.example.com")], [mail("a@example.com")]),
        (
            mail("a@example.com"),
            [mail("a@EXAMPLE.com")],
            [mail("b@example.com"), mail("A@example.com")],
        ),
        (uri("example.com"), [uri("https://example.com:8443/x")], [uri("https://a.example.com")]),
        (uri(".example.com"), [uri("spiffe://a.example.com/x")], [uri("https://example.com")]),
        (network("10.0.0.0/8"), [address("10.1.2.3")], [address("11.0.0.1"), address("fd00::1")]),
    ],
)
def test_permitted_and_excluded_are_opposites(
    tree: x509.GeneralName, inside: list[x509.GeneralName], outside: list[x509.GeneralName]
) -> None:
    permitted, excluded = x509.NameConstraints([tree], None), x509.NameConstraints(None, [tree])
    for name in inside:
        names = x509.SubjectAlternativeName([name])
        assert name_violations(NOBODY, names, permitted) == []
        assert [one.name for one in name_violations(NOBODY, names, excluded)] == ["NameForbidden"]
    for name in outside:
        names = x509.SubjectAlternativeName([name])
        assert [one.name for one in name_violations(NOBODY, names, permitted)] == ["NameForbidden"]
        assert name_violations(NOBODY, names, excluded) == []


def test_directories_are_compared_from_the_top() -> None:
    tree = x509.NameConstraints([x509.DirectoryName(parse_name("O=Shop,C=DE"))], None)
    assert name_violations(parse_name("CN=a,O=SHOP,C=DE"), None, tree) == []
    (found,) = name_violations(parse_name("CN=a,O=Other,C=DE"), None, tree)
    assert found.message == "'CN=a,O=Other,C=DE' is not permitted"


def test_a_mail_address_in_the_subject_counts_where_there_is_no_other() -> None:
    tree = x509.NameConstraints([mail("example.com")], None)
    subject = parse_name("EMAILADDRESS=a@evil.example")
    assert len(name_violations(subject, None, tree)) == 1
    names = x509.SubjectAlternativeName([mail("a@example.com")])
    assert name_violations(subject, names, tree) == []


@pytest.mark.parametrize("name", [OTHER, uri("urn:x"), uri("https://[broken")])
def test_what_cannot_be_checked_is_forbidden(name: x509.GeneralName) -> None:
    tree = OTHER if name is OTHER else uri("example.com")
    names = x509.SubjectAlternativeName([name])
    for constraints in (x509.NameConstraints([tree], None), x509.NameConstraints(None, [tree])):
        (found,) = name_violations(NOBODY, names, constraints)
        assert found.message.endswith("cannot be checked")


def test_other_kinds_are_free() -> None:
    names = x509.SubjectAlternativeName([mail("a@b.example"), OTHER])
    assert name_violations(NOBODY, names, x509.NameConstraints([dns("example.com")], None)) == []


def test_names_are_the_same_but_for_case_and_spaces() -> None:
    assert normal_name(parse_name("CN=Good  CA,O=X")) == normal_name(
        parse_name(r"CN=good ca\ ,O=x")
    )
    assert normal_name(parse_name("CN=a,O=b")) != normal_name(parse_name("O=b,CN=a"))
