"""Which webhooks a request concerns, as pure functions."""

from dataclasses import replace
from typing import Any

import pytest

from certwright.apiserver.access.users import ADMIN
from certwright.apiserver.admission.attributes import (
    CREATE,
    DELETE,
    UPDATE,
    AdmissionAttributes,
    matching_invocation,
    namespace_matches,
    objects_match,
)
from certwright.apiserver.admission.configuration import AdmissionWebhook, webhooks_of
from certwright.kube import GroupVersionKind, JsonObject
from certwright.kube.objects import GroupVersionResource

REQUEST = AdmissionAttributes(
    CREATE,
    GroupVersionKind("apps", "v1", "Deployment"),
    GroupVersionResource("apps", "v1", "deployments"),
    "",
    "ns",
    "a",
    ADMIN,
    {},
)
NAMESPACE = replace(
    REQUEST,
    kind=GroupVersionKind("", "v1", "Namespace"),
    resource=GroupVersionResource("", "v1", "namespaces"),
    namespace="a",
)
ROLE = replace(
    REQUEST,
    resource=GroupVersionResource("rbac.authorization.k8s.io", "v1", "clusterroles"),
    namespace="",
)


def webhook(rule: JsonObject | None = None, **fields: Any) -> AdmissionWebhook:
    every: JsonObject = {
        "apiGroups": ["*"],
        "apiVersions": ["*"],
        "operations": ["*"],
        "resources": ["*"],
    }
    return AdmissionWebhook("x", {"name": "x", "rules": [{**every, **(rule or {})}], **fields})


def matches(hook: AdmissionWebhook, request: AdmissionAttributes = REQUEST) -> bool:
    return matching_invocation(hook, request) is not None


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("apiGroups", ["", "apps"], [""]),
        ("apiVersions", ["v1"], ["v1beta1"]),
        ("operations", ["UPDATE", "CREATE"], ["UPDATE", "DELETE", "CONNECT"]),
        ("resources", ["pods", "deployments"], ["pods", "deployments/status"]),
        ("resources", ["*/*"], ["*/status"]),
        ("resources", ["deployments/*"], ["pods/*"]),
    ],
)
def test_rules(field: str, good: list[str], bad: list[str]) -> None:
    assert matches(webhook({field: good}))
    assert matches(webhook({field: ["*"]}))
    assert not matches(webhook({field: bad}))


@pytest.mark.parametrize("resources", ["deployments/scale", "*/scale", "deployments/*", "*/*"])
def test_subresources(resources: str) -> None:
    assert matches(webhook({"resources": [resources]}), replace(REQUEST, subresource="scale"))
    assert not matches(webhook({"resources": ["*"]}), replace(REQUEST, subresource="scale"))


@pytest.mark.parametrize(
    ("request_", "scope"), [(REQUEST, "Namespaced"), (ROLE, "Cluster"), (NAMESPACE, "Cluster")]
)
def test_scopes(request_: AdmissionAttributes, scope: str) -> None:
    for each in ("*", "Namespaced", "Cluster"):
        assert matches(webhook({"scope": each}), request_) is (each in {"*", scope})


def test_equivalent_versions() -> None:
    other = GroupVersionResource("apps", "v2", "deployments")
    kind = GroupVersionKind("apps", "v2", "Deployment")
    request = replace(REQUEST, equivalents={other: kind})
    hook = webhook({"apiVersions": ["v2"]})
    found = matching_invocation(hook, request)
    assert found is not None
    assert (found.resource, found.kind) == (other, kind)
    assert not matches(webhook({"apiVersions": ["v2"]}, matchPolicy="Exact"), request)
    both = matching_invocation(webhook({"apiVersions": ["v2", "v1"]}), request)
    assert both is not None
    assert both.resource == request.resource, "the request's own version is preferred"


def labelled(**labels: str) -> JsonObject:
    return {"metadata": {"labels": labels}}


def test_object_selectors() -> None:
    hook = webhook(objectSelector={"matchLabels": {"a": "1"}})
    update = replace(REQUEST, operation=UPDATE)
    assert objects_match(hook, replace(update, obj=labelled(a="1"), old=labelled()))
    assert objects_match(hook, replace(update, obj=labelled(), old=labelled(a="1")))
    assert not objects_match(hook, replace(update, obj=labelled(), old=labelled()))
    assert objects_match(hook, replace(REQUEST, operation=DELETE, old=labelled(a="1")))
    assert not objects_match(hook, REQUEST)
    assert objects_match(webhook(objectSelector={}), REQUEST)


def test_namespace_selectors() -> None:
    hook = webhook(namespaceSelector={"matchLabels": {"a": "1"}})
    assert namespace_matches(hook, REQUEST, {"ns": {"a": "1"}})
    assert not namespace_matches(hook, REQUEST, {"ns": {}})
    assert namespace_matches(hook, ROLE, {}), "what is in no namespace is never exempt"
    written = replace(NAMESPACE, obj=labelled(a="1"))
    assert namespace_matches(hook, written, {}), "a namespace is judged as it is written"
    deleted = replace(NAMESPACE, operation=DELETE)
    assert not namespace_matches(hook, deleted, {"a": {}})
    with pytest.raises(KeyError):
        namespace_matches(hook, REQUEST, {})


def test_the_order_of_configurations() -> None:
    hooks = [{"name": "b.example.com"}, {"name": "a.example.com"}]
    configurations = [{"metadata": {"name": name}, "webhooks": hooks} for name in ("x", "y")]
    assert [each.uid for each in webhooks_of(configurations)] == [
        "x/b.example.com/0",
        "x/a.example.com/1",
        "y/b.example.com/0",
        "y/a.example.com/1",
    ]


def test_what_may_be_concerned() -> None:
    hook = webhook({"resources": ["pods", "*/scale"]})
    assert hook.may_concern("pods", "")
    assert hook.may_concern("deployments", "scale")
    assert not hook.may_concern("deployments", "")
