"""Deletion: finalizers, preconditions, propagation, grace, collections."""

from typing import cast

import pytest
from tests.support.contract.samples import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    GADGETS,
    PODS,
    SECRETS,
    SERVICES,
    config_map,
    deployment,
    gadget,
    install_gadgets,
    obj,
    owner,
    pod,
    secret,
)
from tests.support.contract.transcript import Answer, Conversation, contract

from certwright.kube import JsonObject

NO_UID = "00000000-0000-0000-0000-000000000000"


def is_gone(answer: Answer) -> bool:
    return answer.status == 404


@contract
async def test_answers_by_kind(api: Conversation) -> None:
    await install_gadgets(api)
    for path, body in (
        (CONFIG_MAPS, config_map("a")),
        (SECRETS, secret("a")),
        (GADGETS, gadget("a")),
        (DEPLOYMENTS, deployment("a")),
        (SERVICES, obj("v1", "Service", "a", spec={"clusterIP": "None", "selector": {"a": "b"}})),
        ("/api/v1/namespaces/{ns}/serviceaccounts", obj("v1", "ServiceAccount", "a")),
    ):
        await api.post(path, body)
        await api.delete(f"{path}/a")
        await api.get(f"{path}/a")


@contract
async def test_finalizers_hold_objects(api: Conversation) -> None:
    await install_gadgets(api)
    for path, kind in ((CONFIG_MAPS, config_map), (GADGETS, gadget)):
        await api.post(path, kind("a", {"finalizers": ["example.com/a", "example.com/b"]}))
        await api.delete(f"{path}/a")
        await api.get(f"{path}/a")
        await api.delete(f"{path}/a")
        await api.merge(f"{path}/a", {"metadata": {"labels": {"x": "y"}}})
        await api.post(path, kind("a"))
        await api.merge(f"{path}/a", {"metadata": {"finalizers": ["example.com/b"]}})
        await api.merge(f"{path}/a", {"metadata": {"finalizers": []}})
        await api.get(f"{path}/a")


