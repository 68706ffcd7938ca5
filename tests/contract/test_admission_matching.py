"""Which requests webhooks are asked about: rules, selectors, conditions, versions."""

import pytest
from tests.support.contract.hooks import Hooks, Json, add, allow, patch, rule
from tests.support.contract.samples import (
    CONFIG_MAPS,
    CRDS,
    DEPLOYMENTS,
    PODS,
    config_map,
    deployment,
    obj,
    pod,
)
from tests.support.contract.transcript import Conversation, contract

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
NAMESPACES = "/api/v1/namespaces"
WIDGETS = "/apis/hooks.example.com/{version}/namespaces/{ns}/widgets"


def note_what_was_asked(api: Conversation, hooks: Hooks) -> None:
    """Write down the requests, without the objects."""
    asked = []
    for heard in hooks.heard:
        request = heard["review"]["request"]
        parts = ("operation", "kind", "resource", "subResource", "requestKind", "requestResource")
        more = ("requestSubResource", "name", "namespace")
        asked.append([heard["path"], *(request.get(part) for part in (*parts, *more))])
    api.note([each for index, each in enumerate(asked) if index == 0 or each != asked[index - 1]])
    hooks.heard.clear()


RULES: dict[str, list[Json]] = {
    "every resource": [rule("*")],
    "every resource and subresource": [rule("*/*")],
    "every group": [rule("*", apiGroups=["*"])],
    "every subresource of pods": [rule("pods/*")],
    "pods and their status": [rule("pods", "pods/status")],
    "every status": [rule("*/status", apiGroups=["*"])],
    "scale": [rule("deployments/scale", group="apps")],
    "every scale": [rule("*/scale", apiGroups=["*"])],
    "creations": [rule("*", operations=["CREATE"])],
    "updates": [rule("*", operations=["UPDATE"])],
    "deletions": [rule("*", operations=["DELETE"])],
    "connections": [rule("*/*", operations=["CONNECT"])],
    "two operations": [rule("*", operations=["CREATE", "DELETE"])],
    "another group": [rule("configmaps", group="apps")],
    "another version": [rule("configmaps", apiVersions=["v2"])],
    "every version": [rule("configmaps", apiVersions=["*"])],
    "namespaced objects": [rule("*", apiGroups=["*"], scope="Namespaced")],
    "cluster objects": [rule("*", apiGroups=["*"], scope="Cluster")],
    "two rules": [rule("pods"), rule("deployments", group="apps")],
    "rules that overlap": [rule("configmaps"), rule("*")],
    "no rules": [],
}


@pytest.mark.parametrize("name", RULES)
@contract
async def test_rules(api: Conversation, name: str) -> None:
    async with Hooks(api) as hooks:
        hook = hooks.webhook("a", allow(), rules=RULES[name])
        await hooks.configure("Validating", hook)
        await api.post(CONFIG_MAPS, config_map("a"))
        await api.merge(f"{CONFIG_MAPS}/a", {"data": {"x": "1"}})
        await api.delete(f"{CONFIG_MAPS}/a")
        await api.post(PODS, pod("a"))
        await api.merge(f"{PODS}/a/status", {"status": {"phase": "Running"}})
        await api.post(DEPLOYMENTS, deployment("a"))
        await api.merge(f"{DEPLOYMENTS}/a/status", {"status": {"replicas": 1}})
        await api.merge(f"{DEPLOYMENTS}/a/scale", {"spec": {"replicas": 2}})
        await api.delete(f"{DEPLOYMENTS}/a")
        note_what_was_asked(api, hooks)


@pytest.mark.parametrize("scope", ["*", "Cluster", "Namespaced"])
@contract
async def test_scopes_of_cluster_objects(api: Conversation, scope: str) -> None:
    async with Hooks(api) as hooks:
        labels = {"hooked": api.namespace}
        hook = hooks.webhook(
            "a",
            allow(),
            rules=[rule("*", apiGroups=["*"], scope=scope)],
            namespaceSelector={"matchLabels": labels},
            objectSelector={"matchLabels": labels},
        )
        await hooks.configure("Validating", hook)
        name = f"{api.namespace}-x"
        role = obj("rbac.authorization.k8s.io/v1", "ClusterRole", name, {"labels": labels})
        await api.post(ROLES, role)
        await api.delete(f"{ROLES}/{name}")
        await api.post(NAMESPACES, obj("v1", "Namespace", name, {"labels": labels}))
        await api.merge(f"{NAMESPACES}/{name}", {"metadata": {"annotations": {"a": "b"}}})
        await api.delete(f"{NAMESPACES}/{name}", recorded=False)
        note_what_was_asked(api, hooks)


SELECTORS: dict[str, Json] = {
    "label": {"matchLabels": {"a": "1"}},
    "label in": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]},
    "label not in": {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]},
    "label exists": {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
    "no such label": {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]},
    "everything": {},
}


@pytest.mark.parametrize("name", SELECTORS)
@contract
async def test_object_selectors(api: Conversation, name: str) -> None:
    async with Hooks(api) as hooks:
        hook = hooks.webhook("a", allow(), objectSelector=SELECTORS[name])
        await hooks.configure("Validating", hook)
        await api.post(CONFIG_MAPS, config_map("none"))
        await api.post(CONFIG_MAPS, config_map("one", {"labels": {"a": "1"}}))
        await api.post(CONFIG_MAPS, config_map("two", {"labels": {"a": "2"}}))
        await api.merge(f"{CONFIG_MAPS}/one", {"metadata": {"labels": None}})
        await api.merge(f"{CONFIG_MAPS}/none", {"metadata": {"labels": {"a": "1"}}})
        await api.delete(f"{CONFIG_MAPS}/two")
        note_what_was_asked(api, hooks)


