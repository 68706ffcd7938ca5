"""What the annotations of a Secret mean, and what is said about those that mean nothing."""

from datetime import timedelta

import pytest

from certwright.kube import Key
from certwright.operators.tokenrequestor.request import (
    ACCOUNT_LABELS,
    ACCOUNT_NAME,
    ACCOUNT_NAMESPACE,
    EXPIRATION,
    INJECT_CA_BUNDLE,
    TARGET_NAME,
    TARGET_NAMESPACE,
    TokenRequest,
    TokenRequestError,
    account_of,
    read_request,
    selector,
)

ACCOUNT = {ACCOUNT_NAME: "web", ACCOUNT_NAMESPACE: "kube-system"}


def test_a_name_and_a_namespace_are_enough() -> None:
    assert read_request(ACCOUNT) == TokenRequest(Key("kube-system", "web"))
    assert read_request(ACCOUNT).lifetime == timedelta(hours=12)


def test_everything_else_is_optional() -> None:
    request = read_request(
        ACCOUNT
        | {
            ACCOUNT_LABELS: '{"app":"web","tier":""}',
            EXPIRATION: "90m",
            INJECT_CA_BUNDLE: "true",
            TARGET_NAME: "kubeconfig",
            TARGET_NAMESPACE: "apps",
        }
    )
    assert request == TokenRequest(
        Key("kube-system", "web"),
        {"app": "web", "tier": ""},
        timedelta(minutes=90),
        inject_ca_bundle=True,
        target=Key("apps", "kubeconfig"),
    )


@pytest.mark.parametrize(("text", "meant"), [("1", True), ("T", True), ("yes", False), ("", False)])
def test_the_bundle_is_injected_for_truthy_values_only(text: str, *, meant: bool) -> None:
    assert read_request(ACCOUNT | {INJECT_CA_BUNDLE: text}).inject_ca_bundle is meant


@pytest.mark.parametrize(
    ("annotations", "complaint"),
    [
        ({}, f"{ACCOUNT_NAME} is missing"),
        ({ACCOUNT_NAME: "web"}, f"{ACCOUNT_NAMESPACE} is missing"),
        (ACCOUNT | {ACCOUNT_NAME: "Web"}, f"{ACCOUNT_NAME} is 'Web'"),
        (ACCOUNT | {ACCOUNT_NAMESPACE: "a.b"}, f"{ACCOUNT_NAMESPACE} is 'a.b'"),
        (ACCOUNT | {ACCOUNT_LABELS: "app=web"}, "not a JSON object of texts"),
        (ACCOUNT | {ACCOUNT_LABELS: '["app"]'}, "not a JSON object of texts"),
        (ACCOUNT | {ACCOUNT_LABELS: '{"a":1}'}, "not a JSON object of texts"),
        (ACCOUNT | {ACCOUNT_LABELS: '{"a b":"c"}'}, "label 'a b'"),
        (ACCOUNT | {ACCOUNT_LABELS: '{"a":"-"}'}, "label 'a'"),
        (ACCOUNT | {EXPIRATION: "soon"}, f"{EXPIRATION}: 'soon' is not a duration"),
        (ACCOUNT | {EXPIRATION: "9m59s"}, "10m at least"),
        (ACCOUNT | {EXPIRATION: "-1h"}, "10m at least"),
        (ACCOUNT | {EXPIRATION: "2000000h"}, "2^32 seconds at most"),
        (ACCOUNT | {TARGET_NAME: "t"}, f"{TARGET_NAMESPACE} is missing"),
        (ACCOUNT | {TARGET_NAMESPACE: "t"}, f"{TARGET_NAME} is missing"),
    ],
)
def test_mistakes_are_named(annotations: dict[str, str], complaint: str) -> None:
    with pytest.raises(TokenRequestError) as refused:
        read_request(annotations)
    assert complaint in str(refused.value)


def test_all_mistakes_are_named_at_once() -> None:
    with pytest.raises(TokenRequestError) as refused:
        read_request({ACCOUNT_LABELS: "x", EXPIRATION: "x"})
    assert str(refused.value).count("annotation") == 4


@pytest.mark.parametrize("lifetime", ["10m", "24h", "4294967296s"])
def test_lifetimes_up_to_the_bounds(lifetime: str) -> None:
    read_request(ACCOUNT | {EXPIRATION: lifetime})


def test_the_account_is_known_even_of_a_wrong_request() -> None:
    assert account_of(ACCOUNT | {EXPIRATION: "x"}) == Key("kube-system", "web")
    assert account_of({ACCOUNT_NAME: "web"}) is None


def test_an_instance_without_a_class_looks_after_all_classes() -> None:
    assert selector() == "resources.gardener.cloud/purpose=token-requestor"
    assert selector("shoot").endswith(",resources.gardener.cloud/class=shoot")
