"""Where credentials stand in a Secret."""

from base64 import b64decode, b64encode

import pytest

from certwright.kube import JsonObject
from certwright.operators.tokenrequestor.contents import (
    KubeconfigError,
    SecretContents,
    filled,
    held_token,
    holds_ca_bundle,
)

CONFIG = """
current-context: x
contexts: [{name: x, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: https://c}}]
users: [{name: u, user: {token: held}}]
"""


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


def secret(**data: str) -> JsonObject:
    return {"data": {name.replace("_", "."): encoded(text) for name, text in data.items()}}


def test_a_token_of_its_own() -> None:
    assert held_token(secret(token="t")) == "t"
    assert filled({}, SecretContents("t")) == {"token": encoded("t")}


def test_a_token_in_a_kubeconfig_wins() -> None:
    both = secret(token="t", kubeconfig=CONFIG)
    assert held_token(both) == "held"
    keys = filled(both["data"], SecretContents("new", b"CA"))
    assert keys.keys() == {"kubeconfig"}
    assert held_token({"data": keys}) == "new"
    assert holds_ca_bundle({"data": keys}, b"CA")


@pytest.mark.parametrize(
    "held",
    [
        {},
        {"data": None},
        {"data": {"token": ""}},
        {"data": {"token": "%"}},
        {"data": {"token": b64encode(b"\xff").decode()}},
        secret(kubeconfig="no: kubeconfig"),
    ],
)
def test_what_cannot_be_read_is_no_token(held: JsonObject) -> None:
    assert held_token(held) == ""


def test_the_authority_stands_beside_the_token() -> None:
    keys = filled({}, SecretContents("t", b"CA"))
    assert b64decode(keys["bundle.crt"]) == b"CA"
    assert holds_ca_bundle({"data": keys}, b"CA")
    assert not holds_ca_bundle({"data": keys}, b"other")
    assert not holds_ca_bundle(secret(token="t"), b"CA")
    assert not holds_ca_bundle(secret(kubeconfig="no: kubeconfig"), b"CA")


def test_a_kubeconfig_that_is_no_text_is_refused() -> None:
    with pytest.raises(KubeconfigError, match="not UTF-8"):
        filled({"kubeconfig": b64encode(b"\xff").decode()}, SecretContents("t"))


def test_credentials_do_not_show_themselves() -> None:
    assert "secret" not in repr(SecretContents("secret", b"secret"))
