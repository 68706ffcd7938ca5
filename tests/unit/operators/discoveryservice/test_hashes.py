"""Hashes as marin3r writes them, by values that its own code computed."""

import pytest

from certwright.operators.discoveryservice.hashes import hash_of_certificate, hash_of_data


@pytest.mark.parametrize(
    ("content", "expected"),
    [(b"abc", "d689b6bf9"), (b"", "848b4bcfb8"), (b"hello\n", "58f6889897")],
)
def test_of_a_certificate(content: bytes, expected: str) -> None:
    assert hash_of_certificate(content) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [({"tls.key": b"def", "tls.crt": b"abc"}, "7755fc9ff4"), ({}, "696745cd47")],
)
def test_of_all_data_of_a_secret(data: dict[str, bytes], expected: str) -> None:
    assert hash_of_data(data) == expected
