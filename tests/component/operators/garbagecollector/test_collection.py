"""The garbage collector on a cluster: what goes, what stays, and what it takes to find out."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from hashlib import blake2b
from typing import Any

import orjson
import pytest

from certwright.api.managedresources import ManagedResource
from certwright.client import Client, Request, Response, Stream, Transport
from certwright.kube import Forbidden, JsonObject, Key, ObjectMeta, Resource
from certwright.kube.kinds import ConfigMap, Event, Lease, Pod, Secret
from certwright.managed.references import Reference, annotations_for
from certwright.managed.unique import COLLECTABLE, UNUSED_SINCE
from certwright.operators.garbagecollector import (
    CollectorSettings,
    GarbageMetrics,
    GarbageVerdict,
    collect,
    garbage_collector,
    survey,
)
from certwright.runtime import Metrics
from certwright.testkit import Cluster, EmbeddedCluster
from certwright.testkit.builders import (
    config_map,
    daemon_set,
    deployment,
    job,
    namespace,
    secret,
    stateful_set,
)

LABEL = {COLLECTABLE: "true"}
PROMETHEUS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "prometheuses.monitoring.coreos.com"},
    "spec": {
        "group": "monitoring.coreos.com",
        "scope": "Namespaced",
        "names": {"kind": "Prometheus", "plural": "prometheuses", "listKind": "PrometheusList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                        },
                    }
                },
            }
        ],
    },
}


def quick(cluster: Cluster, **changes: Any) -> CollectorSettings:
    """Everything of the test's namespace in one pass."""
    given: dict[str, Any] = {
        "enabled": True,
        "minimum_lifetime": timedelta(),
        "namespaces": (cluster.namespace,),
        "home": Key(cluster.namespace, "gc"),
    }
    return CollectorSettings(**given | changes)


def pod(name: str, **spec: Any) -> JsonObject:
    container = {"name": "main", "image": "app"}
    spec = {"containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


async def left(cluster: Cluster) -> set[str]:
    """The collectable objects there still are; the cluster has ConfigMaps of its own."""
    return {
        name
        for kind in (Secret, ConfigMap)
        for name in await cluster.names(kind)
        if name != "kube-root-ca.crt"
    }


@pytest.mark.scenario("MR-83")
async def test_labelled_and_unused_is_deleted(cluster: Cluster) -> None:
    for number in range(9):
        await cluster.create(config_map(f"c{number}", labels=LABEL))
        await cluster.create(secret(f"s{number}", labels=LABEL))
    await cluster.create(config_map("unlabelled"))
    await cluster.create(secret("mislabelled", labels={COLLECTABLE: "True"}))
    calls = await cluster.settle(garbage_collector(quick(cluster)))
    assert await left(cluster) == {"unlabelled", "mislabelled"}
    assert calls.by_verb["delete"] == 18


@pytest.mark.scenario("MR-83")
async def test_young_objects_stay(cluster: Cluster) -> None:
    await cluster.create(config_map("young", labels=LABEL))
    settings = quick(cluster, minimum_lifetime=timedelta(minutes=10))
    calls = await cluster.settle(garbage_collector(settings))
    assert await left(cluster) == {"young"}
    assert calls.by_verb["delete"] == 0
    report = await survey(cluster.client, settings, cluster.clock)
    assert report.counts()[GarbageVerdict.YOUNG] == 1


@pytest.mark.scenario("MR-83")
async def test_old_objects_go_once_nothing_used_them_for_long(
    embedded_cluster: EmbeddedCluster,
) -> None:
    cluster = embedded_cluster
    settings = quick(cluster, minimum_lifetime=timedelta(minutes=10), period=timedelta(minutes=4))
    await cluster.create(config_map("old", labels=LABEL))
    await cluster.settle(garbage_collector(settings))
    await cluster.advance(minutes=9)  # three looks, still young
    assert (await cluster.get(ConfigMap, "old"))["metadata"].get("annotations") is None
    await cluster.advance(minutes=4)  # old enough, noted
    noted = await cluster.get(ConfigMap, "old")
    assert UNUSED_SINCE in noted["metadata"]["annotations"]
    await cluster.advance(minutes=9)
    assert await left(cluster) == {"old"}
    await cluster.advance(minutes=4)
    assert await left(cluster) == set()


async def test_a_use_in_between_starts_the_time_anew(embedded_cluster: EmbeddedCluster) -> None:
    cluster = embedded_cluster
    settings = quick(cluster, minimum_lifetime=timedelta(minutes=10), period=timedelta(minutes=11))
    await cluster.create(config_map("old", labels=LABEL))
    await cluster.settle(garbage_collector(settings))
    await cluster.advance(minutes=11)  # noted
    user = pod("user", volumes=[{"name": "v", "configMap": {"name": "old"}}])
    await cluster.create(user)
    await cluster.advance(minutes=11)  # taken back
    assert not (await cluster.get(ConfigMap, "old"))["metadata"].get("annotations")
    await cluster.client.delete(Pod, Key(cluster.namespace, "user"), grace_seconds=0)
    await cluster.advance(minutes=11)  # noted again
    assert await left(cluster) == {"old"}
    await cluster.advance(minutes=11)
    assert await left(cluster) == set()


def referring(name: str, cluster: Cluster) -> list[JsonObject]:
    """One object of each kind whose annotations count; each refers to one pair of objects."""
    cron_spec = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": job("x")["spec"]}}
    cron_job = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {}, "spec": cron_spec}
    prometheus = {"apiVersion": "monitoring.coreos.com/v1", "kind": "Prometheus", "spec": {}}
    managed = {
        "apiVersion": "resources.gardener.cloud/v1alpha1",
        "kind": "ManagedResource",
        "spec": {"secretRefs": []},
    }
    found = [
        prometheus, deployment("x"), stateful_set("x"), daemon_set("x"), job("x"), cron_job,
        pod("x"), managed,
    ]  # fmt: skip
    prefix = "reference.resources.gardener.cloud"
    for number, obj in enumerate(found):
        annotations = {
            f"{prefix}/secret-foo": f"s{number}",
            f"{prefix}/configmap-foo": f"c{number}",
        }
        obj["metadata"] = {
            "namespace": cluster.namespace,
            "name": f"{name}{number}",
            "annotations": annotations,
        }
    return found


