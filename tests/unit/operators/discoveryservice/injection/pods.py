"""Pods as clients send them, for tests of injection."""

import random
from typing import Any

from certwright.kube import JsonObject
from certwright.operators.discoveryservice.injection.annotations import PREFIX, SidecarDefaults

DEFAULTS = SidecarDefaults("instance", manager_image="certwright:test")


def pod(*containers: str, spec: Any = None, **annotations: str) -> JsonObject:
    """Return a Pod; of annotations, ``__`` is a dot and ``_`` a dash."""
    named = {
        PREFIX + name.replace("__", ".").replace("_", "-"): value
        for name, value in annotations.items()
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "app", "namespace": "a", "annotations": named},
        "spec": {
            "containers": [{"name": name, "image": f"{name}:1"} for name in containers or ("app",)],
            **(spec or {}),
        },
    }


_VALUES: dict[str, tuple[str, ...]] = {
    "node-id": ("gateway", "a", "$(POD_NAME)", "", " ", 'x"y', "ü"),
    "cluster-id": ("edge", ""),
    "container-name": ("envoy", "app", "envoy-sidecar", "Bad_Name", "envoy-shtdn-mgr", "init"),
    "envoy-image": ("envoyproxy/envoy:v1.36.0", ""),
    "ports": (
        "http:8080", "http:8080,dns:5353:UDP", "admin:9901", "http:80", "http", "a:4000i",
        "http:9000:tcp", "x:2000:TCP:y", "admin:4000", "http:8080,http:8081", "", " a:5000 , b:5001",
    ),
    "host-port-mappings": ("http:18080", "nothing:4000", "http", "http:80", ""),
    "ads-configmap": ("other", "Not A Name"),
    "config-volume": ("config", "data", "envoy-sidecar-tls"),
    "tls-volume": ("tls", "data", ""),
    "client-certificate": ("other-cert", "?"),
    "envoy-extra-args": ("--log-level debug", "-l  info", "--config-yaml {}", "--x 'y z'", ""),
    "envoy-api-version": ("v3", "v2", "v4", ""),
    "resources.requests.cpu": ("100m", "0.1", "", "many", "-1"),
    "resources.limits.memory": ("64Mi", "1e6", "1024Ki"),
    "discovery-service.name": ("instance", "other"),
    "admin.port": ("9902", "0", "port", "99999"),
    "admin.bind-address": ("127.0.0.1",),
    "admin.access-log-path": ("/dev/null", "/dev/stdout"),
    "shutdown-manager.enabled": ("true", "1", "false", "yes"),
    "shutdown-manager.port": ("8091", "80"),
    "shutdown-manager.image": ("manager:2", ""),
    "shutdown-manager.drain-time": ("10", "-1", "long"),
    "shutdown-manager.drain-strategy": ("immediate", "gradual", "slow"),
    "shutdown-manager.extra-lifecycle-hooks": ("app", "app,worker", "ghost", ""),
    "native-sidecar": ("true", "false", "maybe"),
    "init-manager.image": ("x",),
    "something-else": ("x",),
}  # fmt: skip


def random_pod(rng: random.Random) -> JsonObject:
    """Return any Pod, most of which can be injected."""
    annotations = {PREFIX + "node-id": "gateway"}
    for name in rng.sample(sorted(_VALUES), rng.randrange(8)):
        annotations[PREFIX + name] = rng.choice(_VALUES[name])
    spec: JsonObject = {"containers": _containers(rng, ("app", "worker", "envoy", "other"))}
    if rng.random() < 0.3:
        spec["initContainers"] = _containers(rng, ("init", "envoy-sidecar", "first"))
    if rng.random() < 0.4:
        spec["volumes"] = [
            {"name": name, "emptyDir": {}}
            for name in rng.sample(("data", "tls", "envoy-sidecar-tls", "scratch"), 1)
        ]
    if rng.random() < 0.3:
        spec["terminationGracePeriodSeconds"] = rng.choice((0, 5, 30, 600))
    metadata: JsonObject = {"generateName": "app-", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _containers(rng: random.Random, names: tuple[str, ...]) -> list[Any]:
    found = []
    for name in rng.sample(names, 1 + rng.randrange(2)):
        container: JsonObject = {"name": name, "image": f"{name}:1"}
        if rng.random() < 0.2:
            container["lifecycle"] = {"preStop": {"exec": {"command": ["sleep", "1"]}}}
        if rng.random() < 0.2:
            container["ports"] = [{"containerPort": 8080}]
        found.append(container)
    return found


def defaulted(obj: JsonObject) -> JsonObject:
    """Return a Pod as the API server stores it: with some of the defaults it fills in."""
    spec = {"restartPolicy": "Always", "terminationGracePeriodSeconds": 30, **obj["spec"]}
    for place in ("containers", "initContainers"):
        if place in spec:
            spec[place] = [
                {
                    "imagePullPolicy": "IfNotPresent",
                    "terminationMessagePath": "/dev/termination-log",
                    **one,
                    "ports": [{"protocol": "TCP", **port} for port in one.get("ports") or ()],
                    "volumeMounts": [
                        *(one.get("volumeMounts") or ()),
                        {"name": "token", "mountPath": "/var/run/secrets", "readOnly": True},
                    ],
                }
                for one in spec[place]
            ]
    if "volumes" in spec:
        spec["volumes"] = [
            {**one, "secret": {"defaultMode": 420, **one["secret"]}} if "secret" in one else one
            for one in spec["volumes"]
        ]
    return {**obj, "spec": spec}
