"""Credentials are taken out of texts, and nothing else is."""

from dataclasses import dataclass, field

import pytest
from msgspec import Struct

from certwright.issuer.sign.redaction import redact_spec
from certwright.issuer.spec import SecretData, SecretKey


class Inner(Struct):
    pin: SecretKey | None = None


@dataclass(frozen=True)
class Spec:
    url: str = "https://ca.example.com"
    token: SecretKey | None = None
    inner: Inner = field(default_factory=Inner)
    more: dict[str, list[SecretKey]] = field(default_factory=dict)
    whole: SecretData | None = None


SECRET = SecretKey("swordfish")


@pytest.mark.parametrize(
    "spec",
    [
        Spec(token=SECRET),
        Spec(inner=Inner(SECRET)),
        Spec(more={"a": [SecretKey("other one"), SECRET]}),
        Spec(whole=SecretData("s", {"a": b"\xff", "b": b"  swordfish\n"})),
    ],
    ids=["field", "nested", "listed", "whole"],
)
def test_values_of_secrets_are_hidden_wherever_they_are(spec: Spec) -> None:
    said = "https://ca.example.com refused b'swordfish'"
    assert redact_spec(said, spec) == "https://ca.example.com refused b'[redacted]'"


def test_the_longer_value_goes_first() -> None:
    spec = Spec(token=SECRET, more={"a": [SecretKey("swordfish-and-chips")]})
    assert redact_spec("swordfish-and-chips", spec) == "[redacted]"


def test_one_line_of_a_key_is_hidden_too() -> None:
    lines = ["-----BEGIN X-----", "MHcCAQEEIBsomethinglong", "short"]
    spec = Spec(whole=SecretData("s", {"key": "\n".join(lines).encode()}))
    assert redact_spec(f"at {lines[1]}: {lines[2]}", spec) == "at [redacted]: short"


def test_short_values_do_not_spoil_words() -> None:
    assert redact_spec("it is on", Spec(token=SecretKey("on"))) == "it is on"