@pytest.mark.scenario("MR-84")
@pytest.mark.scenario("MR-85")
async def test_references_of_eight_kinds_protect(cluster: Cluster) -> None:
    """The hashes in the keys are none, which makes no difference."""
    await cluster.install(PROMETHEUS)
    await cluster.create(ManagedResource(metadata=ObjectMeta(name="installs-the-definition")))
    users = referring("user", cluster)
    for number in range(len(users) + 1):
        await cluster.create(config_map(f"c{number}", labels=LABEL))
        await cluster.create(secret(f"s{number}", labels=LABEL))
    for user in users:
        await cluster.create(user)
    await cluster.settle(garbage_collector(quick(cluster)))
    assert await left(cluster) == {f"{kind}{number}" for kind in "cs" for number in range(8)}


@pytest.mark.scenario("MR-84")
async def test_a_reference_counts_in_its_own_namespace(embedded_cluster: EmbeddedCluster) -> None:
    cluster = embedded_cluster
    await cluster.create(namespace("other"))
    for place in ("default", "other"):
        await cluster.create(config_map("c", namespace=place, labels=LABEL))
    annotations = annotations_for([Reference("ConfigMap", "c")])
    await cluster.create({**deployment("d"), "metadata": {"name": "d", "annotations": annotations}})
    await cluster.settle(garbage_collector(quick(cluster, namespaces=())))
    assert await cluster.find(ConfigMap, "default/c")
    assert await cluster.find(ConfigMap, "other/c") is None


@pytest.mark.scenario("MR-85")
async def test_keys_of_another_form_and_empty_values_protect_nothing(cluster: Cluster) -> None:
    prefix = "reference.resources.gardener.cloud"
    annotations = {
        f"{prefix}/secret-a-b": "three-parts",
        f"{prefix}/secret-82a3537f": "",
        f"{prefix}/secret-00000000": "wrong-hash",
    }
    for name in ("three-parts", "wrong-hash"):
        await cluster.create(secret(name, labels=LABEL))
    await cluster.create({**pod("p"), "metadata": {"name": "p", "annotations": annotations}})
    await cluster.settle(garbage_collector(quick(cluster)))
    assert await left(cluster) == {"wrong-hash"}


@pytest.mark.scenario("MR-86")
async def test_a_deployment_without_replicas_protects(cluster: Cluster) -> None:
    annotations = annotations_for([Reference("ConfigMap", "c")])
    await cluster.create(config_map("c", labels=LABEL))
    await cluster.create(deployment("d", replicas=0, annotations=annotations))
    await cluster.settle(garbage_collector(quick(cluster)))
    assert await left(cluster) == {"c"}


