"""The API server takes what requests are rendered to, every field known and valid."""

from typing import Any

import pytest
from tests.support.bundles.released import released

from certwright.bundles.catalogue import load
from certwright.kube import ApiError, JsonObject
from certwright.operators.certmanager.render import InstallStep, render
from certwright.operators.certmanager.request import (
    Component,
    ComponentRequest,
    Images,
    InstallRequest,
    Naming,
    WebhookRequest,
)
from certwright.testkit import Cluster

SELECTOR = {"matchLabels": {"app": "x"}}
SPREAD = {
    "maxSkew": 1,
    "topologyKey": "zone",
    "whenUnsatisfiable": "ScheduleAnyway",
    "labelSelector": SELECTOR,
}
APART = {"labelSelector": SELECTOR, "topologyKey": "kubernetes.io/hostname"}
EVERY: dict[str, Any] = {
    "replicas": 2,
    "flags": {"v": 4},
    "env": [{"name": "GODEBUG", "value": "x509sha1=1"}],
    "resources": {"requests": {"cpu": "10m"}, "limits": {"memory": "64Mi"}},
    "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
    "pod_security_context": {"fsGroup": 1001},
    "container_security_context": {"readOnlyRootFilesystem": True},
    "pod_labels": {"a": "b"},
    "pod_annotations": {"a": "b"},
    "deployment_annotations": {"a": "b"},
    "service_annotations": {"a": "b"},
    "service_labels": {"a": "b"},
    "volumes": [{"name": "tmp", "emptyDir": {}}],
    "volume_mounts": [{"name": "tmp", "mountPath": "/scratch"}],
    "node_selector": {"pool": "infra"},
    "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [APART]}},
    "tolerations": [{"key": "infra", "operator": "Exists"}],
    "topology_spread_constraints": [SPREAD],
    "priority_class_name": "system-cluster-critical",
    "host_aliases": [{"ip": "10.0.0.1", "hostnames": ["ca.example.com"]}],
    "dns_policy": "None",
    "dns_config": {"nameservers": ["10.0.0.2"]},
    "extra_containers": [{"name": "side", "image": "example.com/side:v1"}],
    "enable_service_links": True,
    "liveness_probe": {"periodSeconds": 30},
    "service_account": {"name": "robot", "annotations": {"a": "b"}, "labels": {"a": "b"}},
    "pod_disruption_budget": {"maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow"},
    "network_policy": {},
}
WEBHOOK = WebhookRequest(
    timeout_seconds=5,
    secure_port=8443,
    validating_namespace_selector=SELECTOR,
    mutating_namespace_selector={},
    service_type="NodePort",
    ip_family_policy="SingleStack",
    ip_families=["IPv4"],
)


def request(version: str, namespace: str, naming: Naming) -> InstallRequest:
    config = {"logging": {"format": "json"}} if version != "v1.8.2" else None
    every = ComponentRequest(**EVERY, config=config)
    return InstallRequest(
        version=version,
        namespace=namespace,
        naming=naming,
        leader_election_namespace="kube-system",
        components=dict.fromkeys(Component, every),
        webhook=WEBHOOK,
        images=Images(registry="mirror.example.com", pull_secrets=["pull"], pull_policy="Always"),
        common_labels={"team": "pki"},
        proxy={"HTTPS_PROXY": "http://proxy"},
        trusted_ca_config_map="ca",
        revision_history_limit=3,
        service_monitor={},
    )


@pytest.mark.parametrize("version", ["v1.21.2", "v1.8.2"])
@pytest.mark.parametrize("naming", [Naming.RELEASE, Naming.LEGACY])
async def test_every_object_is_taken(cluster: Cluster, version: str, naming: Naming) -> None:
    found = render(request(version, cluster.namespace, naming), released(version), load())
    assert not found.problems
    refused = []
    for step, declared in found.steps.items():
        if step in {InstallStep.NAMESPACE, InstallStep.MONITORS}:
            continue
        refused += [text for one in declared if (text := await refusal(cluster, one.obj))]
    assert not refused, "\n".join(refused)


async def refusal(cluster: Cluster, obj: JsonObject) -> str:
    """Return why the server would not create an object; empty if it would."""
    try:
        await cluster.client.create(elsewhere(obj), dry_run=True)
    except ApiError as error:
        return f"{obj['kind']} {obj['metadata']['name']}: {error}"
    return ""


def elsewhere(obj: JsonObject) -> JsonObject:
    """Return a definition for a group of its own: other tests leave theirs on a shared server."""
    if obj["kind"] != "CustomResourceDefinition":
        return obj
    group = f"taken.{obj['spec']['group']}"
    name = f"{obj['spec']['names']['plural']}.{group}"
    return {
        **obj,
        "metadata": {**obj["metadata"], "name": name},
        "spec": {**obj["spec"], "group": group},
    }
