"""Status and scale: parts of objects with endpoints of their own."""

import pytest
from tests.support.contract.samples import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    GADGETS,
    PODS,
    deployment,
    gadget,
    install_gadgets,
    obj,
    pod,
)
from tests.support.contract.transcript import Conversation, contract

STATEFUL_SETS = "/apis/apps/v1/namespaces/{ns}/statefulsets"


@contract
async def test_status_is_written_apart(api: Conversation) -> None:
    await install_gadgets(api)
    made = await api.post(GADGETS, gadget("a", spec={"size": 1}, status={"phase": "early"}))
    await api.get(f"{GADGETS}/a/status")
    changed = {**made.body, "spec": {"size": 9}, "status": {"phase": "Ready"}}
    written = await api.put(f"{GADGETS}/a/status", changed)
    await api.put(f"{GADGETS}/a", {**written.body, "spec": {"size": 3}, "status": {"phase": "no"}})
    await api.put(f"{GADGETS}/a/status", changed)


@contract
async def test_status_of_a_deployment(api: Conversation) -> None:
    made = await api.post(DEPLOYMENTS, {**deployment("a"), "status": {"replicas": 4}})
    changed = {**made.body, "status": {"replicas": 2, "observedGeneration": 1}}
    changed["spec"] = {**made.body["spec"], "replicas": 5}
    await api.put(f"{DEPLOYMENTS}/a/status", changed)
    await api.merge(f"{DEPLOYMENTS}/a/status", {"status": {"readyReplicas": 1}})
    await api.merge(f"{DEPLOYMENTS}/a/status", {"status": {"readyReplicas": 7}})
    await api.merge(f"{DEPLOYMENTS}/a/status", {"status": {"replicas": -1}})
    await api.merge(f"{DEPLOYMENTS}/a", {"status": {"replicas": 9}})


@contract
async def test_metadata_through_status(api: Conversation) -> None:
    await install_gadgets(api)
    change = {
        "labels": {"a": "b"},
        "annotations": {"a": "b"},
        "finalizers": ["example.com/a"],
    }
    for path, body in ((GADGETS, gadget("a")), (DEPLOYMENTS, deployment("a")), (PODS, pod("a"))):
        await api.post(path, body)
        await api.merge(f"{path}/a/status", {"metadata": change})


@contract
async def test_status_without_a_version(api: Conversation) -> None:
    await install_gadgets(api)
    await api.post(GADGETS, gadget("a"))
    await api.put(f"{GADGETS}/a/status", gadget("a", status={"phase": "x"}))
    await api.post(DEPLOYMENTS, deployment("a"))
    await api.put(f"{DEPLOYMENTS}/a/status", {**deployment("a"), "status": {"replicas": 1}})


@contract
async def test_status_of_the_wrong_shape(api: Conversation) -> None:
    await install_gadgets(api)
    await api.post(GADGETS, gadget("a"))
    await api.merge(f"{GADGETS}/a/status", {"status": {"phase": 1}})
    await api.merge(f"{GADGETS}/a/status", {"status": {"nothing": 1}})
    await api.merge(f"{GADGETS}/a/status", {"status": None})
    await api.json_patch(
        f"{GADGETS}/a/status", [{"op": "add", "path": "/status", "value": {"phase": "x"}}]
    )
    await api.json_patch(f"{GADGETS}/a/status", [{"op": "remove", "path": "/status"}])


@contract
async def test_status_of_a_pod(api: Conversation) -> None:
    await api.post(PODS, pod("a"))
    await api.merge(f"{PODS}/a/status", {"status": {"phase": "Running", "message": "x"}})
    await api.merge(f"{PODS}/a/status", {"status": {"phase": "Nonsense"}})


