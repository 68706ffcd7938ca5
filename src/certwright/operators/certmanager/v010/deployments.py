"""The four Deployments: controller, configmap-watcher, cainjector and webhook."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from certwright.kube import JsonObject
from certwright.operators.certmanager.request import Component, ComponentRequest, InstallRequest
from certwright.operators.certmanager.v010.images import Image, resolve
from certwright.operators.certmanager.v010.names import (
    CA_SECRET,
    DEPLOYMENTS,
    ROLE,
    SERVING_SECRET,
    WATCHER,
    WEBHOOK,
    labels,
    watcher_labels,
)

SOLVER_FLAG: Final = "acme-http01-solver-image"
RESOURCE_NAMESPACE_FLAG: Final = "cluster-resource-namespace"

_USER: Final = 10000
_GROUP: Final = 1001
_LIMITS: Final = {"cpu": "500m", "memory": "500Mi"}
_REQUESTS: Final = {"cpu": "100m", "memory": "300Mi"}
_POD_ANNOTATIONS: Final = {"seccomp.security.alpha.kubernetes.io/pod": "docker/default"}
_WATCHED: Final = {
    "watcher.ibm.com/configmap-resource": "kube-system/extension-apiserver-authentication"
}
_POD_NAMESPACE: Final = {
    "name": "POD_NAMESPACE",
    "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Program:
    """What one Deployment runs, and how it differs from the others."""

    name: str
    image: str
    process: str
    """How pgrep finds it."""
    words: str
    """What its readiness probe prints."""
    labels: Mapping[str, str]
    selector: Mapping[str, str]
    pod_labels: Mapping[str, str]
    args: Sequence[str] = ()
    env: Sequence[JsonObject] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    secret_volume: tuple[str, str] | None = None
    """A volume's name, and the Secret it holds."""
    read_only_root: bool = True
    host_network: bool = False


def controller(request: InstallRequest) -> JsonObject:
    """Return the Deployment of the controller."""
    wanted, own = request.component(Component.CONTROLLER), labels(Component.CONTROLLER)
    program = _Program(
        name=DEPLOYMENTS[Component.CONTROLLER],
        image=wanted.image or resolve(Image.CONTROLLER),
        process="cert-manager",
        words="cert-manager",
        labels=own,
        selector=own,
        pod_labels=own,
        args=_controller_args(request, wanted),
        env=(_POD_NAMESPACE, {"name": "POD_RESTART", "value": "true"}),
    )
    return _deployment(request, program, wanted)


def config_map_watcher(request: InstallRequest) -> JsonObject:
    """Return the Deployment of what restarts the webhook when its ConfigMap changes."""
    wanted, own = request.config_map_watcher or ComponentRequest(), watcher_labels()
    program = _Program(
        name=WATCHER,
        image=wanted.image or resolve(Image.WATCHER),
        process="watcher",
        words="configmap-watcher",
        labels=own,
        selector=own,
        pod_labels=own,
        args=("--v=0",),
    )
    return _deployment(request, program, wanted)


def cainjector(request: InstallRequest) -> JsonObject:
    """Return the Deployment of cainjector."""
    wanted, own = request.component(Component.CAINJECTOR), labels(Component.CAINJECTOR)
    program = _Program(
        name=DEPLOYMENTS[Component.CAINJECTOR],
        image=wanted.image or resolve(Image.CAINJECTOR),
        process="cainjector",
        words="cert-manager cainjector",
        labels=own,
        selector=own,
        pod_labels=own,
        env=(_POD_NAMESPACE,),
    )
    return _deployment(request, program, wanted)


