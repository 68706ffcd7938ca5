"""The Deployment of a control plane, its Service, and how many of its pods may be away.

Pods see the certificate of the server and the authorities to trust, never the key of the authority.
"""

from typing import Any, Final

from certwright.kube import JsonObject
from certwright.operators.discoveryservice.service.plane import DiscoveryPlane

HASH_LABEL: Final = "marin3r.3scale.net/server-certificate-hash"
SERVER_DIRECTORY: Final = "/etc/marin3r/tls/server"
CA_DIRECTORY: Final = "/etc/marin3r/tls/ca"
CONTAINER: Final = "marin3r"
WEBHOOK_SERVICE_PORT: Final = 443


def deployment(plane: DiscoveryPlane, certificate_hash: str) -> JsonObject:
    """Return the Deployment; the hash counts only where a new certificate is a rollout."""
    labels = plane.labels
    if plane.rollout and certificate_hash:
        labels = {**labels, HASH_LABEL: certificate_hash}
    pod: JsonObject = {
        "serviceAccountName": plane.object_name,
        "terminationGracePeriodSeconds": 30,
        "securityContext": {
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "affinity": plane.affinity if plane.affinity is not None else _NODES,
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": plane.labels},
            }
        ],
        "containers": [_container(plane)],
        "volumes": [
            _volume("server-cert", plane.server_secret),
            _volume("ca-cert", plane.server_secret, {"key": "ca.crt", "path": "tls.crt"}),
        ],
    }
    if plane.priority_class:
        pod["priorityClassName"] = plane.priority_class
    spec = {
        "replicas": plane.replicas,
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
        "selector": {"matchLabels": plane.labels},
        # There is always one that answers: without it no labelled Pod could be created.
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1},
        },
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    return plane.obj("apps/v1", "Deployment", plane.object_name, plane.namespace, spec=spec)


def service(plane: DiscoveryPlane) -> JsonObject:
    """Return the Service under which Envoys and the API server reach the control plane."""
    headless = plane.service_type == "Headless"
    ports = {
        "discovery": plane.xds_port,
        "webhook": WEBHOOK_SERVICE_PORT,
        "metrics": plane.metrics_port,
    }
    spec: JsonObject = {
        "type": "ClusterIP" if headless else plane.service_type,
        "selector": plane.labels,
        "sessionAffinity": "None",
        "ports": [
            {"name": name, "port": port, "targetPort": name, "protocol": "TCP"}
            for name, port in ports.items()
        ],
    }
    if headless:
        spec["clusterIP"] = "None"
    return plane.obj("v1", "Service", plane.service, plane.namespace, spec=spec)


def lacks_address(live: JsonObject, plane: DiscoveryPlane) -> bool:
    """Return whether a Service is headless and is not to be: the server would keep it so."""
    return plane.service_type != "Headless" and live["spec"].get("clusterIP") == "None"


def disruption_budget(plane: DiscoveryPlane) -> JsonObject | None:
    """Return how many pods may be away; None if there is only one, which could never be moved."""
    if plane.replicas < 2:
        return None
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": plane.labels}}
    return plane.obj(
        "policy/v1", "PodDisruptionBudget", plane.object_name, plane.namespace, spec=spec
    )


def arguments(plane: DiscoveryPlane) -> list[str]:
    """Return the command line of the control plane."""
    return [
        "discovery-service",
        f"--name={plane.name}",
        f"--server-certificate-path={SERVER_DIRECTORY}",
        f"--ca-certificate-path={CA_DIRECTORY}",
        f"--xdss-port={plane.xds_port}",
        f"--webhook-port={plane.webhook_port}",
        f"--metrics-bind-address=:{plane.metrics_port}",
        f"--health-probe-bind-address=:{plane.probe_port}",
        f"--envoy-image={plane.envoy_image}",
        f"--image={plane.image}",
        *(["--debug"] if plane.debug else []),
    ]


def _container(plane: DiscoveryPlane) -> JsonObject:
    ports = {
        "discovery": plane.xds_port,
        "webhook": plane.webhook_port,
        "metrics": plane.metrics_port,
        "health": plane.probe_port,
    }
    container: JsonObject = {
        "name": CONTAINER,
        "image": plane.image,
        "imagePullPolicy": "IfNotPresent",
        "args": arguments(plane),
        "ports": [
            {"name": name, "containerPort": port, "protocol": "TCP"} for name, port in ports.items()
        ],
        "env": [
            {"name": "WATCH_NAMESPACE", "value": ""},
            _from_field("POD_NAME", "metadata.name"),
            _from_field("POD_NAMESPACE", "metadata.namespace"),
            _from_field("POD_UID", "metadata.uid"),
        ],
        # Where processors are short it takes its time to begin, and is not to be killed meanwhile.
        "startupProbe": _probe("/healthz", period=5, failures=60),
        "livenessProbe": _probe("/healthz"),
        "readinessProbe": _probe("/readyz"),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "server-cert", "mountPath": f"{SERVER_DIRECTORY}/", "readOnly": True},
            {"name": "ca-cert", "mountPath": f"{CA_DIRECTORY}/", "readOnly": True},
        ],
    }
    if plane.resources:
        container["resources"] = plane.resources
    return container


def _probe(path: str, *, period: int = 10, failures: int = 3) -> JsonObject:
    return {
        "httpGet": {"path": path, "port": "health", "scheme": "HTTP"},
        "periodSeconds": period,
        "timeoutSeconds": 1,
        "failureThreshold": failures,
    }


def _volume(name: str, secret: str, *items: dict[str, str]) -> JsonObject:
    source: JsonObject = {"secretName": secret, "defaultMode": 0o644}
    if items:
        source["items"] = list(items)
    return {"name": name, "secret": source}


def _from_field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


_NODES: Final[JsonObject] = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {
                            "key": "kubernetes.io/arch",
                            "operator": "In",
                            "values": ["amd64", "arm64"],
                        },
                        {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
                    ]
                }
            ]
        }
    }
}
"""For which nodes there are images."""
