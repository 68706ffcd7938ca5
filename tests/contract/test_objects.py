"""Objects one by one: create, read, replace, delete, and what is refused on the way."""

from typing import Any

import pytest
from tests.support.contract.samples import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    GADGETS,
    NAMESPACED,
    SECRETS,
    config_map,
    deployment,
    gadget,
    install_gadgets,
    secret,
)
from tests.support.contract.transcript import Conversation, contract


@contract
async def test_life_of_a_secret(api: Conversation) -> None:
    made = await api.post(SECRETS, secret("a", stringData={"x": "1"}))
    await api.get(f"{SECRETS}/a")
    await api.put(f"{SECRETS}/a", {**made.body, "data": {"y": "Mg=="}})
    await api.delete(f"{SECRETS}/a")
    await api.get(f"{SECRETS}/a")
    await api.delete(f"{SECRETS}/a")


@contract
async def test_life_of_a_custom_resource(api: Conversation) -> None:
    await install_gadgets(api)
    made = await api.post(GADGETS, gadget("a", spec={"size": 1}))
    await api.get(f"{GADGETS}/a")
    await api.put(f"{GADGETS}/a", {**made.body, "spec": {"size": 2}})
    await api.delete(f"{GADGETS}/a")
    await api.get(f"{GADGETS}/a")


@contract
async def test_names_are_taken_once(api: Conversation) -> None:
    await install_gadgets(api)
    for path, body in ((CONFIG_MAPS, config_map("a")), (GADGETS, gadget("a"))):
        await api.post(path, body)
        await api.post(path, body)


@contract
async def test_replacing_a_stale_version_conflicts(api: Conversation) -> None:
    made = await api.post(CONFIG_MAPS, config_map("a"))
    await api.put(f"{CONFIG_MAPS}/a", {**made.body, "data": {"x": "1"}})
    await api.put(f"{CONFIG_MAPS}/a", {**made.body, "data": {"x": "2"}})
    await api.get(f"{CONFIG_MAPS}/a")


@contract
async def test_replacing_without_a_version_overwrites(api: Conversation) -> None:
    await api.post(CONFIG_MAPS, config_map("a", data={"x": "1"}))
    await api.put(f"{CONFIG_MAPS}/a", config_map("a", data={"y": "1"}))


@contract
async def test_replacing_a_custom_resource_needs_a_version(api: Conversation) -> None:
    await install_gadgets(api)
    await api.post(GADGETS, gadget("a", spec={"size": 1}))
    await api.put(f"{GADGETS}/a", gadget("a", spec={"size": 2}))


@contract
async def test_replacing_with_the_same_is_no_write(api: Conversation) -> None:
    made = await api.post(CONFIG_MAPS, config_map("a", data={"x": "1"}))
    await api.put(f"{CONFIG_MAPS}/a", made.body)
    await api.get(f"{CONFIG_MAPS}/a")


@contract
async def test_replacing_what_does_not_exist(api: Conversation) -> None:
    await install_gadgets(api)
    await api.put(f"{CONFIG_MAPS}/a", config_map("a"))
    await api.put(f"{DEPLOYMENTS}/a", deployment("a"))
    await api.put(f"{GADGETS}/a", gadget("a", {"resourceVersion": "1"}))


@contract
async def test_uid_in_a_body_must_match(api: Conversation) -> None:
    made = await api.post(CONFIG_MAPS, config_map("a"))
    wrong = {**made.body["metadata"], "uid": "00000000-0000-0000-0000-000000000000"}
    await api.put(f"{CONFIG_MAPS}/a", {**made.body, "metadata": wrong})
    await api.merge(f"{CONFIG_MAPS}/a", {"metadata": {"uid": wrong["uid"]}})


@contract
async def test_what_the_server_decides_cannot_be_chosen(api: Conversation) -> None:
    chosen = {
        "uid": "00000000-0000-0000-0000-000000000000",
        "creationTimestamp": "2001-02-03T04:05:06Z",
        "generation": 7,
        "selfLink": "/x",
    }
    made = await api.post(CONFIG_MAPS, config_map("a", chosen))
    api.note(made.uid == chosen["uid"])
    api.note(made.body["metadata"]["creationTimestamp"] == chosen["creationTimestamp"])
    await api.merge(f"{CONFIG_MAPS}/a", {"metadata": {"creationTimestamp": None, "generation": 3}})
    await api.merge(f"{CONFIG_MAPS}/a", {"metadata": {"deletionTimestamp": "2001-02-03T04:05:06Z"}})


