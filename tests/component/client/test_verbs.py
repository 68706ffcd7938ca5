"""Every verb against a server that means it: the embedded one, and the real one when asked for."""

from typing import ClassVar

import msgspec
import orjson
import pytest

from certwright.client import Propagation, Selection, WatchOptions
from certwright.client.request import Validation
from certwright.kube import (
    JSON_PATCH,
    STRATEGIC_MERGE_PATCH,
    AlreadyExists,
    BadRequest,
    Conflict,
    GroupVersionKind,
    JsonObject,
    Key,
    NotFound,
    Object,
    ObjectMeta,
    Resource,
)
from certwright.kube.kinds import ConfigMap, ServiceAccount
from certwright.testkit import Cluster

NAMESPACE = "default"
KEY = Key(NAMESPACE, "web")


class TypedConfigMap(Object):
    resource: ClassVar[Resource] = ConfigMap
    data: dict[str, str] = msgspec.field(default_factory=dict)


def config(name: str = "web", **data: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": NAMESPACE, "name": name, "labels": {"suite": "verbs"}},
        "data": data,
    }


async def test_create_get_update_delete(cluster: Cluster) -> None:
    client = cluster.client
    created = await client.create(config(a="b"))
    assert (await client.get(ConfigMap, KEY)) == created
    with pytest.raises(AlreadyExists):
        await client.create(config())
    updated = await client.update({**created, "data": {"a": "c"}})
    assert updated["data"] == {"a": "c"}
    with pytest.raises(Conflict):
        await client.update({**created, "data": {"a": "d"}})
    with pytest.raises(Conflict):
        await client.delete(ConfigMap, KEY, uid="somebody-else")
    uid = created["metadata"]["uid"]
    await client.delete(ConfigMap, KEY, uid=uid, propagation=Propagation.BACKGROUND)
    with pytest.raises(NotFound):
        await client.get(ConfigMap, KEY)


async def test_apply_typed_objects_and_see_who_owns_what(cluster: Cluster) -> None:
    client = cluster.client
    mine = TypedConfigMap(metadata=ObjectMeta(namespace=NAMESPACE, name="web"), data={"a": "b"})
    applied = await client.apply(mine)
    assert isinstance(applied, TypedConfigMap)
    assert (applied.data, applied.kind) == ({"a": "b"}, "ConfigMap")
    with pytest.raises(Conflict) as caught:
        await client.apply(config(a="c"), field_manager="other", force=False)
    assert [cause.field for cause in caught.value.causes] == [".data.a"]
    taken = await client.apply(config(a="c"), field_manager="other")
    assert taken["data"] == {"a": "c"}
    assert (await client.get(TypedConfigMap, KEY)).data == {"a": "c"}


async def test_patches(cluster: Cluster) -> None:
    client = cluster.client
    await client.create(config(a="1"))
    assert (await client.patch(ConfigMap, KEY, {"data": {"b": "2"}}))["data"] == {
        "a": "1",
        "b": "2",
    }
    removal = [{"op": "remove", "path": "/data/a"}]
    assert (await client.patch(ConfigMap, KEY, removal, type=JSON_PATCH))["data"] == {"b": "2"}
    strategic = {"data": {"c": "3"}}
    merged = await client.patch(TypedConfigMap, KEY, strategic, type=STRATEGIC_MERGE_PATCH)
    assert merged.data == {"b": "2", "c": "3"}


async def test_dry_runs_change_nothing(cluster: Cluster) -> None:
    client = cluster.client
    assert (await client.create(config(a="b"), dry_run=True))["metadata"]["uid"]
    with pytest.raises(NotFound):
        await client.get(ConfigMap, KEY)
    await client.create(config(a="b"))
    await client.apply(config(a="c"), dry_run=True)
    await client.delete(ConfigMap, KEY, dry_run=True)
    assert (await client.get(ConfigMap, KEY))["data"] == {"a": "b"}


async def test_misspelt_fields_are_refused_unless_told_otherwise(
    cluster: Cluster,
) -> None:
    client = cluster.client
    with pytest.raises(BadRequest, match='unknown field "dta"'):
        await client.create({**config(), "dta": {}})
    created = await client.create({**config(), "dta": {}}, validation=Validation.IGNORE)
    assert "dta" not in created


async def test_lists_in_pages_and_by_selector(cluster: Cluster) -> None:
    client = cluster.client
    names = [f"web-{n}" for n in range(5)]
    for name in names:
        await client.create(config(name))
    found = await client.list(TypedConfigMap, NAMESPACE, labels="suite=verbs")
    assert sorted(item.metadata.name for item in found.items) == names
    selection = Selection(NAMESPACE, "suite=verbs")
    pages = [page async for page in client.pages(ConfigMap, selection, limit=2)]
    assert [len(page.items) for page in pages] == [2, 2, 1]
    await client.delete_collection(ConfigMap, selection)
    assert (await client.list(ConfigMap, NAMESPACE, labels="suite=verbs")).items == []


@pytest.mark.parametrize("metadata_only", [False, True])
async def test_a_streaming_list_ends_with_a_bookmark_and_goes_on(
    cluster: Cluster, *, metadata_only: bool
) -> None:
    client = cluster.client
    await client.create(config("one"))
    options = WatchOptions(initial_events=True, metadata_only=metadata_only)
    seen = []
    ends = 0
    async with client.watch(ConfigMap, Selection(NAMESPACE, "suite=verbs"), options) as batches:
        async for batch in batches:
            for line in batch:
                event = orjson.loads(line)
                metadata = event["object"]["metadata"]
                if event["type"] != "BOOKMARK":
                    seen.append((event["type"], metadata["name"]))
                elif "k8s.io/initial-events-end" in (metadata.get("annotations") or {}):
                    assert seen == [("ADDED", "one")]
                    ends += 1  # others may follow at any moment
                    await client.create(config("two"))
            if ("ADDED", "two") in seen:
                break
    assert seen == [("ADDED", "one"), ("ADDED", "two")]
    assert ends == 1


async def test_unknown_kinds_are_named(cluster: Cluster) -> None:
    with pytest.raises(NotFound, match=r"no kind Nothing in demo\.certwright\.dev/v1"):
        await cluster.client.discovery.resource_for(
            GroupVersionKind("demo.certwright.dev", "v1", "Nothing")
        )


async def test_subresources(cluster: Cluster) -> None:
    client = cluster.client
    key = Key(NAMESPACE, "robot")
    meta = {"namespace": NAMESPACE, "name": "robot"}
    await client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = await client.create_subresource(ServiceAccount, key, "token", request)
    assert answer["status"]["token"]
