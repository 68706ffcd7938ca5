"""Declarations on a cluster: what is written, what is left alone, what is waited for."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from certwright.api.managedresources import ManagedResource
from certwright.client import Client
from certwright.kube import Conflict, JsonObject, Key, NotFound, ObjectMeta
from certwright.kube.kinds import ConfigMap, Secret
from certwright.managed import (
    Declaration,
    KeepOptions,
    Progress,
    delete,
    deploy,
    ensure,
    make_unique,
    set_keep_objects,
    unpack,
    wait_until_healthy,
)
from certwright.managed.unique import COLLECTABLE, UNUSED_SINCE
from certwright.testkit import Calls, Cluster, EmbeddedCluster
from certwright.testkit.builders import config_map, secret
from certwright.testkit.calls import CallLog, CountingTransport

HEALTHY = [
    {"type": "ResourcesApplied", "status": "True"},
    {"type": "ResourcesHealthy", "status": "True"},
    {"type": "ResourcesProgressing", "status": "True", "message": "Deployment web is progressing"},
]


async def counted(cluster: Cluster) -> tuple[Client, Callable[[], Calls]]:
    """A client whose calls are counted, on a cluster that knows ManagedResources."""
    await cluster.create(ManagedResource(metadata=ObjectMeta(name="installs-the-definition")))
    log = CallLog([])
    client = Client(CountingTransport(cluster.client.transport, log), clock=cluster.clock)

    def calls() -> Calls:
        found = log.since_mark()
        log.mark()
        return found

    return client, calls


def web(cluster: Cluster, text: str = "hello", **changes: Any) -> Declaration:
    given = {"key": Key(cluster.namespace, "web"), "objects": [config_map("c", {"text": text})]}
    return Declaration(**given | changes)


async def secret_names(cluster: Cluster) -> list[str]:
    found = await cluster.get(ManagedResource, "web")
    return [reference.name for reference in found.spec.secret_refs]


async def test_a_declaration_is_written_once(cluster: Cluster) -> None:
    client, calls = await counted(cluster)
    told: list[Progress] = []
    await deploy(client, web(cluster), on_progress=told.append)
    assert calls().writes == 2
    [name] = await secret_names(cluster)
    [obj] = unpack([await cluster.get(Secret, name)])
    assert obj["data"] == {"text": "hello"}
    assert [str(progress) for progress in told] == [
        f"Secret {cluster.namespace}/{name} created",
        f"ManagedResource {cluster.namespace}/web created",
    ]
    await deploy(client, web(cluster))
    assert calls().writes == 0


async def test_an_update_writes_a_new_secret_and_leaves_the_old_to_the_collector(
    cluster: Cluster,
) -> None:
    client, calls = await counted(cluster)
    await deploy(client, web(cluster))
    [old] = await secret_names(cluster)
    calls()
    await deploy(client, web(cluster, "goodbye", options=KeepOptions(keep_objects=True)))
    assert calls().writes == 2
    [new] = await secret_names(cluster)
    assert new != old
    stored = await cluster.get(Secret, old)
    assert stored["metadata"]["labels"] == {COLLECTABLE: "true"}
    assert (await cluster.get(ManagedResource, "web")).spec.keep_objects is True


async def test_metadata_of_others_stays(cluster: Cluster) -> None:
    client, _ = await counted(cluster)
    await deploy(client, web(cluster, labels={"ours": "1"}))
    theirs = {"metadata": {"labels": {"theirs": "1"}, "annotations": {"theirs": "1"}}}
    await cluster.patch(ManagedResource, "web", theirs)
    await deploy(client, web(cluster, "goodbye", labels={"ours": "2"}))
    metadata = (await cluster.get(ManagedResource, "web")).metadata
    assert metadata.labels == {"ours": "2", "theirs": "1"}
    assert metadata.annotations["theirs"] == "1"
    assert len(metadata.annotations) == 2  # and the reference


async def test_old_secrets_of_clients_become_collectable_and_those_of_people_do_not(
    cluster: Cluster,
) -> None:
    client, _ = await counted(cluster)
    await cluster.create(secret("managedresource-web", {"k": ""}))
    await cluster.create(secret("mine", {"k": ""}))
    by_hand = {
        "apiVersion": "resources.gardener.cloud/v1alpha1",
        "kind": "ManagedResource",
        "metadata": {"name": "web"},
        "spec": {"secretRefs": [{"name": "managedresource-web"}, {"name": "mine"}]},
    }
    await cluster.create(by_hand)
    await deploy(client, web(cluster))
    labels = {
        name: (await cluster.get(Secret, name))["metadata"].get("labels")
        for name in ("managedresource-web", "mine")
    }
    assert labels == {"managedresource-web": {COLLECTABLE: "true"}, "mine": None}


async def test_much_is_spread_over_secrets_the_server_accepts(cluster: Cluster) -> None:
    client, calls = await counted(cluster)
    noise = Random(1)  # noqa: S311 - what cannot be compressed much
    objects = [config_map(f"c{n:02}", {"text": noise.randbytes(35_000).hex()}) for n in range(30)]
    await deploy(client, web(cluster, objects=objects))
    names = await secret_names(cluster)
    assert len(names) == 2
    assert calls().writes == 3
    assert unpack([await cluster.get(Secret, name) for name in names]) == objects


async def test_what_must_exist_is_not_created(cluster: Cluster) -> None:
    client, calls = await counted(cluster)
    with pytest.raises(NotFound, match="create it first"):
        await deploy(client, web(cluster), must_exist=True)
    assert calls().writes == 0


async def test_a_secret_with_other_contents_is_not_used(cluster: Cluster) -> None:
    client, _ = await counted(cluster)
    await deploy(client, web(cluster))
    [name] = await secret_names(cluster)
    await cluster.delete(ManagedResource, "web")
    await cluster.delete(Secret, name)
    await cluster.create(secret(name, {"k": "v"}))
    with pytest.raises(Conflict, match="other contents"):
        await deploy(client, web(cluster))


async def test_objects_are_kept_on_request(cluster: Cluster) -> None:
    client, _ = await counted(cluster)
    await deploy(client, web(cluster))
    await set_keep_objects(client, Key(cluster.namespace, "web"))
    assert (await cluster.get(ManagedResource, "web")).spec.keep_objects is True
    await set_keep_objects(client, Key(cluster.namespace, "web"), keep=False)
    assert (await cluster.get(ManagedResource, "web")).spec.keep_objects is False


# Unique objects


def placed(cluster: Cluster, obj: JsonObject) -> JsonObject:
    return {**obj, "metadata": {**obj["metadata"], "namespace": cluster.namespace}}


async def test_contents_exist_once_and_count_as_new_when_they_are_asked_for(
    cluster: Cluster,
) -> None:
    base = placed(cluster, config_map("c", {"a": "1"}))
    first = await ensure(cluster.client, base)
    name = first["metadata"]["name"]
    assert first["immutable"] is True
    noted = {UNUSED_SINCE: "2026-01-01T00:00:00Z", "other": "stays"}
    await cluster.patch(ConfigMap, name, {"metadata": {"annotations": noted}})
    again = await ensure(cluster.client, base)
    assert first["metadata"]["uid"] == again["metadata"]["uid"]
    assert again["metadata"]["annotations"] == {"other": "stays"}


async def test_a_renamed_key_gets_a_name_of_its_own(cluster: Cluster) -> None:
    """By Gardener's rule the names are equal, and an immutable ConfigMap cannot be changed."""
    old = placed(cluster, config_map("c", {"a": "1"}))
    new = placed(cluster, config_map("c", {"b": "1"}))
    assert make_unique(old)["metadata"]["name"] == make_unique(new)["metadata"]["name"]
    first = await ensure(cluster.client, old)
    second = await ensure(cluster.client, new)
    assert first["metadata"]["name"] == make_unique(old)["metadata"]["name"]
    assert second["metadata"]["name"] == make_unique(new, by_keys=True)["metadata"]["name"]
    assert (await cluster.get(ConfigMap, first["metadata"]["name"]))["data"] == {"a": "1"}


