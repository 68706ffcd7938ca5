"""Configuration objects, from declarations."""

from base64 import b64decode
from datetime import timedelta
from typing import Any

import pytest
from tests.support.webhook import Ca

from certwright import pki
from certwright.kube import Key
from certwright.kube.kinds import ConfigMap, Deployment
from certwright.webhook import (
    AdmissionHandler,
    Allow,
    ConversionHandler,
    Registration,
    configurations,
    intercept,
)
from certwright.webhook.declaration import check_unique
from certwright.webhook.registration import join_bundles

RULES = [intercept(ConfigMap, "CREATE", "UPDATE")]


def allow_all(_review: object) -> Allow:
    return Allow()


def webhook(name: str = "a.test.dev", **options: Any) -> AdmissionHandler:
    return AdmissionHandler(name, allow_all, RULES, **options)


def test_mutating_and_validating_webhooks_go_into_objects_of_their_own() -> None:
    registration = Registration("teams", service=Key("demo", "hooks"))
    first = webhook(
        mutating=True,
        reinvocation="IfNeeded",
        match_conditions={"named": "object.metadata.name != ''"},
        timeout=timedelta(seconds=3),
    )
    mutating, validating = configurations(registration, [first, webhook("b.test.dev")], b"PEM")
    assert (mutating["kind"], validating["kind"]) == (
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    )
    [entry] = mutating["webhooks"]
    assert entry == {
        "name": "a.test.dev",
        "clientConfig": {
            "service": {"namespace": "demo", "name": "hooks", "path": "/a.test.dev", "port": 443},
            "caBundle": "UEVN",
        },
        "rules": RULES,
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "sideEffects": "None",
        "timeoutSeconds": 3,
        "admissionReviewVersions": ["v1"],
        "matchConditions": [{"name": "named", "expression": "object.metadata.name != ''"}],
        "reinvocationPolicy": "IfNeeded",
    }
    [entry] = validating["webhooks"]
    assert "reinvocationPolicy" not in entry


def test_a_url_needs_no_service() -> None:
    registration = Registration("teams", url="https://127.0.0.1:9443/")
    [obj] = configurations(registration, [webhook()])
    assert obj["webhooks"][0]["clientConfig"] == {"url": "https://127.0.0.1:9443/a.test.dev"}


def test_rules_name_subresources() -> None:
    assert intercept(Deployment, "UPDATE", subresource="scale", scope="Namespaced") == {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "resources": ["deployments/scale"],
        "operations": ["UPDATE"],
        "scope": "Namespaced",
    }


@pytest.mark.parametrize(
    "options",
    [
        {"name": "two.parts"},
        {"name": "Upper.test.dev"},
        {"path": "no-slash"},
        {"path": "/a b"},
        {"path": "/readyz"},
        {"timeout": timedelta(seconds=31)},
    ],
)
def test_declarations_that_an_api_server_would_refuse_are_refused_at_once(options: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        webhook(**options)


def test_two_webhooks_of_one_name_or_path_are_refused() -> None:
    with pytest.raises(ValueError, match=r"the path /a.test.dev"):
        check_unique([webhook(), webhook()])
    with pytest.raises(ValueError, match=r"the name a.test.dev"):
        check_unique([webhook(), webhook(path="/other")])
    with pytest.raises(ValueError, match=r"the path /a.test.dev"):
        check_unique([webhook(), ConversionHandler("/a.test.dev", lambda objects, _: objects)])


def test_a_registration_says_one_way() -> None:
    for options in ({}, {"url": "https://a", "service": Key("a", "b")}, {"url": "http://a"}):
        with pytest.raises(ValueError, match="registration teams"):
            Registration("teams", **options)


def test_a_self_check_through_a_service_of_ready_pods_would_never_end() -> None:
    service = Key("demo", "hooks")
    with pytest.raises(ValueError, match="no replica would ever be ready"):
        Registration("teams", service=service, self_check="demo")
    Registration("teams", service=service, self_check="demo", self_check_service=service)


def test_bundles_are_joined_without_repeats_and_without_what_is_none() -> None:
    one, two = Ca("one"), Ca("two")
    joined = join_bundles(one.pem + one.pem, two.pem)
    assert {*pki.read_bundle(joined)} == {one.authority.certificate, two.authority.certificate}
    assert join_bundles(one.pem, b"garbage") == join_bundles(one.pem, b"") == one.pem
    assert join_bundles(b"", b"") == b""
    assert b64decode("UEVN") == b"PEM"