@contract
async def test_a_version_may_not_be_given_on_create(api: Conversation) -> None:
    await api.post(CONFIG_MAPS, config_map("a", {"resourceVersion": "5"}))
    await api.put(f"{CONFIG_MAPS}/a", config_map("a", {"resourceVersion": "x"}))


@contract
async def test_generation_counts_changes_of_the_spec(api: Conversation) -> None:
    await install_gadgets(api)
    for path, body in ((DEPLOYMENTS, deployment("a")), (GADGETS, gadget("a", spec={}))):
        await api.post(path, body)
        await api.merge(f"{path}/a", {"metadata": {"labels": {"x": "y"}}})
        await api.merge(f"{path}/a", {"spec": {"replicas": 3}})
        await api.merge(f"{path}/a/status", {"status": {"replicas": 3}})
        await api.merge(f"{path}/a", {"metadata": {"generation": 17}})


@contract
async def test_generated_names(api: Conversation) -> None:
    for number in range(2):
        body = config_map("", {"generateName": "made-"})
        made = await api.post(CONFIG_MAPS, body, recorded=False)
        name = made.body["metadata"]["name"]
        api.note([number, made.status, len(name), name[:5], made.body["metadata"]["generateName"]])
    long = await api.post(CONFIG_MAPS, config_map("", {"generateName": "x" * 100}), recorded=False)
    api.note([long.status, len(long.body["metadata"]["name"])])
    await api.post(CONFIG_MAPS, config_map("given", {"generateName": "made-"}))


@contract
async def test_no_name_at_all(api: Conversation) -> None:
    await install_gadgets(api)
    for path, kind in ((CONFIG_MAPS, config_map("")), (GADGETS, gadget(""))):
        await api.post(path, kind)
        del kind["metadata"]["name"]
        await api.post(path, kind)
        del kind["metadata"]
        await api.post(path, kind)


@pytest.mark.parametrize(
    "name", ["UPPER", "under_score", "-a", "a-", "a..b", "a" * 254, "a b", "é"]
)
@contract
async def test_bad_names(api: Conversation, name: str) -> None:
    await install_gadgets(api)
    await api.post(CONFIG_MAPS, config_map(name))
    await api.post(GADGETS, gadget(name))
    made = await api.post(CONFIG_MAPS, config_map("", {"generateName": name}), recorded=False)
    causes = made.body.get("details", {}).get("causes", [])
    api.note([made.status, [cause["field"] for cause in causes]])


@pytest.mark.parametrize("name", [".", "..", "a/b", "a%b"])
@contract
async def test_names_that_break_paths(api: Conversation, name: str) -> None:
    await install_gadgets(api)
    await api.post(CONFIG_MAPS, config_map(name))
    await api.post(GADGETS, gadget(name))


BAD_METADATA: dict[str, Any] = {
    "label value": {"labels": {"a": "b c"}},
    "label value too long": {"labels": {"a": "b" * 64}},
    "label key": {"labels": {"a b": "c"}},
    "label key without name": {"labels": {"x/": "c"}},
    "label key with bad prefix": {"labels": {"X_/a": "c"}},
    "label key with two slashes": {"labels": {"a/b/c": "d"}},
    "empty label key": {"labels": {"": "d"}},
    "annotation key": {"annotations": {"a b": "c"}},
    "annotations too large": {"annotations": {"a": "x" * 262145}},
    "finalizer without domain": {"finalizers": ["plain"]},
    "bad finalizer": {"finalizers": ["example.com/a b"]},
    "owner without anything": {"ownerReferences": [{}]},
    "owner without version": {"ownerReferences": [{"kind": "A", "name": "b", "uid": "c"}]},
    "two controllers": {
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": n, "uid": n, "controller": True}
            for n in "ab"
        ]
    },
    "owner twice": {
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": "b", "uid": "c"} for _ in range(2)
        ]
    },
    "owner is an event": {
        "ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "b", "uid": "c"}]
    },
    "several at once": {"labels": {"a": "b c"}, "annotations": {"?": ""}, "finalizers": ["?"]},
}


