"""The containers and volumes of a sidecar, as a Pod has them."""

from typing import Any, Final

import orjson

from certwright.kube import JsonObject
from certwright.operators.discoveryservice.injection.annotations import (
    ShutdownManager,
    SidecarRequest,
)

BOOTSTRAP_DIRECTORY: Final = "/etc/envoy/bootstrap"
CERTIFICATE_DIRECTORY: Final = "/etc/envoy/tls/client"
CONFIG_FILE: Final = "config.json"
ADMIN: Final = "admin"
"""The name of Envoy's administration port."""
SHUTDOWN_CONTAINER: Final = "envoy-shtdn-mgr"
_OVERLAY_FLAG: Final = "--config-yaml"


def envoy_container(request: SidecarRequest) -> JsonObject:
    """Return the Envoy container."""
    container: JsonObject = {
        "name": request.container,
        "image": request.image,
        "command": ["envoy"],
        "args": _arguments(request),
        "env": [
            _from_field("POD_NAME", "metadata.name"),
            _from_field("POD_NAMESPACE", "metadata.namespace"),
            _from_field("HOST_NAME", "spec.nodeName"),
        ],
        "ports": _ports(request),
        "volumeMounts": [
            _mount(request.tls_volume, CERTIFICATE_DIRECTORY),
            _mount(request.config_volume, BOOTSTRAP_DIRECTORY),
        ],
        "livenessProbe": {
            **_probe("/ready", request.admin_port),
            "initialDelaySeconds": 30,
            "timeoutSeconds": 1,
            "periodSeconds": 10,
            "failureThreshold": 10,
        },
        "readinessProbe": {
            **_probe("/ready", request.admin_port),
            "initialDelaySeconds": 15,
            "timeoutSeconds": 1,
            "periodSeconds": 5,
            "failureThreshold": 1,
        },
    }
    if request.resources:
        container["resources"] = {kind: dict(one) for kind, one in request.resources.items()}
    if request.shutdown is not None:
        container["lifecycle"] = {"preStop": shutdown_hook(request.shutdown)}
    return _restarted(container, request)


def shutdown_container(request: SidecarRequest, shutdown: ShutdownManager) -> JsonObject:
    """Return the container that drains Envoy."""
    container: JsonObject = {
        "name": SHUTDOWN_CONTAINER,
        "image": shutdown.image,
        "args": ["shutdown-manager", "--port", str(shutdown.port)],
        "resources": {
            "requests": {"cpu": "5m", "memory": "25Mi"},
            "limits": {"cpu": "50m", "memory": "50Mi"},
        },
        "livenessProbe": {
            **_probe("/healthz", shutdown.port),
            "initialDelaySeconds": 3,
            "periodSeconds": 10,
        },
        "lifecycle": {"preStop": {"httpGet": _get("/drain", shutdown.port)}},
    }
    if request.admin_port != 9901:
        container["args"] += ["--admin-port", str(request.admin_port)]
    return _restarted(container, request)


def shutdown_hook(shutdown: ShutdownManager) -> JsonObject:
    """Return the hook that lets a container run until Envoy is drained."""
    return {"httpGet": _get("/shutdown", shutdown.port)}


def volumes(request: SidecarRequest) -> list[JsonObject]:
    """Return the volumes that the Envoy container mounts."""
    return [
        {"name": request.tls_volume, "secret": {"secretName": request.client_certificate}},
        {"name": request.config_volume, "configMap": {"name": request.config_map}},
    ]


def _arguments(request: SidecarRequest) -> list[str]:
    args = ["-c", f"{BOOTSTRAP_DIRECTORY}/{CONFIG_FILE}"]
    args += ["--service-node", request.node_id, "--service-cluster", request.cluster_id]
    if request.shutdown is not None:
        args += ["--drain-time-s", str(request.shutdown.drain_seconds)]
        args += ["--drain-strategy", request.shutdown.drain_strategy]
    if not brings_own_node(request):
        args += [_OVERLAY_FLAG, _overlay(request)]
    return [*args, *request.extra_args]


def brings_own_node(request: SidecarRequest) -> bool:
    """Return whether the Pod has its own ``--config-yaml``, of which Envoy takes only one."""
    flags = {argument.partition("=")[0] for argument in request.extra_args}
    return _OVERLAY_FLAG in flags


def _overlay(request: SidecarRequest) -> str:
    """Return what is added to the bootstrap of the namespace: which Pod this is, and its admin.

    Kubernetes replaces ``$(POD_NAME)`` and the like in arguments.
    """
    overlay: JsonObject = {
        "node": {
            "metadata": {
                "pod_name": "$(POD_NAME)",
                "pod_namespace": "$(POD_NAMESPACE)",
                "host_name": "$(HOST_NAME)",
                "envoy_image": request.image,
            }
        }
    }
    admin: JsonObject = {}
    if (request.admin_address, request.admin_port) != ("0.0.0.0", 9901):  # noqa: S104 - in a Pod
        socket = {"address": request.admin_address, "port_value": request.admin_port}
        admin["address"] = {"socket_address": socket}
    if request.access_log:
        admin["access_log"] = [
            {
                "name": "envoy.access_loggers.file",
                "typed_config": {
                    "@type": (
                        "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog"
                    ),
                    "path": request.access_log,
                },
            }
        ]
    if admin:
        overlay["admin"] = admin
    return orjson.dumps(overlay).decode()


def _ports(request: SidecarRequest) -> list[JsonObject]:
    ports = [port.as_json() for port in request.ports]
    if not any(port.name == ADMIN or request.admin_port == port.number for port in request.ports):
        ports.append({"name": ADMIN, "containerPort": request.admin_port})
    return ports


def _restarted(container: JsonObject, request: SidecarRequest) -> JsonObject:
    return {**container, "restartPolicy": "Always"} if request.native else container


def _probe(path: str, port: int) -> JsonObject:
    return {"httpGet": _get(path, port)}


def _get(path: str, port: int) -> JsonObject:
    return {"path": path, "port": port}


def _mount(volume: str, path: str) -> JsonObject:
    return {"name": volume, "mountPath": path, "readOnly": True}


def _from_field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
