"""What stays on a live object although the manifest says otherwise, or nothing."""

from typing import Any

import pytest
from tests.component.apply.conftest import Bench

from certwright.apply import Action, Rules
from certwright.kube import JsonObject, Key, Resource
from certwright.kube.kinds import (
    Deployment,
    Job,
    PersistentVolumeClaim,
    Service,
    ServiceAccount,
    StatefulSet,
    ValidatingWebhookConfiguration,
)
from certwright.testkit.builders import deployment, job, stateful_set

RESTARTED = "kubectl.kubernetes.io/restartedAt"


def unscaled(name: str) -> JsonObject:
    workload = deployment(name)
    del workload["spec"]["replicas"]
    return workload


async def replicas(bench: Bench, name: str = "d") -> int:
    value: int = (await bench.cluster.get(Deployment, name))["spec"]["replicas"]
    return value


async def scale(bench: Bench, count: int) -> None:
    key = Key(bench.cluster.namespace, "d")
    patch = {"spec": {"replicas": count}}
    await bench.cluster.client.patch(Deployment, key, patch, subresource="scale")


@pytest.mark.scenario("MR-31")
async def test_replicas_are_ours_unless_we_say_nothing_or_are_told_to_keep_them(
    bench: Bench,
) -> None:
    await bench.apply(deployment("d", replicas=1))
    await scale(bench, 5)
    await bench.apply(deployment("d", replicas=2), rules=Rules(preserve_replicas=True))
    assert await replicas(bench) == 5
    await bench.apply(deployment("d", replicas=2))
    assert await replicas(bench) == 2
    await scale(bench, 5)
    await bench.apply(unscaled("d"))
    assert await replicas(bench) == 5


@pytest.mark.scenario("MR-31")
async def test_replicas_that_were_ours_survive_when_the_manifest_stops_saying(bench: Bench) -> None:
    await bench.apply(deployment("d", replicas=4))
    bench.restart()
    await bench.apply(unscaled("d"))
    assert await replicas(bench) == 4
    with bench.counted() as calls:
        await bench.apply(unscaled("d"))
    assert calls[0].writes == 0


async def test_an_autoscaler_costs_no_writes(bench: Bench) -> None:
    keep = Rules(preserve_replicas=True)
    await bench.apply(deployment("d", replicas=1), rules=keep)
    for count in (3, 7):
        await scale(bench, count)
        with bench.counted() as calls:
            await bench.apply(deployment("d", replicas=1), rules=keep)
        assert calls[0].writes == 0
        assert await replicas(bench) == count


def sized(name: str, cpu: str, **more: str) -> JsonObject:
    workload = deployment(name)
    pod = workload["spec"]["template"]["spec"]
    pod["containers"][0]["resources"] = {"requests": {"cpu": cpu, **more}}
    return workload


@pytest.mark.scenario("MR-34")
async def test_sizes_somebody_set_stay(bench: Bench) -> None:
    keep = Rules(preserve_resources=True)
    await bench.apply(sized("d", "50m"), rules=keep)
    resize = [
        {
            "op": "replace",
            "path": "/spec/template/spec/containers/0/resources/requests/cpu",
            "value": "100m",
        }
    ]
    await bench.cluster.patch(Deployment, "d", resize, type="application/json-patch+json")
    wanted = sized("d", "50m", **{"ephemeral-storage": "1Gi", "memory": "1Mi"})
    pod = wanted["spec"]["template"]["spec"]
    pod["containers"].append(
        {"name": "new", "image": "x", "resources": {"requests": {"cpu": "7m"}}}
    )
    pod["initContainers"] = [
        {"name": "init", "image": "x", "resources": {"requests": {"cpu": "8m"}}}
    ]
    await bench.apply(wanted, rules=keep)
    pod = (await bench.cluster.get(Deployment, "d"))["spec"]["template"]["spec"]
    requests = {c["name"]: c["resources"]["requests"] for c in pod["containers"]}
    assert requests["main"] == {"cpu": "100m", "ephemeral-storage": "1Gi", "memory": "1Mi"}
    assert requests["new"] == {"cpu": "7m"}
    assert pod["initContainers"][0]["resources"]["requests"] == {"cpu": "8m"}
    await bench.apply(sized("d", "50m"))
    pod = (await bench.cluster.get(Deployment, "d"))["spec"]["template"]["spec"]
    assert pod["containers"][0]["resources"]["requests"] == {"cpu": "50m"}


