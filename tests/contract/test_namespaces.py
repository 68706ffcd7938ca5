"""Namespaces: how they begin, how they end, and what is refused meanwhile."""

from typing import Any

from tests.support.contract.samples import CONFIG_MAPS, SECRETS, config_map, obj, secret
from tests.support.contract.transcript import Answer, Conversation, contract

NAMESPACE = "/api/v1/namespaces/{ns}"
WITHIN = "/api/v1/namespaces/{ns}-b"


def namespace(name: str, **metadata: Any) -> dict[str, Any]:
    return obj("v1", "Namespace", name, metadata)


def is_gone(answer: Answer) -> bool:
    return answer.status == 404


def holds_back(answer: Answer) -> bool:
    """Whether the controller has looked, and found what keeps it from finishing."""
    conditions = answer.body["status"].get("conditions", [])
    return any(c["type"] == "NamespaceFinalizersRemaining" for c in conditions)


async def make(api: Conversation) -> None:
    """Make a second namespace, complete as controllers leave it."""
    await api.post("/api/v1/namespaces", namespace(f"{api.namespace}-b"), recorded=False)
    for path in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
        await api.until(f"{WITHIN}/{path}", lambda answer: answer.status == 200)


@contract
async def test_beginning(api: Conversation) -> None:
    await api.get(NAMESPACE)
    await make(api)
    await api.post("/api/v1/namespaces", namespace(f"{api.namespace}-b"))
    await api.merge(WITHIN, {"metadata": {"labels": {"a": "b"}}})
    await api.merge(WITHIN, {"metadata": {"labels": {"kubernetes.io/metadata.name": "x"}}})
    await api.delete(WITHIN, recorded=False)


@contract
async def test_names(api: Conversation) -> None:
    for name in ("UPPER", "with.dot", "a" * 64, "-x", ""):
        await api.post("/api/v1/namespaces", namespace(name))
    await api.post("/api/v1/namespaces", namespace("x", namespace="y"))


@contract
async def test_end_and_new_beginning(api: Conversation) -> None:
    await make(api)
    await api.post(f"{WITHIN}/configmaps", config_map("a"), recorded=False)
    await api.post(f"{WITHIN}/secrets", secret("a"), recorded=False)
    ending = await api.delete(WITHIN, recorded=False)
    api.note([ending.status, ending.body["status"]["phase"], ending.body["spec"]])
    await api.until(WITHIN, is_gone)
    await api.get(f"{WITHIN}/configmaps")
    await api.get(f"{WITHIN}/secrets/a")
    await api.post(f"{WITHIN}/secrets", secret("a"))
    await make(api)
    await api.get(f"{WITHIN}/secrets")
    await api.delete(WITHIN, recorded=False)


@contract
async def test_ending_namespaces_take_nothing_new(api: Conversation) -> None:
    await make(api)
    held = secret("held", {"finalizers": ["example.com/a"]})
    await api.post(f"{WITHIN}/secrets", held, recorded=False)
    await api.delete(WITHIN, recorded=False)
    await api.post(f"{WITHIN}/secrets", secret("late"))
    await api.apply(f"{WITHIN}/secrets/late", secret("late"), "me")
    await api.post(f"{WITHIN}/secrets?dryRun=All", secret("late"))
    found = await api.until(
        f"{WITHIN}/secrets/held", lambda a: "deletionTimestamp" in a.body["metadata"]
    )
    await api.merge(f"{WITHIN}/secrets/held", {"metadata": {"labels": {"a": "b"}}})
    api.note(found.status)
    await api.until(WITHIN, holds_back)
    await api.delete(WITHIN)
    await api.merge(f"{WITHIN}/secrets/held", {"metadata": {"finalizers": None}}, recorded=False)
    await api.until(WITHIN, is_gone)


@contract
async def test_finalizers_of_namespaces(api: Conversation) -> None:
    await make(api)
    await api.merge(WITHIN, {"metadata": {"finalizers": ["example.com/a"]}})
    await api.delete(WITHIN, recorded=False)
    await api.until(WITHIN, lambda answer: "finalizers" not in answer.body["spec"])
    await api.merge(WITHIN, {"metadata": {"finalizers": None}}, recorded=False)
    await api.until(WITHIN, is_gone)


@contract
async def test_immortals(api: Conversation) -> None:
    for name in ("default", "kube-system", "kube-public"):
        await api.delete(f"/api/v1/namespaces/{name}")
    await api.delete("/api/v1/namespaces/nothing")


@contract
async def test_preconditions(api: Conversation) -> None:
    await api.delete(NAMESPACE, {"preconditions": {"uid": "00000000-0000-0000-0000-000000000000"}})
    await api.delete(f"{NAMESPACE}?dryRun=All")
    await api.get(NAMESPACE)


@contract
async def test_spec_and_status(api: Conversation) -> None:
    await api.merge(NAMESPACE, {"spec": {"finalizers": []}})
    await api.merge(f"{NAMESPACE}/status", {"status": {"phase": "Terminating"}})
    await api.get(NAMESPACE)


@contract
async def test_furniture(api: Conversation) -> None:
    await api.get(CONFIG_MAPS)
    await api.get(SECRETS)
    await api.get(f"{NAMESPACE}/serviceaccounts")
