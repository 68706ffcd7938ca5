"""Garbage collection: objects whose owners are gone.

The real collector looks for new kinds every half minute only, so that owners here are built in.
"""

from tests.support.contract.samples import (
    CONFIG_MAPS,
    SECRETS,
    config_map,
    owner,
    secret,
)
from tests.support.contract.transcript import Answer, Conversation, contract

NO_UID = "00000000-0000-0000-0000-000000000000"


def is_gone(answer: Answer) -> bool:
    return answer.status == 404


@contract
async def test_children_follow(api: Conversation) -> None:
    parent = await api.post(CONFIG_MAPS, config_map("parent"))
    child = await api.post(SECRETS, secret("child", {"ownerReferences": [owner(parent.body)]}))
    reference = {"ownerReferences": [owner(child.body)]}
    await api.post(CONFIG_MAPS, config_map("grandchild", reference))
    await api.delete(f"{CONFIG_MAPS}/parent")
    await api.until(f"{SECRETS}/child", is_gone)
    await api.until(f"{CONFIG_MAPS}/grandchild", is_gone)


@contract
async def test_owners_that_never_were(api: Conversation) -> None:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "nothing", "uid": NO_UID}
    await api.post(SECRETS, secret("child", {"ownerReferences": [reference]}))
    await api.until(f"{SECRETS}/child", is_gone)


@contract
async def test_owners_of_the_same_name_are_not_the_same(api: Conversation) -> None:
    parent = await api.post(CONFIG_MAPS, config_map("parent"))
    reference = {**owner(parent.body), "uid": NO_UID}
    await api.post(SECRETS, secret("child", {"ownerReferences": [reference]}))
    await api.until(f"{SECRETS}/child", is_gone)
    await api.get(f"{CONFIG_MAPS}/parent")


@contract
async def test_one_owner_is_enough(api: Conversation) -> None:
    parents = [await api.post(CONFIG_MAPS, config_map(name)) for name in "ab"]
    references = [owner(parent.body) for parent in parents]
    await api.post(SECRETS, secret("child", {"ownerReferences": references}))
    await api.delete(f"{CONFIG_MAPS}/a")
    await api.until(
        f"{SECRETS}/child", lambda answer: len(answer.body["metadata"]["ownerReferences"]) == 1
    )
    await api.delete(f"{CONFIG_MAPS}/b")
    await api.until(f"{SECRETS}/child", is_gone)


@contract
async def test_children_with_finalizers_wait(api: Conversation) -> None:
    parent = await api.post(CONFIG_MAPS, config_map("parent"))
    metadata = {"ownerReferences": [owner(parent.body)], "finalizers": ["example.com/a"]}
    await api.post(SECRETS, secret("child", metadata))
    await api.delete(f"{CONFIG_MAPS}/parent")
    await api.until(
        f"{SECRETS}/child", lambda answer: "deletionTimestamp" in answer.body["metadata"]
    )
    await api.merge(f"{SECRETS}/child", {"metadata": {"finalizers": None}})
    await api.get(f"{SECRETS}/child")


@contract
async def test_owners_in_other_namespaces_do_not_count(api: Conversation) -> None:
    elsewhere = await api.get("/api/v1/namespaces/default/serviceaccounts/default", recorded=False)
    reference = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "name": "nothing-here",
        "uid": elsewhere.uid,
    }
    await api.post(SECRETS, secret("child", {"ownerReferences": [reference]}), recorded=False)
    await api.until(f"{SECRETS}/child", is_gone)


@contract
async def test_owners_of_cluster_scope(api: Conversation) -> None:
    namespace = await api.get("/api/v1/namespaces/{ns}", recorded=False)
    await api.post(SECRETS, secret("child", {"ownerReferences": [owner(namespace.body)]}))
    await api.post(
        SECRETS, secret("other", {"ownerReferences": [{**owner(namespace.body), "uid": NO_UID}]})
    )
    await api.until(f"{SECRETS}/other", is_gone)
    await api.get(f"{SECRETS}/child")


@contract
async def test_owners_of_unknown_kinds_are_left_alone(api: Conversation) -> None:
    reference = {"apiVersion": "nothing.example.com/v1", "kind": "X", "name": "x", "uid": NO_UID}
    await api.post(SECRETS, secret("child", {"ownerReferences": [reference]}))
    known = {"apiVersion": "v1", "kind": "ConfigMap", "name": "nothing", "uid": NO_UID}
    await api.post(SECRETS, secret("other", {"ownerReferences": [known]}))
    await api.until(f"{SECRETS}/other", is_gone)
    await api.get(f"{SECRETS}/child")