@pytest.mark.scenario("MR-35")
async def test_a_rollout_restart_is_not_undone(bench: Bench) -> None:
    wanted = deployment("d")
    await bench.apply(wanted)
    note = {
        "spec": {"template": {"metadata": {"annotations": {RESTARTED: "2026-01-01T00:00:00Z"}}}}
    }
    await bench.cluster.patch(Deployment, "d", note)
    wanted["spec"]["template"]["metadata"]["annotations"] = {RESTARTED: "1999", "other": "x"}
    await bench.apply(wanted)
    template = (await bench.cluster.get(Deployment, "d"))["spec"]["template"]
    assert template["metadata"]["annotations"] == {
        RESTARTED: "2026-01-01T00:00:00Z",
        "other": "x",
    }


def claiming(size: str) -> JsonObject:
    workload = stateful_set("s")
    requests = {"requests": {"storage": size}}
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": requests},
    }
    workload["spec"]["volumeClaimTemplates"] = [claim]
    return workload


@pytest.mark.scenario("MR-36")
async def test_claim_templates_cannot_change_and_that_is_told(bench: Bench) -> None:
    await bench.apply(claiming("1Gi"))
    wanted = claiming("2Gi")
    wanted["spec"]["replicas"] = 3
    changes = await bench.apply(wanted)
    assert "spec.volumeClaimTemplates cannot change" in changes.entries[0].reason
    spec = (await bench.cluster.get(StatefulSet, "s"))["spec"]
    assert spec["replicas"] == 3
    claim = spec["volumeClaimTemplates"][0]["spec"]
    assert claim["resources"]["requests"]["storage"] == "1Gi"
    with bench.counted() as calls:
        changes = await bench.apply(wanted)
    assert calls[0].writes == 0


async def test_a_job_keeps_its_selector_and_the_labels_it_was_given(bench: Bench) -> None:
    wanted = job("j")
    wanted["spec"]["template"]["metadata"] = {"labels": {"mine": "1"}}
    await bench.apply(wanted)
    before = await bench.cluster.get(Job, "j")
    again = job("j", labels={"new": "1"})
    again["spec"]["selector"] = {"matchLabels": {"nonsense": "x"}}
    changes = await bench.apply(again)
    assert changes.complete, str(changes)
    after = await bench.cluster.get(Job, "j")
    assert after["metadata"]["labels"]["new"] == "1"
    assert after["spec"]["selector"] == before["spec"]["selector"]
    assert after["spec"]["template"] == before["spec"]["template"]


def service(**spec: Any) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}


def balanced(port: int = 80, **more: str) -> JsonObject:
    return service(
        type="LoadBalancer",
        selector={"app": "x"},
        externalTrafficPolicy="Local",
        ports=[{"name": "http", "port": port, "targetPort": 8080}],
        **more,
    )


def allocated(found: JsonObject) -> JsonObject:
    spec = found["spec"]
    return {
        "clusterIP": spec["clusterIP"],
        "nodePort": spec["ports"][0]["nodePort"],
        "healthCheckNodePort": spec.get("healthCheckNodePort"),
        "loadBalancerIP": spec.get("loadBalancerIP"),
    }


@pytest.mark.scenario("MR-38")
async def test_what_was_allocated_for_a_service_survives(bench: Bench) -> None:
    await bench.apply(balanced(loadBalancerIP="192.0.2.1"))
    before = allocated(await bench.cluster.get(Service, "s"))
    assert all(before.values())
    bench.restart()
    await bench.apply(balanced(port=81, sessionAffinity="ClientIP"))
    found = await bench.cluster.get(Service, "s")
    assert found["spec"]["sessionAffinity"] == "ClientIP"
    assert found["spec"]["ports"][0]["port"] == 81
    assert allocated(found) == before
    with bench.counted() as calls:
        await bench.apply(balanced(port=81, sessionAffinity="ClientIP"))
    assert calls[0].writes == 0