def webhook(request: InstallRequest) -> JsonObject:
    """Return the Deployment of the webhook."""
    wanted, own = request.component(Component.WEBHOOK), labels(Component.WEBHOOK)
    program = _Program(
        name=WEBHOOK,
        image=wanted.image or resolve(Image.WEBHOOK),
        process="webhook",
        words="cert-manager webhook",
        labels=own,
        selector={"app": own["app"]},
        pod_labels={"app": own["app"]},
        args=(
            "--v=0",
            "--secure-port=1443",
            "--tls-cert-file=/certs/tls.crt",
            "--tls-private-key-file=/certs/tls.key",
        ),
        env=(_POD_NAMESPACE, {"name": "TMPDIR", "value": "/home/webhook/tmp"}),
        annotations=_WATCHED,
        secret_volume=("certs", SERVING_SECRET),
        read_only_root=False,
        host_network=wanted.host_network is True,
    )
    return _deployment(request, program, wanted)


def _controller_args(request: InstallRequest, wanted: ComponentRequest) -> tuple[str, ...]:
    """Return the arguments, in the order in which they have always been."""
    namespace = request.namespace
    names = (WEBHOOK, f"{WEBHOOK}.{namespace}", f"{WEBHOOK}.{namespace}.svc")
    flags = {
        RESOURCE_NAMESPACE_FLAG: "kube-system",
        "leader-election-namespace": request.leader_election_namespace or namespace,
        SOLVER_FLAG: resolve(Image.ACMESOLVER),
        "webhook-namespace": namespace,
        "webhook-ca-secret": CA_SECRET,
        "webhook-serving-secret": SERVING_SECRET,
        "webhook-dns-names": ",".join(names),
        **wanted.flags,
    }
    return tuple(f"--{name}={value}" for name, value in flags.items() if value is not None)


def _deployment(request: InstallRequest, program: _Program, wanted: ComponentRequest) -> JsonObject:
    metadata: JsonObject = {
        "name": program.name,
        "namespace": request.namespace,
        "labels": {**request.common_labels, **program.labels},
    }
    if program.annotations:
        metadata["annotations"] = dict(program.annotations)
    template = {
        "metadata": {
            "labels": {**request.common_labels, **program.pod_labels},
            "annotations": dict(_POD_ANNOTATIONS),
        },
        "spec": _pod(request, program, wanted),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": dict(program.selector)},
            "template": template,
        },
    }


def _pod(request: InstallRequest, program: _Program, wanted: ComponentRequest) -> JsonObject:
    pod: JsonObject = {
        "serviceAccountName": ROLE,
        "securityContext": {"runAsNonRoot": True, "runAsUser": _USER, "fsGroup": _GROUP},
        "containers": [_container(program, wanted)],
    }
    if request.images.pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in request.images.pull_secrets]
    if program.host_network:
        pod["hostNetwork"] = True
    if program.secret_volume:
        name, secret = program.secret_volume
        pod["volumes"] = [{"name": name, "secret": {"secretName": secret}}]
    return pod


def _container(program: _Program, wanted: ComponentRequest) -> JsonObject:
    env = [*program.env, *wanted.env]
    container: JsonObject = {
        "name": program.name,
        "image": program.image,
        "imagePullPolicy": "IfNotPresent",
        "livenessProbe": _probe(f"pgrep {program.process} -l", delay=30, timeout=5),
        "readinessProbe": _probe(f"exec echo start {program.words}", delay=10, timeout=2),
        "resources": _resources(wanted.resources or {}),
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "allowPrivilegeEscalation": False,
            "privileged": False,
            "readOnlyRootFilesystem": program.read_only_root,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    if program.args:
        container["args"] = list(program.args)
    if env:
        container["env"] = env
    if program.secret_volume:
        name, _ = program.secret_volume
        container["volumeMounts"] = [{"name": name, "mountPath": f"/{name}"}]
    return container


def _probe(command: str, *, delay: int, timeout: int) -> JsonObject:
    return {
        "exec": {"command": ["sh", "-c", command]},
        "initialDelaySeconds": delay,
        "timeoutSeconds": timeout,
    }


def _resources(given: JsonObject) -> JsonObject:
    """Return limits and requests; each that is given replaces the default as a whole."""
    limits, requests = given.get("limits"), given.get("requests")
    return {
        "limits": dict(_LIMITS) if limits is None else limits,
        "requests": dict(_REQUESTS) if requests is None else requests,
    }