@pytest.mark.scenario("MR-87")
async def test_what_is_used_without_annotations_stays(cluster: Cluster) -> None:
    names = ["init", "tls", "pull", "revision"]
    for name in names:
        await cluster.create(secret(name, labels=LABEL))
    init = {"name": "init", "image": "app", "envFrom": [{"secretRef": {"name": "init"}}]}
    await cluster.create(pod("p", initContainers=[init]))
    backend = {"service": {"name": "x", "port": {"number": 80}}}
    ingress = {"tls": [{"secretName": "tls"}], "defaultBackend": backend}
    others: list[tuple[str, str, JsonObject]] = [
        ("networking.k8s.io/v1", "Ingress", {"spec": ingress}),
        ("v1", "ServiceAccount", {"imagePullSecrets": [{"name": "pull"}]}),
        (
            "apps/v1",
            "ControllerRevision",
            {
                "revision": 1,
                "data": {
                    "spec": {"template": {"spec": {"imagePullSecrets": [{"name": "revision"}]}}}
                },
            },
        ),
    ]
    for version, kind, fields in others:
        await cluster.create(
            {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, **fields}
        )
    settings = quick(cluster)
    await cluster.settle(garbage_collector(settings))
    assert await left(cluster) == {*names}
    report = await survey(cluster.client, settings, cluster.clock)
    said = {one.candidate.key.name: one.reason for one in report.assessments}
    assert said["init"] == f"Pod {cluster.namespace}/p uses it"


async def test_what_a_managed_resource_keeps_stays_until_it_does_not(cluster: Cluster) -> None:
    """Deleting it would only bring it back."""
    await cluster.create(config_map("kept", labels=LABEL))
    await cluster.create(ManagedResource(metadata=ObjectMeta(name="mr")))
    entry = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "namespace": cluster.namespace,
        "name": "kept",
    }
    status = {"status": {"resources": [entry]}}
    await cluster.patch(ManagedResource, "mr", status, subresource="status")
    settings = quick(cluster)
    assert not (await collect(cluster.client, settings, cluster.clock)).deleted
    await cluster.patch(ManagedResource, "mr", {"status": {"resources": []}}, subresource="status")
    assert (await collect(cluster.client, settings, cluster.clock)).deleted
    assert await left(cluster) == set()


async def test_what_managed_resources_of_another_cluster_keep_stays(cluster: Cluster) -> None:
    """The target's own client does not see them; they are in the cluster of the manager."""
    for name in ("kept", "companion", "unused"):
        await cluster.create(config_map(name, labels=LABEL))
    await cluster.create(ManagedResource(metadata=ObjectMeta(name="mr")))
    entry = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": cluster.namespace}
    rest = orjson.dumps([{**entry, "name": "companion"}]).decode()
    beside = f"mr-inventory-{blake2b(rest.encode(), digest_size=8).hexdigest()}"
    await cluster.create(config_map(beside, {"inventory": rest}))
    shard = {**entry, "fieldPath": "data.inventory"}
    obsolete = {"annotations": {"resources.certwright.dev/obsolete": "true"}}
    gone = {**shard, **obsolete, "name": "mr-inventory-gone"}
    status = {"resources": [{**entry, "name": "kept"}, {**shard, "name": beside}, gone]}
    await cluster.patch(ManagedResource, "mr", {"status": status}, subresource="status")
    blind = Blind(cluster.client.transport, "", Pod, None)
    target = Client(blind, clock=cluster.clock)
    sources = (cluster.namespace,)
    await cluster.settle(garbage_collector(quick(cluster), target=target, sources=sources))
    assert await left(cluster) == {"kept", "companion", beside}


async def test_nothing_is_deleted_while_part_of_an_inventory_is_missing(cluster: Cluster) -> None:
    await cluster.create(config_map("unused", labels=LABEL))
    await cluster.create(ManagedResource(metadata=ObjectMeta(name="mr")))
    shard = {"apiVersion": "v1", "kind": "ConfigMap", "fieldPath": "data.inventory"}
    status = {"resources": [{**shard, "name": "mr-inventory-0"}]}
    await cluster.patch(ManagedResource, "mr", {"status": status}, subresource="status")
    await cluster.settle(garbage_collector(quick(cluster)))
    assert await left(cluster) == {"unused"}
    [event] = [e for e in await cluster.list(Event) if e["reason"] == "CollectionFailed"]
    assert "mr-inventory-0" in event["note"]


