"""PATCH in three dialects: JSON patch, merge patch, strategic merge."""

from typing import Any

import pytest
from tests.support.contract.samples import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    GADGETS,
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

JSON_PATCHES: dict[str, Any] = {
    "add": [{"op": "add", "path": "/data/y", "value": "2"}],
    "add over": [{"op": "add", "path": "/data/x", "value": "2"}],
    "add whole map": [{"op": "add", "path": "/data", "value": {"z": "9"}}],
    "add below nothing": [{"op": "add", "path": "/binaryData/y", "value": "Mg=="}],
    "add without value": [{"op": "add", "path": "/data/y"}],
    "add null": [{"op": "add", "path": "/data/y", "value": None}],
    "remove": [{"op": "remove", "path": "/data/x"}],
    "remove what is not there": [{"op": "remove", "path": "/data/nothing"}],
    "remove everything": [{"op": "remove", "path": "/data"}],
    "replace": [{"op": "replace", "path": "/data/x", "value": "2"}],
    "replace what is not there": [{"op": "replace", "path": "/data/q", "value": "2"}],
    "replace below nothing": [{"op": "replace", "path": "/nothing/q", "value": "2"}],
    "test": [{"op": "test", "path": "/data/x", "value": "1"}],
    "failing test": [{"op": "test", "path": "/data/x", "value": "2"}],
    "test of nothing": [{"op": "test", "path": "/data/q", "value": "2"}],
    "test then change": [
        {"op": "test", "path": "/data/x", "value": "1"},
        {"op": "replace", "path": "/data/x", "value": "2"},
    ],
    "change then failing test": [
        {"op": "replace", "path": "/data/x", "value": "2"},
        {"op": "test", "path": "/data/x", "value": "1"},
    ],
    "move": [{"op": "move", "from": "/data/x", "path": "/data/y"}],
    "move from nowhere": [{"op": "move", "from": "/data/q", "path": "/data/y"}],
    "copy": [{"op": "copy", "from": "/data/x", "path": "/data/y"}],
    "copy from nowhere": [{"op": "copy", "from": "/nothing/q", "path": "/data/y"}],
    "escaped key": [{"op": "add", "path": "/metadata/labels/example.com~1a", "value": "b"}],
    "wrong type": [{"op": "replace", "path": "/data", "value": "text"}],
    "finalizer": [{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/a"]}],
    "unknown operation": [{"op": "turn", "path": "/data/x", "value": "1"}],
    "no operation": [{"path": "/data/x"}],
    "no path": [{"op": "remove"}],
    "path without slash": [{"op": "remove", "path": "data"}],
    "nothing": [],
    "not a list": {"op": "remove", "path": "/data/x"},
    "not operations": ["x"],
    "text": "x",
    "whole document": [{"op": "replace", "path": "", "value": {}}],
    "index": [{"op": "replace", "path": "/metadata/managedFields/0/manager", "value": "m"}],
    "index beyond": [{"op": "add", "path": "/metadata/finalizers/5", "value": "example.com/a"}],
}


@pytest.mark.parametrize("what", JSON_PATCHES)
@contract
async def test_json_patches(api: Conversation, what: str) -> None:
    await api.post(CONFIG_MAPS, config_map("a", {"labels": {"l": "1"}}, data={"x": "1"}))
    # Known difference: the order of fields in the object that is quoted.
    await api.json_patch(f"{CONFIG_MAPS}/a", JSON_PATCHES[what], same_words=what != "wrong type")
    await api.get(f"{CONFIG_MAPS}/a")


MERGE_PATCHES: dict[str, Any] = {
    "add": {"data": {"y": "2"}},
    "change": {"data": {"x": "2"}},
    "remove": {"data": {"x": None}},
    "remove map": {"data": None},
    "remove nothing": {"data": {"q": None}, "binaryData": None},
    "nothing": {},
    "null": None,
    "list": [],
    "text": "x",
    "labels": {"metadata": {"labels": {"a": "b", "l": None}}},
    "empty labels": {"metadata": {"labels": None}},
    "nested null": {"metadata": {"annotations": {"a": None}}},
    "wrong type": {"data": ["x"]},
    "unknown field": {"dta": {"y": "2"}},
    "finalizers": {"metadata": {"finalizers": ["example.com/a"]}},
    "immutable": {"immutable": True},
    "invalid": {"data": {"not a key!": "x"}},
}


@pytest.mark.parametrize("what", MERGE_PATCHES)
@contract
async def test_merge_patches(api: Conversation, what: str) -> None:
    await api.post(CONFIG_MAPS, config_map("a", {"labels": {"l": "1"}}, data={"x": "1"}))
    same_words = what != "wrong type"
    await api.merge(f"{CONFIG_MAPS}/a", MERGE_PATCHES[what], same_words=same_words)
    await api.get(f"{CONFIG_MAPS}/a")


@contract
async def test_versions_in_patches(api: Conversation) -> None:
    made = await api.post(CONFIG_MAPS, config_map("a"))
    guarded = {"metadata": {"resourceVersion": made.version}, "data": {"x": "1"}}
    await api.merge(f"{CONFIG_MAPS}/a", guarded)
    await api.merge(f"{CONFIG_MAPS}/a", guarded)
    await api.strategic(f"{CONFIG_MAPS}/a", guarded)
    await api.merge(f"{CONFIG_MAPS}/a", {"metadata": {"resourceVersion": None}})
    await api.merge(f"{CONFIG_MAPS}/a", {"metadata": {"resourceVersion": "0"}, "data": {"z": "1"}})
    tested = [{"op": "test", "path": "/metadata/resourceVersion", "value": made.version}]
    await api.json_patch(f"{CONFIG_MAPS}/a", tested)


@contract
async def test_missing_objects(api: Conversation) -> None:
    await install_gadgets(api)
    for path in (CONFIG_MAPS, GADGETS, DEPLOYMENTS):
        await api.merge(f"{path}/a", {"data": {}})
        await api.json_patch(f"{path}/a", [])
    await api.strategic(f"{CONFIG_MAPS}/a", {})
    await api.merge(f"{DEPLOYMENTS}/a/status", {})


@contract
async def test_dialects_nobody_speaks(api: Conversation) -> None:
    await install_gadgets(api)
    await api.post(CONFIG_MAPS, config_map("a"))
    await api.post(GADGETS, gadget("a"))
    for path in (CONFIG_MAPS, GADGETS):
        for content_type in ("application/json", "text/plain", ""):
            await api.ask("PATCH", f"{path}/a", {}, content_type=content_type)
    await api.strategic(f"{GADGETS}/a", {"spec": {"size": 1}})


@contract
async def test_malformed_patches(api: Conversation) -> None:
    await api.post(CONFIG_MAPS, config_map("a"))
    for body in (b"", b"{", b"x", b"[{]"):
        await api.merge(f"{CONFIG_MAPS}/a", body, same_words=False)
        await api.json_patch(f"{CONFIG_MAPS}/a", body, same_words=False)
        await api.strategic(f"{CONFIG_MAPS}/a", body, same_words=False)


@contract
async def test_custom_resources(api: Conversation) -> None:
    await install_gadgets(api)
    parts = [{"name": "a", "value": 1}, {"name": "b", "value": 2}]
    await api.post(GADGETS, gadget("a", spec={"size": 1, "parts": parts}))
    await api.merge(f"{GADGETS}/a", {"spec": {"size": None, "parts": [{"name": "c"}]}})
    await api.merge(f"{GADGETS}/a", {"spec": {"mode": None}})
    await api.merge(f"{GADGETS}/a", {"spec": {"size": -1}})
    await api.merge(f"{GADGETS}/a", {"spec": {"nothing": 1}})
    await api.merge(f"{GADGETS}/a", {"spec": None})
    await api.json_patch(f"{GADGETS}/a", [{"op": "add", "path": "/spec", "value": {"size": 3}}])
    await api.json_patch(f"{GADGETS}/a", [{"op": "add", "path": "/spec/size", "value": "x"}])
    await api.merge(f"{GADGETS}/a", {"status": {"phase": "ignored"}})


def container(name: str, **rest: Any) -> dict[str, Any]:
    return {"template": {"spec": {"containers": [{"name": name, **rest}]}}}


STRATEGIC: dict[str, Any] = {
    "change a container": container("c", image="other"),
    "add a container": container("d", image="side"),
    "delete a container": {
        "template": {
            "spec": {"containers": [{"name": "d", "image": "x"}, {"name": "c", "$patch": "delete"}]}
        }
    },
    "replace containers": {
        "template": {"spec": {"containers": [{"$patch": "replace"}, {"name": "e", "image": "x"}]}}
    },
    "environment": container("c", env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]),
    "ports": container("c", ports=[{"containerPort": 80}, {"containerPort": 81, "name": "x"}]),
    "atomic list": container("c", args=["a", "b"]),
    "order": {
        "template": {
            "spec": {
                "containers": [{"name": "d", "image": "x"}],
                "$setElementOrder/containers": [{"name": "d"}, {"name": "c"}],
            }
        }
    },
    "map with retainKeys": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}},
    "null removes": {"template": {"metadata": {"labels": {"more": None}}}, "replicas": None},
    "replace map": {"template": {"metadata": {"annotations": {"$patch": "replace", "a": "b"}}}},
    "no merge key": {"template": {"spec": {"containers": [{"image": "x"}]}}},
    "unknown directive": {"template": {"$patch": "turn"}},
    "wrong type": {"template": {"spec": {"containers": "x"}}},
    "tolerations are replaced": {"template": {"spec": {"tolerations": [{"operator": "Exists"}]}}},
    "volumes": {"template": {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}},
}