async def test_names_taken_by_others_are_an_error(cluster: Cluster) -> None:
    base = placed(cluster, config_map("c", {"a": "1"}))
    for by_keys in (False, True):
        name = make_unique(base, by_keys=by_keys)["metadata"]["name"]
        await cluster.create(config_map(name, {"other": "contents"}))
    with pytest.raises(Conflict, match="other contents"):
        await ensure(cluster.client, base)


# Waiting


async def report(cluster: Cluster, *conditions: JsonObject, generation: int | None = None) -> None:
    """Write the status an operator would."""
    if generation is None:
        generation = (await cluster.get(ManagedResource, "web")).metadata.generation
    status = {"observedGeneration": generation, "conditions": list(conditions)}
    await cluster.patch(ManagedResource, "web", {"status": status}, subresource="status")


async def test_waiting_ends_when_the_server_says_healthy(cluster: Cluster) -> None:
    client, calls = await counted(cluster)
    await deploy(client, web(cluster))
    calls()
    told: list[Progress] = []
    waiting = asyncio.Event()

    def tell(progress: Progress) -> None:
        told.append(progress)
        waiting.set()

    async def operate() -> None:
        await waiting.wait()
        await report(cluster, {**HEALTHY[0], "status": "False", "reason": "ApplyFailed"})
        while not any("ApplyFailed" in progress.detail for progress in told):
            waiting.clear()
            await waiting.wait()
        await report(cluster, *HEALTHY)

    async with asyncio.TaskGroup() as group:
        group.create_task(operate())
        state = await wait_until_healthy(client, Key(cluster.namespace, "web"), on_progress=tell)
    assert state["status"]["observedGeneration"] == 1
    assert "generation 1 is not applied yet" in told[0].detail
    assert any("ApplyFailed" in progress.detail for progress in told)
    assert calls().reads == 1, "told by the watch, not asked for"


