import ipaddress

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID
from hypothesis import given, settings
from hypothesis import strategies as st

from certwright.pki import AlternativeNames, TooLarge, distinguished_name, format_name, parse_name
from certwright.pki.constraints import normal_name
from certwright.pki.errors import MalformedName
from certwright.pki.names import common_name, control_characters, other_name


def pairs(name: x509.Name) -> list[list[tuple[str, str | bytes]]]:
    return [
        [(attribute.rfc4514_attribute_name, attribute.value) for attribute in rdn]
        for rdn in name.rdns
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CN=web,O=shop,C=DE", [[("C", "DE")], [("O", "shop")], [("CN", "web")]]),
        ("CN = web ,  O= shop ", [[("O", "shop")], [("CN", "web")]]),
        ("cn=web;ou=a;ou=b", [[("OU", "b")], [("OU", "a")], [("CN", "web")]]),
        ("CN=*.example.com,OU=x,OU=y", [[("OU", "y")], [("OU", "x")], [("CN", "*.example.com")]]),
        (r"O=Shop\, Inc,CN=a\+b", [[("CN", "a+b")], [("O", "Shop, Inc")]]),
        (r"CN=\ #x\ ", [[("CN", " #x ")]]),
        (r"CN=L\C4\8Di\C4\87", [[("CN", "Lčić")]]),
        ('O="Shop, Inc; \\"x\\" ",C=DE', [[("C", "DE")], [("O", 'Shop, Inc; "x" ')]]),
        ("1.3.6.1.4.1.99=x", [[("1.3.6.1.4.1.99", "x")]]),
        ("CN=#0c03616263", [[("CN", "abc")]]),
        ("UID=7,DC=example,DC=com", [[("DC", "com")], [("DC", "example")], [("UID", "7")]]),
        ("  ", []),
    ],
)
def test_text_is_read_from_the_end(text: str, expected: list[list[tuple[str, str]]]) -> None:
    assert pairs(parse_name(text)) == expected


def test_attributes_joined_by_plus_form_one_set() -> None:
    (rdn,) = parse_name("CN=web+UID=7").rdns
    assert {attribute.value for attribute in rdn} == {"web", "7"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CN", "'CN' has no equals sign"),
        ("CN=a,,O=b", "'' has no equals sign"),
        ("NOPE=a", "unknown attribute type 'NOPE'"),
        ("1.99999999999.3=a", "unknown attribute type"),
        ("CN=", "length"),
        ("C=DEU", "length"),
        ('CN="a', "quotation mark is not closed"),
        (r"CN=a\q", "escape that means nothing"),
        ("CN=a\\", "escape that means nothing"),
        (r"CN=\FF", "can't decode byte"),
        ("CN=#04", "is not an encoded string"),
        ("CN=#zz", "non-hexadecimal"),
        ("CN=a+CN=a", "duplicate"),
    ],
)
def test_other_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(MalformedName, match=message):
        parse_name(text)


def test_giant_text_is_refused_unread() -> None:
    with pytest.raises(TooLarge):
        parse_name("CN=" + "a" * 16_384)


attributes = st.one_of(
    st.builds(
        x509.NameAttribute,
        st.sampled_from([NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME, NameOID.USER_ID]),
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12),
    ),
    st.just(x509.NameAttribute(NameOID.COUNTRY_NAME, "DE")),
)


@settings(deadline=None)
@given(
    st.lists(
        st.lists(attributes, min_size=1, max_size=3, unique_by=lambda one: one.oid), max_size=4
    )
)
def test_every_name_survives_as_text(rdns: list[list[x509.NameAttribute[str]]]) -> None:
    name = x509.Name([x509.RelativeDistinguishedName(rdn) for rdn in rdns])
    again = parse_name(format_name(name))
    assert again == name
    assert normal_name(again) == normal_name(name)


def test_a_bit_string_survives_as_text() -> None:
    kind = x509.name._ASN1Type.BitString
    name = x509.Name([x509.NameAttribute(NameOID.X500_UNIQUE_IDENTIFIER, b"\0\7", kind)])
    assert format_name(name) == "2.5.4.45=#03020007"
    assert parse_name("2.5.4.45=#03020007") == name


def test_the_usual_name() -> None:
    assert format_name(distinguished_name("web", ["a", "b"])) == "CN=web,O=b,O=a"
    assert not distinguished_name().rdns
    with pytest.raises(MalformedName):
        distinguished_name("a" * 65)


def test_the_last_common_name_counts() -> None:
    assert common_name(parse_name("CN=last,CN=first,O=x")) == "last"
    assert common_name(parse_name("O=x")) == ""


def test_hosts_are_sorted_into_addresses_and_names() -> None:
    names = AlternativeNames.of_hosts("a.example", "10.0.0.1", "::1")
    assert names.dns == ("a.example",)
    assert names.ips == (ipaddress.ip_address("10.0.0.1"), ipaddress.ip_address("::1"))


def test_alternative_names_survive_as_extension() -> None:
    names = AlternativeNames(
        dns=("a.example", "*.b.example"),
        ips=(ipaddress.ip_address("fd00::1"),),
        emails=("me@example.com",),
        uris=("spiffe://cluster.local/ns/a/sa/b",),
        others=(x509.OtherName(x509.ObjectIdentifier("1.3.6.1.4.1.311.20.2.3"), b"\x0c\x01x"),),
    )
    assert AlternativeNames.of_extension(names.to_extension()) == names
    assert len(names) == 6
    assert not AlternativeNames()


def test_other_names_hold_a_text_under_their_oid() -> None:
    made = other_name("1.3.6.1.4.1.311.20.2.3", "me@example.com")
    assert isinstance(made, x509.OtherName)
    assert made.value == b"\x0c\x0eme@example.com"
    for oid, text in (("not.an.oid", "x"), ("1.2.3", "x" * 128)):
        with pytest.raises(MalformedName):
            other_name(oid, text)


def test_names_that_certificates_cannot_carry_are_refused() -> None:
    with pytest.raises(MalformedName, match="no alternative names can hold"):
        AlternativeNames(dns=("bücher.example",)).to_extension()


def test_dns_names_are_compared_without_case() -> None:
    assert (
        AlternativeNames(dns=("A.Example",)).as_set()
        == AlternativeNames(dns=("a.example",)).as_set()
    )
    assert AlternativeNames(uris=("x:A",)).as_set() != AlternativeNames(uris=("x:a",)).as_set()


def test_control_characters_are_found_in_every_kind_of_name() -> None:
    names = AlternativeNames(
        dns=("good.example\0.evil.example",), uris=("x:\x7f",), emails=("a@b",)
    )
    subject = distinguished_name("line\nbreak")
    assert control_characters(subject, names) == [
        "good.example\0.evil.example", "x:\x7f", "line\nbreak",
    ]  # fmt: skip