@pytest.mark.parametrize("name", SELECTORS)
@contract
async def test_namespace_selectors(api: Conversation, name: str) -> None:
    async with Hooks(api) as hooks:
        ours = {"kubernetes.io/metadata.name": api.namespace}
        selector = {
            **SELECTORS[name],
            "matchLabels": {**SELECTORS[name].get("matchLabels", {}), **ours},
        }
        hook = hooks.webhook("a", allow(), namespaceSelector=selector)
        await hooks.configure("Validating", hook)
        for labels in ({}, {"a": "1"}, {"a": "2"}):
            await api.merge(
                f"{NAMESPACES}/{{ns}}",
                {"metadata": {"labels": {"a": None, **labels}}},
                recorded=False,
            )
            # The real server looks at a cache of namespaces.
            await _until_seen(api, labels.get("a", ""))
            hooks.heard.clear()
            await api.post(f"{CONFIG_MAPS}?dryRun=All", config_map("a"))
            note_what_was_asked(api, hooks)


async def _until_seen(api: Conversation, value: str) -> None:
    """Return when webhooks are chosen by the new label of the namespace."""
    async with Hooks(api) as hooks:
        labels = {"kubernetes.io/metadata.name": api.namespace}
        term = (
            {"key": "a", "operator": "In", "values": [value]}
            if value
            else {"key": "a", "operator": "DoesNotExist"}
        )
        await hooks.configure(
            "Validating",
            probe={"namespaceSelector": {"matchLabels": labels, "matchExpressions": [term]}},
        )


CONDITIONS: dict[str, list[str]] = {
    "true": ["true"],
    "false": ["false"],
    "name": ["object.metadata.name == 'a'"],
    "operation": ["request.operation == 'CREATE'"],
    "user": ["request.userInfo.username.contains('admin')"],
    "old object": ["oldObject == null || oldObject.metadata.name == 'a'"],
    "no object": ["object != null"],
    "all of several": ["request.operation != 'DELETE'", "object.metadata.name == 'a'"],
    "label": ["has(object.metadata.labels) && object.metadata.labels['x'] == '1'"],
    "kind": ["request.kind.kind == 'ConfigMap' && request.resource.resource == 'configmaps'"],
    "dry run": ["!request.dryRun"],
    "data": ["has(object.data) && object.data.exists(k, k == 'x')"],
    "namespace": ["request.namespace == object.metadata.namespace"],
    "options": ["request.options.kind == 'CreateOptions'"],
}


@pytest.mark.parametrize("name", CONDITIONS)
@contract
async def test_match_conditions(api: Conversation, name: str) -> None:
    async with Hooks(api) as hooks:
        conditions = [
            {"name": f"c{index}.example.com", "expression": text}
            for index, text in enumerate(CONDITIONS[name])
        ]
        hook = hooks.webhook("a", allow(), matchConditions=conditions, failurePolicy="Ignore")
        await hooks.configure("Validating", hook)
        await api.post(f"{CONFIG_MAPS}?dryRun=All", config_map("a", data={"x": "1"}))
        await api.post(CONFIG_MAPS, config_map("a", {"labels": {"x": "1"}}))
        await api.post(CONFIG_MAPS, config_map("b", data={"y": "1"}))
        await api.merge(f"{CONFIG_MAPS}/a", {"data": {"x": "1"}})
        await api.delete(f"{CONFIG_MAPS}/a")
        note_what_was_asked(api, hooks)


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
@contract
async def test_match_conditions_that_fail(api: Conversation, policy: str) -> None:
    async with Hooks(api) as hooks:
        text = "object.metadata.labels.x == 'y'"
        conditions = [{"name": "c.example.com", "expression": text}]
        hook = hooks.webhook("a", allow(), matchConditions=conditions, failurePolicy=policy)
        await hooks.configure("Validating", hook)
        await api.post(CONFIG_MAPS, config_map("a"))
        note_what_was_asked(api, hooks)


def _widgets(name: str) -> Json:
    def version(number: int, storage: bool, **more: Json) -> Json:  # noqa: FBT001
        spec = {"type": "object", "properties": {"size": {"type": "integer"}, **more}}
        return {
            "name": f"v{number}",
            "served": True,
            "storage": storage,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
            "subresources": {"status": {}},
        }

    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.hooks.example.com"},
        "spec": {
            "group": "hooks.example.com",
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [version(1, True), version(2, False), version(3, False)],
        },
    } | {"metadata": {"name": name}}


@pytest.mark.parametrize("policy", ["Equivalent", "Exact"])
@pytest.mark.parametrize("asked", ["v1", "v2"])
@contract
async def test_other_versions(api: Conversation, policy: str, asked: str) -> None:
    async with Hooks(api) as hooks:
        await api.post(CRDS, _widgets("widgets.hooks.example.com"), recorded=False)
        path = WIDGETS.replace("{version}", asked)
        await api.until(path, lambda answer: answer.status == 200)
        rules = [rule("widgets", group="hooks.example.com", apiVersions=["v2"])]
        hook = hooks.webhook("a", patch(add("/spec/size", 7)), rules=rules, matchPolicy=policy)
        await hooks.configure("Mutating", hook)
        hook = hooks.webhook("b", allow(), rules=rules, matchPolicy=policy)
        await hooks.configure("Validating", hook)
        widget = obj(f"hooks.example.com/{asked}", "Widget", "a", spec={"size": 1})
        await api.post(path, widget)
        note_what_was_asked(api, hooks)
        await api.get(f"{path}/a")
