"""Random requests that a chart has values for."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from tests.support.certmanager.helmvalues import PREFIX, Knows

from certwright.operators.certmanager.request import (
    Component,
    ComponentRequest,
    Images,
    InstallRequest,
    WebhookRequest,
)

Make = Callable[[Random], Any]
DIGEST = f"sha256:{'0f' * 32}"


def _one_of(*values: Any) -> Make:
    return lambda rng: rng.choice(values)


def _some_of(values: dict[str, Any]) -> Make:
    def make(rng: Random) -> dict[str, Any]:
        names = rng.sample(sorted(values), rng.randint(1, len(values)))
        return {name: values[name] for name in names}

    return make


_FLAGS: dict[Component, dict[str, Any]] = {
    Component.CONTROLLER: {
        "enable-certificate-owner-ref": True,
        "kube-api-burst": 100,
        "max-concurrent-challenges": 7,
        "issuer-ambient-credentials": True,
        "dns01-recursive-nameservers": ["8.8.8.8:53", "1.1.1.1:53"],
        "leader-election-lease-duration": "80s",
        "v": 5,
    },
    Component.CAINJECTOR: {"leader-election-lease-duration": "90s", "v": 3},
    Component.WEBHOOK: {"tls-min-version": "VersionTLS12", "v": 4},
}
_POLICY_PORTS = [{"ports": [{"port": 8443, "protocol": "TCP"}]}]

_METRICS = {"secretNamespace": "cert-manager", "secretName": "metrics-ca", "dnsNames": ["a.b"]}

OF_COMPONENTS: dict[str, tuple[str, Make]] = {
    # field: the value of the chart, what is asked for
    "replicas": ("replicaCount", _one_of(2, 3)),
    "strategy": ("strategy", _one_of({"type": "Recreate"}, {"rollingUpdate": {"maxSurge": 0}})),
    "resources": ("resources", _some_of({"requests": {"cpu": "10m"}, "limits": {"cpu": "1"}})),
    "pod_security_context": (
        "securityContext",
        _some_of({"fsGroup": 1001, "runAsUser": 1000, "runAsNonRoot": False}),
    ),
    "container_security_context": (
        "containerSecurityContext",
        _some_of({"privileged": False, "readOnlyRootFilesystem": False}),
    ),
    "pod_labels": ("podLabels", _some_of({"a": "1", "azure.workload.identity/use": "true"})),
    "pod_annotations": ("podAnnotations", _some_of({"b": "1", "c/d": "2"})),
    "deployment_annotations": ("deploymentAnnotations", _some_of({"e": "1"})),
    "volumes": ("volumes", _one_of([{"name": "tmp", "emptyDir": {}}])),
    "volume_mounts": ("volumeMounts", _one_of([{"name": "tmp", "mountPath": "/tmp/x"}])),
    "node_selector": ("nodeSelector", _some_of({"pool": "infra", "kubernetes.io/os": "other"})),
    "affinity": ("affinity", _one_of({"podAntiAffinity": {"x": []}, "nodeAffinity": {"y": 1}})),
    "tolerations": ("tolerations", _one_of([{"operator": "Exists"}], [{"key": "a"}])),
    "topology_spread_constraints": (
        "topologySpreadConstraints",
        _one_of([{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]),
    ),
    "service_account": (
        "serviceAccount",
        _some_of(
            {"name": "robot", "annotations": {"x": "y"}, "automountServiceAccountToken": False}
        ),
    ),
    "pod_disruption_budget": (
        "podDisruptionBudget",
        _one_of({}, {"minAvailable": 2}, {"maxUnavailable": 1}, {"maxUnavailable": "25%"}),
    ),
    "env": ("extraEnv", _one_of([{"name": "GODEBUG", "value": "x509sha1=1"}])),
    "enable_service_links": ("enableServiceLinks", _one_of(True)),
    "config": ("config", _one_of({"logging": {"verbosity": 3}}, {"logging": {"format": "json"}})),
    "service_annotations": ("serviceAnnotations", _some_of({"s": "1"})),
    "service_labels": ("serviceLabels", _some_of({"t": "1"})),
    "runtime_class_name": ("runtimeClassName", _one_of("gvisor")),
}

OF_ALL: dict[str, tuple[str, Make]] = {
    "log_level": ("global.logLevel", _one_of(1, 4, 6)),
    "common_labels": ("global.commonLabels", _some_of({"team": "pki", "stage": "test"})),
    "priority_class_name": ("global.priorityClassName", _one_of("system-cluster-critical")),
    "leader_election_namespace": ("global.leaderElection", _one_of("leases", "cert-manager")),
    "node_selector": ("nodeSelector", _some_of({"disk": "ssd", "arch": "arm64"})),
    "tolerations": ("tolerations", _one_of([{"key": "spot", "operator": "Exists"}])),
    "revision_history_limit": ("global.revisionHistoryLimit", _one_of(0, 3)),
    "runtime_class_name": ("global.runtimeClassName", _one_of("kata")),
    "host_users": ("global.hostUsers", _one_of(False)),
    "aggregate_cluster_roles": ("global.rbac.aggregateClusterRoles", _one_of(False)),
    "auto_approval": ("disableAutoApproval", _one_of(False)),
    "approve_signer_names": ("approveSignerNames", _one_of(["issuers.cert-manager.io/a.*"])),
    "namespace": ("", _one_of("pki", "cert-manager-prod")),
    "proxy": (
        "cainjector.extraEnv webhook.extraEnv",
        _some_of({"HTTPS_PROXY": "http://p:3128", "NO_PROXY": ".svc"}),
    ),
    "metrics": ("cainjector.serviceLabels", _one_of(False)),
    "service_monitor": (
        "cainjector.serviceLabels",
        _some_of({"interval": "5s", "labels": {"l": "1"}}),
    ),
    "pod_monitor": ("cainjector.serviceLabels", _some_of({"interval": "5s", "honorLabels": True})),
}

OF_IMAGES: dict[str, Make] = {
    "registry": _one_of("mirror.example.com/jetstack"),
    "mirrors": _one_of({"quay.io/jetstack": "m.example.com/q/j"}, {"quay.io": "m.example.com"}),
    "pull_policy": _one_of("Always", "Never"),
    "pull_secrets": _one_of(["pull"], ["pull", "more"]),
    "digests": _some_of({"webhook": DIGEST, "controller": DIGEST, "acmesolver": DIGEST}),
}

OF_WEBHOOK: dict[str, tuple[str, Make]] = {
    "timeout_seconds": ("webhook.timeoutSeconds", _one_of(5, 15)),
    "secure_port": ("webhook.securePort", _one_of(8443, 10260)),
    "url_host": ("webhook.url.host", _one_of("hooks.example.com")),
    "service_type": ("webhook.serviceType", _one_of("NodePort", "LoadBalancer")),
    "validating_namespace_selector": (
        "webhook.validatingWebhookConfiguration.namespaceSelector",
        _one_of({"matchLabels": {"x": "y"}}, {"matchExpressions": [{"key": "k"}]}),
    ),
    "mutating_namespace_selector": (
        "webhook.mutatingWebhookConfiguration.namespaceSelector",
        _one_of({"matchLabels": {"x": "y"}}),
    ),
}


def random_request(version: str, knows: Knows, rng: Random) -> InstallRequest:
    """Return a request with a few wishes, all of which the chart has values for."""
    fields = _chosen(OF_ALL, knows, rng, 0.2)
    if "service_monitor" in fields or not fields.get("metrics", True):
        fields.pop("pod_monitor", None)
    if not fields.get("metrics", True):
        fields.pop("service_monitor", None)
    images = {name: make(rng) for name, make in OF_IMAGES.items() if rng.random() < 0.2}
    if "registry" in images:
        images.pop("mirrors", None)
    components = {component: _component(component, knows, rng) for component in Component}
    for component, wanted in components.items():
        if wanted.image and "digests" in images:  # which is meant for another image
            images["digests"] = {**images["digests"]}
            images["digests"].pop(component.value, None)
    return InstallRequest(
        version=version,
        components=components,
        webhook=WebhookRequest(**_chosen(OF_WEBHOOK, knows, rng, 0.25)),
        images=Images(**images),
        **fields,
    )


def _component(component: Component, knows: Knows, rng: Random) -> ComponentRequest:
    wishes = {
        field: (f"{PREFIX[component]}{value}", make)
        for field, (value, make) in OF_COMPONENTS.items()
    }
    fields = _chosen(wishes, knows, rng, 0.2)
    if "name" in fields.get("service_account", {}):
        fields["service_account"]["name"] = f"robot-{component}"
    if knows(f"{PREFIX[component]}config.metricsTLSConfig") and rng.random() < 0.2:
        fields["config"] = {"metricsTLSConfig": {"dynamic": _METRICS}}
    if rng.random() < 0.3:
        fields["flags"] = _some_of(_FLAGS[component])(rng)
    if rng.random() < 0.2:
        fields["image"] = f"example.com/mine/{component}:v9"
    policed = knows(f"{PREFIX[component]}networkPolicy.ingress") and rng.random() < 0.2
    if policed and "pod_labels" not in fields:  # of both, early charts make no YAML
        fields["network_policy"] = {"ingress": _POLICY_PORTS, "egress": _POLICY_PORTS}
    if component is Component.WEBHOOK and rng.random() < 0.2:
        fields["host_network"] = True
    if component is Component.CAINJECTOR and rng.random() < 0.1:
        return ComponentRequest(enabled=False)
    return ComponentRequest(**fields)


def _chosen(
    wishes: dict[str, tuple[str, Make]], knows: Knows, rng: Random, chance: float
) -> dict[str, Any]:
    def draw() -> Iterator[tuple[str, Any]]:
        for field, (value, make) in wishes.items():
            wished = rng.random() < chance
            made = make(rng)
            if wished and all(map(knows, value.split())):
                yield field, made

    return dict(draw())
