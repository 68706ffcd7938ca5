"""Requests that webhooks are asked about: dry runs, deletions, subresources, special kinds."""

import pytest
from tests.support.contract.hooks import (
    CONFIGURATIONS,
    Hooks,
    Json,
    add,
    allow,
    deny,
    patch,
    rule,
)
from tests.support.contract.samples import (
    CONFIG_MAPS,
    CRDS,
    DEPLOYMENTS,
    GADGETS,
    NAMESPACED,
    PODS,
    SERVICES,
    config_map,
    deployment,
    gadget,
    install_gadgets,
    obj,
    pod,
)
from tests.support.contract.transcript import Conversation, contract

LEASES = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"


@pytest.mark.parametrize("effects", ["None", "NoneOnDryRun"])
@pytest.mark.parametrize("kind", ["Mutating", "Validating"])
@contract
async def test_dry_runs(api: Conversation, kind: str, effects: str) -> None:
    async with Hooks(api) as hooks:
        await hooks.configure(kind, hooks.webhook("a", allow(), sideEffects=effects))
        await api.post(f"{CONFIG_MAPS}?dryRun=All", config_map("a"))
        hooks.note()
        await api.get(f"{CONFIG_MAPS}/a")
        await api.post(CONFIG_MAPS, config_map("a"))
        hooks.heard.clear()
        await api.merge(f"{CONFIG_MAPS}/a?dryRun=All", {"data": {"x": "1"}})
        await api.delete(f"{CONFIG_MAPS}/a?dryRun=All")
        hooks.note()


@pytest.mark.parametrize("kind", ["deployments", "gadgets"])
@contract
async def test_scale(api: Conversation, kind: str) -> None:
    async with Hooks(api) as hooks:
        await install_gadgets(api)
        path = DEPLOYMENTS if kind == "deployments" else GADGETS
        body = deployment("a") if kind == "deployments" else gadget("a", spec={"replicas": 1})
        await api.post(path, body)
        rules = [rule("*/scale", apiGroups=["*"])]
        await hooks.configure(
            "Mutating", hooks.webhook("a", patch(add("/spec/replicas", 7)), rules=rules)
        )
        await hooks.configure("Validating", hooks.webhook("b", allow(), rules=rules))
        await api.merge(f"{path}/a/scale", {"spec": {"replicas": 3}})
        hooks.note(owners=False)
        scale = await api.get(f"{path}/a/scale")
        await api.put(f"{path}/a/scale", {**scale.body, "spec": {"replicas": 4}})
        hooks.note(owners=False)
        await hooks.configure("Validating", hooks.webhook("c", deny(message="small"), rules=rules))
        await api.merge(f"{path}/a/scale", {"spec": {"replicas": 1}})
        await api.get(f"{path}/a/scale")


