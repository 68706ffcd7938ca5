"""What is kept in the target cluster."""

from typing import Any

import pytest

from certwright.kube import Key
from certwright.operators.tokenrequestor.request import TokenRequest
from certwright.operators.tokenrequestor.target import (
    MARK,
    REQUESTED_BY,
    account_object,
    requesters,
    target_secret,
)

ACCOUNT = Key("kube-system", "web")
A, B = Key("ns", "a"), Key("ns", "b")


def test_an_account_for_one() -> None:
    assert account_object(ACCOUNT, {A: TokenRequest(ACCOUNT, {"app": "web"})}) == {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {
            "namespace": "kube-system",
            "name": "web",
            "labels": {"app": "web", MARK: "true"},
            "annotations": {REQUESTED_BY: "ns/a"},
        },
        "automountServiceAccountToken": False,
    }


def test_an_account_for_several_is_the_same_in_any_order() -> None:
    requests = {B: TokenRequest(ACCOUNT, {"x": "b", "b": ""}), A: TokenRequest(ACCOUNT, {"x": "a"})}
    made = account_object(ACCOUNT, requests)
    assert made == account_object(ACCOUNT, dict(reversed(requests.items())))
    assert made["metadata"]["labels"] == {"x": "a", "b": "", MARK: "true"}
    assert requesters(made["metadata"]["annotations"]) == [A, B]


def test_other_requesters_keep_their_entry_and_their_labels() -> None:
    other = Key("elsewhere", "o")
    made = account_object(ACCOUNT, {A: TokenRequest(ACCOUNT, {"x": "a"})}, [other], {"x": "o"})
    assert requesters(made["metadata"]["annotations"]) == [other, A]
    assert made["metadata"]["labels"]["x"] == "o"


def test_labels_of_a_request_do_not_replace_the_mark() -> None:
    made = account_object(ACCOUNT, {A: TokenRequest(ACCOUNT, {MARK: "false"})})
    assert made["metadata"]["labels"] == {MARK: "true"}


def test_a_secret_in_the_target() -> None:
    made = target_secret(Key("apps", "t"), A, {"token": "dA=="})
    assert made["metadata"]["annotations"] == {REQUESTED_BY: "ns/a"}
    assert made["data"] == {"token": "dA=="}


@pytest.mark.parametrize("text", ["", ",", "a", "/a", "a/", "a/b/c"])
def test_requesters_that_cannot_be_read_are_left_out(text: Any) -> None:
    assert requesters({REQUESTED_BY: text}) == []
    assert requesters({}) == []