@pytest.mark.parametrize("path", [DEPLOYMENTS, STATEFUL_SETS])
@contract
async def test_scale_of_workloads(api: Conversation, path: str) -> None:
    body = deployment("a", replicas=2)
    if path == STATEFUL_SETS:
        body = {**body, "kind": "StatefulSet"}
    await api.post(path, body, recorded=False)
    found = await api.get(f"{path}/a/scale")
    await api.put(f"{path}/a/scale", {**found.body, "spec": {"replicas": 5}})
    await api.get(f"{path}/a")
    await api.put(f"{path}/a/scale", {**found.body, "spec": {"replicas": 6}})
    await api.merge(f"{path}/a/scale", {"spec": {"replicas": 0}})
    await api.merge(f"{path}/a/scale", {"spec": {"replicas": -1}})
    await api.json_patch(
        f"{path}/a/scale", [{"op": "replace", "path": "/spec/replicas", "value": 4}]
    )


@contract
async def test_scale_of_custom_resources(api: Conversation) -> None:
    await install_gadgets(api)
    await api.post(GADGETS, gadget("a", spec={"replicas": 2}))
    await api.merge(f"{GADGETS}/a/status", {"status": {"replicas": 1, "selector": "a=b"}})
    found = await api.get(f"{GADGETS}/a/scale")
    await api.put(f"{GADGETS}/a/scale", {**found.body, "spec": {"replicas": 5}})
    await api.put(f"{GADGETS}/a/scale", {**found.body, "spec": {"replicas": 6}})
    await api.merge(f"{GADGETS}/a/scale", {"spec": {"replicas": 1}})
    await api.get(f"{GADGETS}/a")
    await api.merge(f"{GADGETS}/a/scale", {"spec": {"replicas": -1}})


@contract
async def test_scale_to_zero_owns_nothing(api: Conversation) -> None:
    await install_gadgets(api)
    await api.post(GADGETS, gadget("a", spec={"replicas": 2}))
    await api.merge(f"{GADGETS}/a/scale", {"spec": {"replicas": 3}})
    await api.merge(f"{GADGETS}/a/scale", {"spec": {"replicas": 0}})
    await api.get(f"{GADGETS}/a")


@contract
async def test_scale_without_replicas(api: Conversation) -> None:
    await install_gadgets(api)
    await api.post(GADGETS, gadget("a"))
    await api.get(f"{GADGETS}/a/scale")
    await api.merge(f"{GADGETS}/a/scale", {"spec": {"replicas": 1}})


@contract
async def test_odd_scales(api: Conversation) -> None:
    await api.get(f"{DEPLOYMENTS}/nothing/scale")
    await api.merge(f"{DEPLOYMENTS}/nothing/scale", {"spec": {"replicas": 1}})
    await api.post(DEPLOYMENTS, deployment("a"))
    scale = obj("autoscaling/v1", "Scale", "b", spec={"replicas": 1})
    await api.put(f"{DEPLOYMENTS}/a/scale", scale)
    await api.put(f"{DEPLOYMENTS}/a/scale", deployment("a"))
    await api.merge(f"{DEPLOYMENTS}/a/scale", {"spec": {"replicas": "x"}}, same_words=False)
    await api.put(f"{DEPLOYMENTS}/a/scale?dryRun=All", {**scale, "metadata": {"name": "a"}})
    await api.get(f"{DEPLOYMENTS}/a/scale")
    await api.get(f"{CONFIG_MAPS}/a/scale")


@contract
async def test_evictions(api: Conversation) -> None:
    await api.post(PODS, pod("a"))
    body = obj("policy/v1", "Eviction", "a")
    await api.post(f"{PODS}/a/eviction", body)
    await api.get(f"{PODS}/a")
    await api.post(f"{PODS}/nothing/eviction", obj("policy/v1", "Eviction", "nothing"))


@contract
async def test_bindings(api: Conversation) -> None:
    await api.post(PODS, pod("a"))
    body = obj("v1", "Binding", "a", target={"kind": "Node", "name": "n1"})
    await api.post(f"{PODS}/a/binding", body)
    await api.get(f"{PODS}/a")
    await api.post(f"{PODS}/a/binding", body)