@pytest.mark.parametrize("metadata", BAD_METADATA.values(), ids=BAD_METADATA)
@contract
async def test_bad_metadata(api: Conversation, metadata: dict[str, Any]) -> None:
    await install_gadgets(api)
    await api.post(CONFIG_MAPS, config_map("a", metadata))
    await api.post(GADGETS, gadget("a", metadata))


WRONG_TYPES: dict[str, Any] = {
    "labels": {"labels": []},
    "label value": {"labels": {"a": 1}},
    "label null": {"labels": {"a": None}},
    "annotations": {"annotations": "x"},
    "finalizers": {"finalizers": {}},
    "owners": {"ownerReferences": {}},
    "owner": {"ownerReferences": ["x"]},
    "time": {"creationTimestamp": "yesterday"},
    "generation": {"generation": "x"},
    "name": {"name": 5},
    "managed fields": {"managedFields": "x"},
}


@pytest.mark.parametrize("metadata", WRONG_TYPES.values(), ids=WRONG_TYPES)
@contract
async def test_metadata_of_wrong_type(api: Conversation, metadata: dict[str, Any]) -> None:
    await install_gadgets(api)
    await api.post(CONFIG_MAPS, config_map("a", metadata))
    await api.post(GADGETS, gadget("a", metadata))


@contract
async def test_body_says_another_kind(api: Conversation) -> None:
    await install_gadgets(api)
    for path in (CONFIG_MAPS, GADGETS):
        await api.post(path, secret("a"))
        await api.post(path, {**config_map("a"), "apiVersion": "v2"})
        await api.post(path, {**config_map("a"), "apiVersion": "a/b/c"})
        await api.post(path, {**gadget("a"), "apiVersion": "contract.example.com/v2"})
        await api.post(path, {**gadget("a"), "kind": "Gizmo"})
        await api.post(path, {"metadata": {"name": "b"}})
        await api.post(path, {"kind": "ConfigMap", "metadata": {"name": "c"}})
        await api.post(path, {"apiVersion": "v1", "metadata": {"name": "d"}})


@contract
async def test_body_says_another_place(api: Conversation) -> None:
    await install_gadgets(api)
    await api.post(CONFIG_MAPS, config_map("a"))
    await api.post(GADGETS, gadget("a"))
    for path, kind in ((CONFIG_MAPS, config_map), (GADGETS, gadget)):
        await api.post(path, kind("b", {"namespace": "elsewhere"}))
        await api.put(f"{path}/a", kind("a", {"namespace": "elsewhere"}))
        await api.put(f"{path}/a", kind("b"))
        await api.put(f"{path}/a", kind(""))
        await api.merge(f"{path}/a", {"metadata": {"namespace": "elsewhere"}})
        await api.merge(f"{path}/a", {"metadata": {"name": "b"}})
        # Known difference: the order of fields in the object that is quoted.
        await api.merge(f"{path}/a", {"kind": "Secret"}, same_words=False)
        await api.merge(f"{path}/a", {"apiVersion": "apps/v1"}, same_words=False)


@contract
async def test_unknown_namespaces(api: Conversation) -> None:
    await install_gadgets(api)
    await api.get("/api/v1/namespaces/nowhere/configmaps")
    await api.get("/api/v1/namespaces/nowhere/configmaps/a")
    await api.post("/api/v1/namespaces/nowhere/configmaps", config_map("a"))
    await api.post("/apis/contract.example.com/v1/namespaces/nowhere/gadgets", gadget("a"))
    await api.delete("/api/v1/namespaces/nowhere/configmaps/a")
    await api.delete("/api/v1/namespaces/nowhere/configmaps")