async def test_what_is_annotated_to_be_kept_stays(cluster: Cluster) -> None:
    keep = {"resources.gardener.cloud/keep-object": "true"}
    await cluster.create(config_map("kept", labels=LABEL, annotations=keep))
    await cluster.settle(garbage_collector(quick(cluster)))
    assert await left(cluster) == {"kept"}


class Meddling:
    """A transport on which something happens before the first request that fits."""

    def __init__(
        self,
        inner: Transport,
        verb: str,
        resource: Resource,
        meddle: Callable[..., Awaitable[Any]] | None,
    ) -> None:
        self._inner = inner
        self._when = (verb, resource)
        self._meddle = meddle

    async def send(self, request: Request) -> Response:
        if (request.verb, request.resource) == self._when and self._meddle:
            meddle, self._meddle = self._meddle, None
            if (response := await meddle()) is not None:
                value: Response = response
                return value
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(request)

    async def close(self) -> None:
        pass


class Blind(Meddling):
    """A transport to a cluster that has no ManagedResources."""

    async def send(self, request: Request) -> Response:
        if request.resource == ManagedResource.resource:
            return Response(404, {}, b'{"kind":"Status","code":404}')
        return await super().send(request)


def meddled(
    cluster: Cluster, verb: str, resource: Resource, meddle: Callable[..., Awaitable[Any]]
) -> Client:
    transport = Meddling(cluster.client.transport, verb, resource, meddle)
    return Client(transport, clock=cluster.clock)


async def refused() -> Response:
    return Response(403, {}, b'{"kind":"Status","reason":"Forbidden","message":"no"}')


@pytest.mark.scenario("MR-88")
async def test_nothing_is_deleted_when_something_cannot_be_listed(cluster: Cluster) -> None:
    """The monitoring API is not there in the first place, which is no error."""
    await cluster.create(config_map("c", labels=LABEL))
    settings = quick(cluster)
    target = meddled(cluster, "list", Pod, refused)
    with pytest.raises(Forbidden):
        await collect(target, settings, cluster.clock)
    assert await left(cluster) == {"c"}
    done = await collect(target, settings, cluster.clock)
    assert [candidate.key.name for candidate in done.deleted] == ["c"]
    assert await left(cluster) == set()


@pytest.mark.scenario("MR-88")
async def test_a_pass_that_failed_is_repeated_soon_and_reported(
    embedded_cluster: EmbeddedCluster,
) -> None:
    cluster = embedded_cluster
    await cluster.create(config_map("c", labels=LABEL))
    settings = quick(cluster, period=timedelta(hours=12))
    target = meddled(cluster, "list", Pod, refused)
    await cluster.settle(garbage_collector(settings, target=target))
    assert await left(cluster) == {"c"}
    events = [event["reason"] for event in await cluster.list(Event)]
    assert events == ["CollectionFailed"]
    await cluster.advance(minutes=1)
    assert await left(cluster) == set()


async def test_what_is_used_after_the_first_look_stays(cluster: Cluster) -> None:
    await cluster.create(config_map("c", labels=LABEL))

    async def use() -> None:
        await cluster.create(pod("p", volumes=[{"name": "v", "configMap": {"name": "c"}}]))

    # The first request at the Pods shows none; by the second look there is one.
    looks = 0
    settings = quick(cluster)

    async def second() -> None:
        nonlocal looks
        looks += 1
        await use()

    target = meddled(cluster, "list", Pod, second)
    done = await collect(target, settings, cluster.clock)
    assert looks == 1
    assert done.survey.counts()[GarbageVerdict.COLLECTABLE] == 1, "the first look is of one moment"
    assert done.deleted == ()
    assert await left(cluster) == {"c"}


@pytest.mark.parametrize("change", ["touched", "replaced"])
async def test_what_changes_before_its_deletion_stays(cluster: Cluster, change: str) -> None:
    await cluster.create(config_map("c", labels=LABEL))

    async def meddle() -> None:
        if change == "touched":
            await cluster.patch(ConfigMap, "c", {"metadata": {"annotations": {"a": "b"}}})
        else:
            await cluster.delete(ConfigMap, "c")
            await cluster.create(config_map("c", labels=LABEL))

    target = meddled(cluster, "delete", ConfigMap, meddle)
    done = await collect(target, quick(cluster), cluster.clock)
    assert (done.deleted, done.failures) == ((), ())
    assert await left(cluster) == {"c"}