@contract
async def test_finalizers_cannot_be_added_late(api: Conversation) -> None:
    await api.post(CONFIG_MAPS, config_map("a", {"finalizers": ["example.com/a"]}))
    await api.delete(f"{CONFIG_MAPS}/a")
    both = ["example.com/a", "example.com/b"]
    await api.merge(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": both}})
    await api.merge(f"{CONFIG_MAPS}/a", {"metadata": {"deletionTimestamp": None}})
    await api.merge(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": None}})


@contract
async def test_last_finalizer_removed_by_apply(api: Conversation) -> None:
    body = config_map("a", {"finalizers": ["example.com/a"]})
    await api.apply(f"{CONFIG_MAPS}/a", body, "one")
    await api.delete(f"{CONFIG_MAPS}/a")
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a"), "one")
    await api.get(f"{CONFIG_MAPS}/a")


@contract
async def test_preconditions(api: Conversation) -> None:
    await install_gadgets(api)
    for path, kind in ((CONFIG_MAPS, config_map), (GADGETS, gadget)):
        made = await api.post(path, kind("a"))
        await api.delete(f"{path}/a", {"preconditions": {"uid": NO_UID}})
        refused = await api.delete(
            f"{path}/a", {"preconditions": {"resourceVersion": "1"}}, recorded=False
        )
        api.note([refused.status, refused.body["reason"], refused.body["details"]])
        good = {"uid": made.uid, "resourceVersion": made.version}
        await api.delete(f"{path}/a", {"preconditions": good})


@contract
async def test_options_in_the_body(api: Conversation) -> None:
    options = {"apiVersion": "v1", "kind": "DeleteOptions"}
    for number, extra in enumerate(
        (
            {},
            {"propagationPolicy": "Background"},
            {"gracePeriodSeconds": 0},
            {"gracePeriodSeconds": -1},
            {"dryRun": ["All"]},
            {"dryRun": ["Some"]},
            {"propagationPolicy": "Sideways"},
            {"orphanDependents": True},
            {"orphanDependents": True, "propagationPolicy": "Orphan"},
            {"unknown": 1},
            {"kind": "ConfigMap"},
            {"apiVersion": "v2"},
            {"apiVersion": "meta.k8s.io/v1"},
            {"preconditions": None},
        )
    ):
        await api.post(CONFIG_MAPS, config_map(f"a{number}"), recorded=False)
        await api.delete(f"{CONFIG_MAPS}/a{number}", {**options, **cast("JsonObject", extra)})
        if extra != {"orphanDependents": True}:  # then it takes a moment
            await api.get(f"{CONFIG_MAPS}/a{number}")


@contract
async def test_malformed_options(api: Conversation) -> None:
    await api.post(CONFIG_MAPS, config_map("a"))
    for body in (b"{", b"x", b"[]"):
        await api.delete(f"{CONFIG_MAPS}/a", body, same_words=False)
    await api.get(f"{CONFIG_MAPS}/a")


@pytest.mark.parametrize(
    "query",
    [
        "propagationPolicy=Background",
        "propagationPolicy=Sideways",
        "gracePeriodSeconds=0",
        "gracePeriodSeconds=x",
        "dryRun=All",
        "dryRun=Some",
        "orphanDependents=true",
        "orphanDependents=false",
        "orphanDependents=true&propagationPolicy=Orphan",
    ],
)
@contract
async def test_options_in_the_query(api: Conversation, query: str) -> None:
    await api.post(CONFIG_MAPS, config_map("a"))
    await api.delete(f"{CONFIG_MAPS}/a?{query}")
    if "orphanDependents=true" not in query or "&" in query:
        await api.get(f"{CONFIG_MAPS}/a")
    else:
        await api.until(f"{CONFIG_MAPS}/a", is_gone)


async def make_family(api: Conversation, **flags: bool) -> None:
    parent = await api.post(CONFIG_MAPS, config_map("parent"))
    child = config_map("child", {"ownerReferences": [owner(parent.body, **flags)]})
    await api.post(CONFIG_MAPS, child)


@contract
async def test_background(api: Conversation) -> None:
    await make_family(api)
    await api.delete(f"{CONFIG_MAPS}/parent", {"propagationPolicy": "Background"})
    await api.get(f"{CONFIG_MAPS}/parent")
    await api.until(f"{CONFIG_MAPS}/child", is_gone)


@contract
async def test_foreground(api: Conversation) -> None:
    await make_family(api, blockOwnerDeletion=True)
    await api.merge(f"{CONFIG_MAPS}/child", {"metadata": {"finalizers": ["example.com/a"]}})
    await api.delete(f"{CONFIG_MAPS}/parent", {"propagationPolicy": "Foreground"})
    await api.get(f"{CONFIG_MAPS}/parent")
    await api.until(
        f"{CONFIG_MAPS}/child", lambda answer: "deletionTimestamp" in answer.body["metadata"]
    )
    await api.get(f"{CONFIG_MAPS}/parent")
    await api.merge(f"{CONFIG_MAPS}/child", {"metadata": {"finalizers": None}})
    await api.until(f"{CONFIG_MAPS}/parent", is_gone)


@contract
async def test_foreground_does_not_wait_for_children_that_do_not_block(api: Conversation) -> None:
    await make_family(api)
    await api.merge(f"{CONFIG_MAPS}/child", {"metadata": {"finalizers": ["example.com/a"]}})
    await api.delete(f"{CONFIG_MAPS}/parent", {"propagationPolicy": "Foreground"})
    await api.until(f"{CONFIG_MAPS}/parent", is_gone)
    await api.until(
        f"{CONFIG_MAPS}/child", lambda answer: "deletionTimestamp" in answer.body["metadata"]
    )
    await api.merge(f"{CONFIG_MAPS}/child", {"metadata": {"finalizers": None}})


@contract
async def test_orphan(api: Conversation) -> None:
    await make_family(api)
    await api.delete(f"{CONFIG_MAPS}/parent", {"propagationPolicy": "Orphan"})
    await api.until(f"{CONFIG_MAPS}/parent", is_gone)
    child = await api.get(f"{CONFIG_MAPS}/child", recorded=False)
    api.note(child.body["metadata"].get("ownerReferences"))


@contract
async def test_pods_go_at_once_without_a_node(api: Conversation) -> None:
    await api.post(PODS, pod("a"))
    await api.delete(f"{PODS}/a")
    await api.get(f"{PODS}/a")


@contract
async def test_pods_on_nodes_get_time(api: Conversation) -> None:
    await api.post(PODS, pod("a", nodeName="n1"))
    await api.delete(f"{PODS}/a")
    await api.get(f"{PODS}/a")
    await api.delete(f"{PODS}/a?gracePeriodSeconds=60")
    await api.delete(f"{PODS}/a?gracePeriodSeconds=5")
    await api.get(f"{PODS}/a")
    await api.delete(f"{PODS}/a?gracePeriodSeconds=0")
    await api.get(f"{PODS}/a")


@contract
async def test_grace_of_the_pod_itself(api: Conversation) -> None:
    await api.post(PODS, pod("a", nodeName="n1", terminationGracePeriodSeconds=7))
    await api.delete(f"{PODS}/a")
    await api.post(PODS, pod("b", nodeName="n1", terminationGracePeriodSeconds=0))
    await api.delete(f"{PODS}/b")
    await api.post(PODS, pod("c", nodeName="n1"))
    await api.delete(f"{PODS}/c", {"gracePeriodSeconds": 3})
    for name in "abc":
        await api.delete(f"{PODS}/{name}", {"gracePeriodSeconds": 0})


@contract
async def test_collections(api: Conversation) -> None:
    await install_gadgets(api)
    for path, kind in ((SECRETS, secret), (GADGETS, gadget)):
        for name in "abc":
            await api.post(path, kind(name, {"labels": {"odd": str(name != "b")}}), recorded=False)
        await api.delete(f"{path}?labelSelector=odd=False")
        await api.delete(f"{path}?fieldSelector=metadata.name=c&dryRun=All")
        await api.delete(f"{path}?fieldSelector=metadata.name=nothing")
        await api.get(path)
        await api.delete(path)
        await api.get(path)


@contract
async def test_collections_with_finalizers(api: Conversation) -> None:
    await api.post(SECRETS, secret("a", {"finalizers": ["example.com/a"]}))
    await api.post(SECRETS, secret("b"))
    await api.delete(SECRETS)
    await api.get(SECRETS)
    await api.merge(f"{SECRETS}/a", {"metadata": {"finalizers": None}})


@contract
async def test_collections_with_odd_options(api: Conversation) -> None:
    await api.post(SECRETS, secret("a"))
    await api.delete(f"{SECRETS}?fieldSelector=data=x")
    await api.delete(f"{SECRETS}?propagationPolicy=Sideways")
    await api.delete(SECRETS, {"preconditions": {"uid": NO_UID}})
    await api.get(SECRETS)