@contract
async def test_unknown_paths(api: Conversation) -> None:
    for path in (
        "/api/v1/nothings",
        "/api/v1/nothings/a",
        f"{NAMESPACED}/nothings",
        f"{NAMESPACED}/nothings/a",
        f"{CONFIG_MAPS}/a/nothing",
        f"{CONFIG_MAPS}/a/status",
        f"{CONFIG_MAPS}/a/b/c",
        f"{NAMESPACED}/namespaces",
        "/api/v1/configmaps/a",
        "/api/v2/configmaps",
        "/apis/nothing.example.com/v1/things",
        "/apis/apps/v9/deployments",
        "/apis/apps/v1/nothings",
        "/nothing",
        "/api/v1/namespaces/{ns}/nodes",
    ):
        await api.get(path)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"{CONFIG_MAPS}/a"),
        ("PUT", CONFIG_MAPS),
        ("PATCH", CONFIG_MAPS),
        ("POST", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/namespaces"),
        ("POST", "/api/v1/namespaces/{ns}"),
        ("POST", "/api"),
        ("DELETE", "/apis/apps/v1"),
        ("DELETE", f"{DEPLOYMENTS}/a/status"),
        ("POST", f"{DEPLOYMENTS}/a/status"),
        ("DELETE", f"{DEPLOYMENTS}/a/scale"),
        ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        ("DELETE", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/a"),
    ],
)
@contract
async def test_methods_that_are_not_allowed(api: Conversation, method: str, path: str) -> None:
    await api.ask(method, path, config_map("a") if method != "DELETE" else None)


MALFORMED = {
    "nothing": b"",
    "truncated": b'{"apiVersion":"v1","kind":"Conf',
    "word": b"hello",
    "array": b"[]",
    "null": b"null",
    "string": b'"x"',
    "number": b"1",
    "empty object": b"{}",
    "trailing comma": b'{"apiVersion":"v1","kind":"ConfigMap",}',
    "trailing text": b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}} x',
    "not utf-8": b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"\xff"}}',
    "metadata is a list": b'{"apiVersion":"v1","kind":"ConfigMap","metadata":[]}',
    "metadata is null": b'{"apiVersion":"v1","kind":"ConfigMap","metadata":null}',
    "data is a number": b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n"},"data":1}',
    "version is a number": b'{"apiVersion":1,"kind":"ConfigMap"}',
}


NOT_JSON = {"word", "trailing comma", "trailing text"}
"""Known difference: parsers describe errors of syntax in words of their own."""


@pytest.mark.parametrize("what", MALFORMED)
@contract
async def test_malformed_bodies(api: Conversation, what: str) -> None:
    await install_gadgets(api)
    body, same_words = MALFORMED[what], what not in NOT_JSON
    await api.post(CONFIG_MAPS, body, same_words=same_words)
    custom = body.replace(b'"v1"', b'"contract.example.com/v1"').replace(b"ConfigMap", b"Gadget")
    await api.post(GADGETS, custom, same_words=same_words)


@contract
async def test_content_types(api: Conversation) -> None:
    await install_gadgets(api)
    for number, content_type in enumerate(
        ("text/plain", "application/xml", "application/json; charset=utf-8", "nonsense", "", "*/*")
    ):
        await api.post(CONFIG_MAPS, config_map(f"a{number}"), content_type=content_type)
        await api.post(GADGETS, gadget(f"a{number}"), content_type=content_type)


@contract
async def test_yaml_bodies(api: Conversation) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  at: '1'\n"
    await api.post(CONFIG_MAPS, body, content_type="application/yaml")
    await api.post(CONFIG_MAPS, b"a: b: c", content_type="application/yaml", same_words=False)
    await api.post(CONFIG_MAPS, b"- a", content_type="application/yaml")


@contract
async def test_bodies_that_are_too_large(api: Conversation) -> None:
    await api.post(CONFIG_MAPS, config_map("a", data={"x": "y" * 3_200_000}))
    await api.post(CONFIG_MAPS, config_map("a", data={"x": "y" * 1_100_000}))


@contract
async def test_reading_at_a_version(api: Conversation) -> None:
    made = await api.post(CONFIG_MAPS, config_map("a"))
    await api.get(f"{CONFIG_MAPS}/a?resourceVersion={made.version}")
    await api.get(f"{CONFIG_MAPS}/a?resourceVersion=0")  # any state will do: it has seen this one
    await api.get(f"{CONFIG_MAPS}/a?resourceVersion=x")