async def test_progress_is_waited_for_on_request(cluster: Cluster) -> None:
    client, _ = await counted(cluster)
    await deploy(client, web(cluster))
    await report(cluster, *HEALTHY)
    key = Key(cluster.namespace, "web")
    await wait_until_healthy(client, key)
    with pytest.raises(TimeoutError, match="Deployment web is progressing"):
        await wait_until_healthy(client, key, rolled_out=True, patience=timedelta(seconds=0.3))


async def test_what_cannot_be_found_is_not_waited_for(cluster: Cluster) -> None:
    client, _ = await counted(cluster)
    with pytest.raises(NotFound, match="does not exist"):
        await wait_until_healthy(client, Key(cluster.namespace, "nowhere"))


async def test_a_watch_that_ends_is_started_again(embedded_cluster: EmbeddedCluster) -> None:
    cluster = embedded_cluster
    client, calls = await counted(cluster)
    await deploy(client, web(cluster))
    calls()

    async def operate() -> None:
        await asyncio.sleep(7200)  # servers end a watch after an hour at most
        await report(cluster, *HEALTHY)

    async with asyncio.TaskGroup() as group:
        group.create_task(operate())
        await wait_until_healthy(client, Key(cluster.namespace, "web"), patience=timedelta(hours=3))
    assert 1 <= calls().watches <= 6


async def test_deletion_is_waited_for_and_takes_the_secrets_along(cluster: Cluster) -> None:
    client, calls = await counted(cluster)
    await deploy(client, web(cluster))
    finalizer = "resources.gardener.cloud/gardener-resource-manager"
    await cluster.patch(ManagedResource, "web", {"metadata": {"finalizers": [finalizer]}})
    pending = {
        "type": "ResourcesApplied",
        "status": "Progressing",
        "reason": "DeletionPending",
        "message": 'deletion of old resource "v1/ConfigMap/default/c" is still pending',
    }
    await report(cluster, pending)
    key = Key(cluster.namespace, "web")
    with pytest.raises(TimeoutError, match=r"v1/ConfigMap/default/c.*finalizers: resources"):
        await delete(client, key, patience=timedelta(seconds=0.3))
    told: list[Progress] = []

    def release(progress: Progress) -> None:
        told.append(progress)
        if progress.what == "waiting":
            group.create_task(
                cluster.patch(ManagedResource, "web", {"metadata": {"finalizers": None}})
            )

    async with asyncio.TaskGroup() as group:
        await delete(client, key, on_progress=release)
    assert [progress.what for progress in told] == ["waiting", "deleted"]
    assert await cluster.names(Secret) == set()
    calls()
    await delete(client, key)
    assert calls().writes == 0, "gone already"


async def test_a_shared_secret_stays(cluster: Cluster) -> None:
    client, _ = await counted(cluster)
    await deploy(client, web(cluster))
    [name] = await secret_names(cluster)
    other = {
        "apiVersion": "resources.gardener.cloud/v1alpha1",
        "kind": "ManagedResource",
        "metadata": {"name": "other"},
        "spec": {"secretRefs": [{"name": name}]},
    }
    await cluster.create(other)
    await delete(client, Key(cluster.namespace, "web"))
    assert await cluster.names(Secret) == {name}