async def test_what_cannot_be_deleted_is_reported_and_the_rest_goes(cluster: Cluster) -> None:
    for name in ("a", "b"):
        await cluster.create(config_map(name, labels=LABEL))
    target = meddled(cluster, "delete", ConfigMap, refused)
    done = await collect(target, quick(cluster), cluster.clock)
    assert len(done.deleted) == len(done.failures) == 1
    assert "no" in str(done.failures[0])
    assert len(await left(cluster)) == 1


@pytest.mark.scenario("MR-90")
async def test_restarts_bring_no_pass_forward(cluster: Cluster) -> None:
    controller = garbage_collector(quick(cluster))
    first = await cluster.settle(controller)
    assert first.by_verb["list"] > 0
    await cluster.create(config_map("c", labels=LABEL))
    for _ in range(3):
        calls = await cluster.restart(controller)
        assert calls.reads == 0
        assert calls.writes == 0
    assert await left(cluster) == {"c"}


@pytest.mark.scenario("MR-90")
async def test_a_pass_comes_when_its_time_has_come(embedded_cluster: EmbeddedCluster) -> None:
    cluster = embedded_cluster
    controller = garbage_collector(quick(cluster))
    await cluster.settle(controller)
    await cluster.create(config_map("c", labels=LABEL))
    await cluster.advance(minutes=59)
    await cluster.restart(controller)
    assert await left(cluster) == {"c"}
    await cluster.advance(minutes=2)
    assert await left(cluster) == set()


@pytest.mark.scenario("MR-90")
async def test_a_dry_run_says_what_would_go_and_why(cluster: Cluster) -> None:
    await cluster.create(config_map("unused", labels=LABEL))
    await cluster.create(config_map("used", labels=LABEL))
    await cluster.create(pod("p", volumes=[{"name": "v", "configMap": {"name": "used"}}]))
    settings = quick(cluster, dry_run=True)
    calls = await cluster.settle(garbage_collector(settings))
    assert calls.by_verb["delete"] == 0
    assert await left(cluster) == {"unused", "used"}
    [event] = [e for e in await cluster.list(Event) if e["regarding"]["kind"] == Lease.kind]
    assert event["note"] == f"would be deleted: ConfigMap {cluster.namespace}/unused"
    report = await survey(cluster.client, settings, cluster.clock)
    assert [str(assessment) for assessment in report.assessments] == [
        f"ConfigMap {cluster.namespace}/unused: collectable: nothing uses it",
        f"ConfigMap {cluster.namespace}/used: in-use: Pod {cluster.namespace}/p uses it",
    ]


async def test_passes_are_counted(embedded_cluster: EmbeddedCluster) -> None:
    cluster = embedded_cluster
    for name in ("a", "b", "used"):
        await cluster.create(config_map(name, labels=LABEL))
    await cluster.create(pod("p", volumes=[{"name": "v", "configMap": {"name": "used"}}]))
    metrics = Metrics()
    counted = garbage_collector(quick(cluster), metrics=GarbageMetrics(metrics))
    await cluster.settle(counted)
    prefix = "certwright_garbage_collector_"
    value = metrics.registry.get_sample_value
    assert value(f"{prefix}deleted_total", {"kind": "ConfigMap"}) == 2
    assert value(f"{prefix}objects", {"verdict": "in-use"}) == 1
    assert value(f"{prefix}failures_total") == 0
    last = value(f"{prefix}last_pass_timestamp_seconds")
    assert last == pytest.approx(cluster.clock.now().timestamp(), abs=1)


async def test_without_candidates_two_lists_are_all(cluster: Cluster) -> None:
    calls = await cluster.settle(garbage_collector(quick(cluster)))
    assert calls.by_verb["list"] <= 3  # and that of the Lease
    assert calls.writes == 1  # the Lease


async def test_contents_are_never_read(cluster: Cluster) -> None:
    await cluster.create(secret("s", {"k": "hunter2"}, labels=LABEL))
    seen: list[bytes] = []
    inner = cluster.client.transport

    class Spying(Meddling):
        async def send(self, request: Request) -> Response:
            response = await super().send(request)
            seen.append(response.body)
            return response

    target = Client(Spying(inner, "", Pod, None), clock=cluster.clock)
    done = await collect(target, quick(cluster), cluster.clock)
    assert done.deleted
    assert not any(b"aHVudGVyMg" in body for body in seen)