@pytest.mark.parametrize("what", STRATEGIC)
@contract
async def test_strategic_merge_of_deployments(api: Conversation, what: str) -> None:
    await api.post(DEPLOYMENTS, deployment("a", replicas=2), recorded=False)
    same_words = what not in {"wrong type", "no merge key", "unknown directive"}
    await api.strategic(f"{DEPLOYMENTS}/a", {"spec": STRATEGIC[what]}, same_words=same_words)
    await api.get(f"{DEPLOYMENTS}/a")


@contract
async def test_strategic_merge_of_lists_of_words(api: Conversation) -> None:
    finalizers = ["example.com/a", "example.com/b"]
    await api.post(CONFIG_MAPS, config_map("a", {"finalizers": finalizers}))
    await api.strategic(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": ["example.com/c"]}})
    gone = {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}
    await api.strategic(f"{CONFIG_MAPS}/a", {"metadata": gone})
    order = {"$setElementOrder/finalizers": ["example.com/c", "example.com/b"]}
    await api.strategic(f"{CONFIG_MAPS}/a", {"metadata": order})
    await api.strategic(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": None}})


@contract
async def test_strategic_merge_of_services(api: Conversation) -> None:
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
    await api.post(
        SERVICES,
        obj(
            "v1", "Service", "a", spec={"clusterIP": "None", "ports": ports, "selector": {"a": "b"}}
        ),
    )
    added = {"spec": {"ports": [{"port": 82, "name": "c"}, {"port": 80, "targetPort": 8080}]}}
    await api.strategic(f"{SERVICES}/a", added)
    await api.strategic(f"{SERVICES}/a", {"spec": {"ports": [{"port": 81, "$patch": "delete"}]}})
    await api.strategic(f"{SERVICES}/a", {"spec": {"selector": {"x": "y"}}})
    await api.strategic(f"{SERVICES}/a", {"spec": {"selector": {"$patch": "replace", "z": "y"}}})


@contract
async def test_strategic_merge_of_pods(api: Conversation) -> None:
    await api.post(PODS, pod("a"))
    await api.strategic(f"{PODS}/a", {"spec": {"containers": [{"name": "c", "image": "other:1"}]}})
    await api.strategic(f"{PODS}/a", {"metadata": {"labels": {"a": "b"}}})
    # Known difference: times that were never set are printed as null by the real server.
    then = {"lastProbeTime": "2001-02-03T04:05:06Z", "lastTransitionTime": "2001-02-03T04:05:06Z"}
    conditions = [
        {"type": "Ready", "status": "True", **then},
        {"type": "Custom", "status": "False", **then},
    ]
    await api.strategic(f"{PODS}/a/status", {"status": {"conditions": conditions}})
    conditions = [{"type": "Ready", "status": "False"}]
    await api.strategic(f"{PODS}/a/status", {"status": {"conditions": conditions}})


@contract
async def test_options(api: Conversation) -> None:
    await api.post(CONFIG_MAPS, config_map("a"))
    for query in ("force=true", "fieldManager=me", "fieldManager=" + "x" * 129, "dryRun=Some"):
        await api.merge(f"{CONFIG_MAPS}/a?{query}", {"data": {"x": query[:9]}})