@contract
async def test_tokens(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        rules = [rule("serviceaccounts/token")]
        await hooks.configure("Validating", hooks.webhook("b", deny(message="none"), rules=rules))
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        await api.post(f"{NAMESPACED}/serviceaccounts/default/token", body)


@contract
async def test_evictions_that_are_denied(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        rules = [rule("pods/eviction", "pods/binding")]
        await api.post(PODS, pod("a"))
        await hooks.configure("Validating", hooks.webhook("b", deny(message="stay"), rules=rules))
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
        await api.post(f"{PODS}/a/eviction", eviction)
        hooks.note()
        binding = obj("v1", "Binding", "a", target={"name": "n"})
        await api.post(f"{PODS}/a/binding", binding)
        await api.get(f"{PODS}/a")


@contract
async def test_collections(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        for name in ("a", "b", "c"):
            await api.post(CONFIG_MAPS, config_map(name, {"labels": {"x": "y"}}))
        await hooks.configure("Validating", hooks.webhook("a", allow()))
        await api.delete(f"{CONFIG_MAPS}?labelSelector=x")
        asked = [each["review"]["request"] for each in hooks.heard]
        api.note(
            sorted([each["oldObject"]["metadata"]["name"], each.get("name", "")] for each in asked)
        )
        await api.get(f"{CONFIG_MAPS}?labelSelector=x")


@contract
async def test_deletions_that_are_denied(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        await api.post(CONFIG_MAPS, config_map("a"))
        await hooks.configure("Validating", hooks.webhook("a", deny(message="keep it")))
        await api.delete(f"{CONFIG_MAPS}/a")
        await api.delete(f"{CONFIG_MAPS}/a", {"preconditions": {"uid": "x"}})
        await api.delete(f"{CONFIG_MAPS}/nothing")
        await api.get(f"{CONFIG_MAPS}/a")


@contract
async def test_finalizers(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        await api.post(CONFIG_MAPS, config_map("a", {"finalizers": ["example.com/a"]}))
        await hooks.configure("Validating", hooks.webhook("a", allow()))
        await api.delete(f"{CONFIG_MAPS}/a")
        hooks.note()
        await api.delete(f"{CONFIG_MAPS}/a")
        hooks.note()
        await api.merge(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": None}})
        hooks.note()
        await api.get(f"{CONFIG_MAPS}/a")


@contract
async def test_pods_without_a_node(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        await api.post(PODS, pod("a"))
        await hooks.configure("Validating", hooks.webhook("a", allow(), rules=[rule("pods")]))
        await api.delete(f"{PODS}/a")
        hooks.note()


@contract
async def test_services(api: Conversation) -> None:
    """Validating webhooks see the addresses that are kept."""
    async with Hooks(api) as hooks:
        await hooks.configure("Validating", hooks.webhook("a", allow(), rules=[rule("services")]))
        made = await api.post(
            SERVICES, obj("v1", "Service", "a", spec={"ports": [{"port": 80}]}), recorded=False
        )
        address = made.body["spec"]["clusterIP"]
        api.note(
            [
                made.status,
                hooks.heard[0]["review"]["request"]["object"]["spec"]["clusterIP"] == address,
            ]
        )


@contract
async def test_generated_names(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        await hooks.configure("Mutating", hooks.webhook("a", allow()))
        await hooks.configure("Validating", hooks.webhook("b", allow()))
        body = config_map("", {"generateName": "made-"})
        made = await api.post(CONFIG_MAPS, body, recorded=False)
        name = made.body["metadata"]["name"]
        asked = [each["review"]["request"] for each in hooks.heard]
        api.note(
            [
                [each.get("name") == name, each["object"]["metadata"].get("name") == name]
                for each in asked
            ]
        )
        api.note(asked[1]["object"]["metadata"]["uid"] == made.body["metadata"]["uid"])


@contract
async def test_updates_that_create(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        rules = [rule("leases", group="coordination.k8s.io")]
        await hooks.configure("Mutating", hooks.webhook("a", allow(), rules=rules))
        lease = obj("coordination.k8s.io/v1", "Lease", "a", spec={"holderIdentity": "me"})
        await api.put(f"{LEASES}/a?fieldManager=me", lease)
        hooks.note()


@contract
async def test_conflicts(api: Conversation) -> None:
    """Mutating webhooks are asked before versions are compared, validating ones after that."""
    async with Hooks(api) as hooks:
        made = await api.post(CONFIG_MAPS, config_map("a"))
        await api.merge(f"{CONFIG_MAPS}/a", {"data": {"x": "1"}})
        await hooks.configure("Mutating", hooks.webhook("a", allow()))
        await hooks.configure("Validating", hooks.webhook("b", deny(message="no")))
        await api.put(f"{CONFIG_MAPS}/a", made.body)
        await api.post(CONFIG_MAPS, config_map("a"))
        api.note([each["path"] for each in hooks.heard])
        await hooks.configure("Mutating", hooks.webhook("c", deny(message="never")), name="z")
        await api.put(f"{CONFIG_MAPS}/a", made.body)


@contract
async def test_exempt_kinds(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        labels = {"hooked": api.namespace}
        hook = hooks.webhook(
            "a",
            deny(message="no"),
            rules=[rule("*", apiGroups=["*"], apiVersions=["*"])],
            namespaceSelector={},
            objectSelector={"matchLabels": labels},
        )
        await hooks.configure("Validating", hook)
        name = f"exempt-{api.namespace}"
        config = obj(
            "admissionregistration.k8s.io/v1",
            "MutatingWebhookConfiguration",
            name,
            {"labels": labels},
        )
        path = f"{CONFIGURATIONS}/mutatingwebhookconfigurations"
        await api.post(path, config)
        await api.delete(f"{path}/{name}")
        role = obj("rbac.authorization.k8s.io/v1", "ClusterRole", name, {"labels": labels})
        await api.post("/apis/rbac.authorization.k8s.io/v1/clusterroles", role)


@contract
async def test_definitions(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        labels = {"hooked": api.namespace}
        hook = hooks.webhook(
            "a",
            deny(message="no"),
            rules=[rule("customresourcedefinitions", group="apiextensions.k8s.io")],
            objectSelector={"matchLabels": labels},
        )
        await hooks.configure("Validating", hook)
        names = {"kind": "Denied", "plural": "denieds"}
        schema = {"openAPIV3Schema": {"type": "object"}}
        version = {"name": "v1", "served": True, "storage": True, "schema": schema}
        spec = {
            "group": "hooks.example.com",
            "scope": "Cluster",
            "names": names,
            "versions": [version],
        }
        body = obj(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "denieds.hooks.example.com",
            {"labels": labels},
            spec=spec,
        )
        await api.post(CRDS, body)


@pytest.mark.parametrize(
    "condition",
    [
        {"name": "a b", "expression": "true"},
        {"name": "", "expression": "true"},
        {"name": "a", "expression": ""},
        {"name": "a", "expression": "object.metadata.name"},
        {"name": "a", "expression": "nothing == 1"},
    ],
)
@contract
async def test_conditions_that_are_refused(api: Conversation, condition: Json) -> None:
    async with Hooks(api) as hooks:
        hook = hooks.webhook("a", allow(), matchConditions=[condition])
        hook["clientConfig"] = {"url": "https://127.0.0.1:1/"}
        config = obj(
            "admissionregistration.k8s.io/v1",
            "MutatingWebhookConfiguration",
            "bad",
            webhooks=[hook],
        )
        await api.post(f"{CONFIGURATIONS}/mutatingwebhookconfigurations", config)
