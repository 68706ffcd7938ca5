from collections.abc import Callable

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from certwright.pki import PrivateKey, UnknownUsage, parse_usages
from certwright.pki.usages import Usages

KEY = [
    "digital signature", "content commitment", "key encipherment", "data encipherment",
    "key agreement", "cert sign", "crl sign", "encipher only", "decipher only",
]  # fmt: skip
EXTENDED = {
    "any": "2.5.29.37.0", "server auth": "1.3.6.1.5.5.7.3.1", "client auth": "1.3.6.1.5.5.7.3.2",
    "code signing": "1.3.6.1.5.5.7.3.3", "email protection": "1.3.6.1.5.5.7.3.4",
    "ipsec end system": "1.3.6.1.5.5.7.3.5", "ipsec tunnel": "1.3.6.1.5.5.7.3.6",
    "ipsec user": "1.3.6.1.5.5.7.3.7", "timestamping": "1.3.6.1.5.5.7.3.8",
    "ocsp signing": "1.3.6.1.5.5.7.3.9", "microsoft sgc": "1.3.6.1.4.1.311.10.3.3",
    "netscape sgc": "2.16.840.1.113730.4.1",
}  # fmt: skip


def test_every_word_becomes_its_bit_or_number() -> None:
    usages = parse_usages([*KEY, *EXTENDED])
    assert usages.key == set(KEY)
    assert [oid.dotted_string for oid in usages.extended] == list(EXTENDED.values())
    assert usages.key_words() == KEY
    assert usages.extended_words() == list(EXTENDED)
    assert Usages.of_extensions(usages.key_usage(), usages.extended_key_usage()) == usages


def test_synonyms_and_repeats() -> None:
    assert parse_usages(["signing", "s/mime", "signing", "email protection"]) == parse_usages(
        ["digital signature", "email protection"]
    )


def test_extended_usages_keep_their_order() -> None:
    assert parse_usages(["client auth", "server auth"]) != parse_usages(
        ["server auth", "client auth"]
    )


def test_unknown_words_are_all_named() -> None:
    with pytest.raises(UnknownUsage, match=r"^unknown key usages: \['fly', 'swim'\]$"):
        parse_usages(["signing", "fly", "server auth", "swim"])


def test_missing_extensions_are_empty() -> None:
    assert Usages.of_extensions(None, None) == Usages()


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [
        (
            "RSA",
            {
                "digital signature",
                "key encipherment",
                "data encipherment",
                "key agreement",
                "encipher only",
            },
        ),
        ("ECDSA", {"digital signature", "key agreement", "encipher only"}),
        ("Ed25519", {"digital signature"}),
    ],
)
def test_only_what_the_key_can_serve_remains(
    key_of: Callable[..., PrivateKey], algorithm: str, expected: set[str]
) -> None:
    asked = parse_usages(
        ["signing", "key encipherment", "data encipherment", "key agreement", "encipher only"]
    )
    key = key_of(algorithm, 2048 if algorithm == "RSA" else 0).public_key()
    assert asked.fitting(key).key == expected


def test_encipher_only_means_nothing_alone(key_of: Callable[..., PrivateKey]) -> None:
    usages = parse_usages(["signing", "decipher only"]).fitting(key_of("RSA", 2048).public_key())
    assert isinstance(usages.key_usage(), x509.KeyUsage)
    assert usages.key == {"digital signature"}


def test_unknown_numbers_are_shown_as_they_are() -> None:
    oid = x509.ObjectIdentifier("1.2.3.4")
    assert Usages(extended=(ExtendedKeyUsageOID.SERVER_AUTH, oid)).extended_words() == [
        "server auth",
        "1.2.3.4",
    ]