@pytest.mark.scenario("MR-38")
async def test_another_address_in_the_manifest_is_not_followed(bench: Bench) -> None:
    ports = [{"port": 80}]
    await bench.apply(service(ports=ports))
    before = (await bench.cluster.get(Service, "s"))["spec"]["clusterIP"]
    changes = await bench.apply(service(ports=ports, clusterIP="10.0.0.200"))
    assert changes.complete, str(changes)
    assert (await bench.cluster.get(Service, "s"))["spec"]["clusterIP"] == before


@pytest.mark.scenario("MR-39")
async def test_a_service_becomes_headless_as_a_new_one(bench: Bench) -> None:
    ports = [{"port": 80}]
    await bench.apply(service(ports=ports))
    before = await bench.cluster.get(Service, "s")
    changes = await bench.apply(service(ports=ports, clusterIP="None"))
    assert changes.entries[0].action is Action.RECREATED
    after = await bench.cluster.get(Service, "s")
    assert after["spec"]["clusterIP"] == "None"
    assert after["metadata"]["uid"] != before["metadata"]["uid"]


@pytest.mark.scenario("MR-39")
async def test_a_service_changes_from_a_name_to_an_address_and_back(bench: Bench) -> None:
    ports = [{"port": 80}]
    await bench.apply(service(ports=ports))
    address = (await bench.cluster.get(Service, "s"))["spec"]["clusterIP"]
    changes = await bench.apply(service(type="ExternalName", externalName="example.com"))
    assert changes.complete, str(changes)
    changes = await bench.apply(service(type="ClusterIP", ports=ports, clusterIP=address))
    assert changes.complete, str(changes)
    assert (await bench.cluster.get(Service, "s"))["spec"]["clusterIP"] == address


@pytest.mark.scenario("MR-40")
async def test_secrets_of_a_service_account_stay(bench: Bench) -> None:
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "sa"},
        "imagePullSecrets": [{"name": "first"}],
    }
    await bench.apply(account)
    added = {"secrets": [{"name": "token"}], "imagePullSecrets": [{"name": "a"}, {"name": "b"}]}
    await bench.cluster.patch(ServiceAccount, "sa", added)
    wanted = {
        **account,
        "metadata": {"name": "sa", "labels": {"x": "y"}},
        "secrets": [{"name": "mine"}],
    }
    await bench.apply(wanted)
    found = await bench.cluster.get(ServiceAccount, "sa")
    assert found["metadata"]["labels"] == {"x": "y"}
    assert [item["name"] for item in found["secrets"]] == ["token"]
    assert [item["name"] for item in found["imagePullSecrets"]] == ["a", "b"]


@pytest.mark.scenario("MR-41")
async def test_a_bound_claim_is_left_alone(bench: Bench) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1024Mi"}},
        },
    }
    await bench.apply(claim)
    await bench.cluster.patch(PersistentVolumeClaim, "c", {"spec": {"volumeName": "pv-1"}})
    for memory in ("kept", "lost"):
        if memory == "lost":
            bench.restart()
        with bench.counted() as calls:
            await bench.apply(claim)
        assert calls[0].writes == 0


@pytest.mark.scenario("MR-41")
async def test_an_injected_ca_bundle_is_left_alone(bench: Bench) -> None:
    name = f"hook-{bench.cluster.namespace}"
    hook = {
        "name": "hook.example.com",
        "clientConfig": {"service": {"namespace": "default", "name": "none"}},
        "rules": [
            {
                "apiGroups": ["example.com"],
                "apiVersions": ["v1"],
                "resources": ["things"],
                "operations": ["CREATE"],
            }
        ],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Ignore",
    }
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
    wanted = {**head, "kind": "ValidatingWebhookConfiguration", "webhooks": [hook]}
    await bench.apply_as_is(wanted)
    inject = [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": CA}]
    kind: Resource = ValidatingWebhookConfiguration
    await bench.cluster.patch(kind, name, inject, type="application/json-patch+json")
    for memory in ("kept", "lost"):
        if memory == "lost":
            bench.restart()
        with bench.counted() as calls:
            await bench.apply_as_is(wanted)
        assert calls[0].writes == 0
    found = await bench.cluster.get(kind, name)
    assert found["webhooks"][0]["clientConfig"]["caBundle"] == CA


CA = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJlekNDQVNHZ0F3SUJBZ0lVQVJ6RWRpQTE0OXpO"
