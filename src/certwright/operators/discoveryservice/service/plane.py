"""What a DiscoveryService asks for, with all names and defaults: what everything else is made from.

Names and labels are those of marin3r, so that an installation of it is taken over as it is.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Literal

from msgspec import UNSET, UnsetType

from certwright import __version__
from certwright.api.discoverydefaults import (
    CLIENT_SECRET,
    METRICS_PORT,
    PROBE_PORT,
    WEBHOOK_PORT,
    ca_lifetime,
    ca_secret_name,
    propagation,
    server_lifetime,
    server_secret_name,
    service_settings,
    xds_port,
)
from certwright.api.discoveryservices import DiscoveryService
from certwright.kube import JsonObject
from certwright.operators.discoveryservice.injection.annotations import (
    ENVOY_IMAGE,
    SidecarDefaults,
)

IMAGE: Final = f"certwright:{__version__}"
KUBE_SYSTEM: Final = "kube-system"


@dataclass(frozen=True, slots=True)
class ServiceDefaults:
    """What the operator gives to all control planes."""

    image: str = IMAGE
    """Of control planes and shutdown managers."""
    envoy_image: str = ENVOY_IMAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryPlane:
    """One control plane."""

    name: str
    """Of the DiscoveryService."""
    uid: str
    namespace: str
    enabled: tuple[str, ...] = ()
    """The namespaces to be served, each once, in order."""
    image: str = IMAGE
    envoy_image: str = ENVOY_IMAGE
    debug: bool = False
    resources: JsonObject = field(default_factory=dict)
    xds_port: int
    webhook_port: int = WEBHOOK_PORT
    metrics_port: int = METRICS_PORT
    probe_port: int = PROBE_PORT
    service: str
    """The name of its Service."""
    service_type: Literal["ClusterIP", "LoadBalancer", "Headless"] = "ClusterIP"
    priority_class: str = ""
    affinity: JsonObject | None = None
    rollout: bool = False
    """Whether pods are replaced to take up another certificate; else they load it."""
    replicas: int = 2
    failure_policy: Literal["Fail", "Ignore"] = "Fail"
    ca_secret: str
    ca_lifetime: timedelta
    propagation: str = ""
    """How long a change of a Secret may take to reach all; the operator's setting if empty."""
    server_secret: str
    server_lifetime: timedelta

    @property
    def object_name(self) -> str:
        """What its objects are called."""
        return f"marin3r-{self.name}"

    @property
    def labels(self) -> dict[str, str]:
        """The labels of all its objects, by which its pods are selected."""
        return {
            "app.kubernetes.io/name": "marin3r",
            "app.kubernetes.io/managed-by": "marin3r-operator",
            "app.kubernetes.io/component": "discovery-service",
            "app.kubernetes.io/instance": self.name,
        }

    @property
    def host(self) -> str:
        """The name under which Envoys and the API server reach it."""
        return f"{self.service}.{self.namespace}.svc"

    @property
    def sidecars(self) -> SidecarDefaults:
        """What its sidecars have in common."""
        return SidecarDefaults(
            self.name, self.envoy_image, self.image, client_certificate=CLIENT_SECRET
        )

    def obj(
        self, api_version: str, kind: str, name: str, namespace: str = "", **content: Any
    ) -> JsonObject:
        """Return an object that belongs to the DiscoveryService."""
        metadata: JsonObject = {
            "name": name,
            "labels": self.labels,
            "ownerReferences": [self._owner],
        }
        if namespace:
            metadata["namespace"] = namespace
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}

    @property
    def _owner(self) -> JsonObject:
        resource = DiscoveryService.resource
        return {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }


def control_plane(obj: DiscoveryService, defaults: ServiceDefaults) -> DiscoveryPlane:
    """Return what a DiscoveryService asks for."""
    name, spec = obj.metadata.name, obj.spec
    service = service_settings(spec)
    webhook = spec.webhook
    policy = webhook.failure_policy if webhook is not UNSET else UNSET
    return DiscoveryPlane(
        name=name,
        uid=obj.metadata.uid,
        namespace=spec.discovery_service_namespace,
        enabled=tuple(dict.fromkeys(spec.enabled_namespaces)),
        image=_or(spec.image, "") or defaults.image,
        envoy_image=defaults.envoy_image,
        debug=_or(spec.debug, other=False),
        resources=_or(spec.resources, {}),
        xds_port=xds_port(spec),
        webhook_port=_or(spec.webhook_port, WEBHOOK_PORT),
        metrics_port=_or(spec.metrics_port, METRICS_PORT),
        probe_port=_or(spec.probe_port, PROBE_PORT),
        service=_or(service.name, "") or f"marin3r-{name}",
        service_type=_or(service.type, "ClusterIP"),
        priority_class=_or(spec.pod_priority_class, ""),
        affinity=_or(spec.affinity, None),
        rollout=_or(spec.certificate_reload, "HotReload") == "Rollout",
        replicas=_or(spec.replicas, 2),
        failure_policy=_or(policy, "Fail"),
        ca_secret=ca_secret_name(name, spec),
        ca_lifetime=ca_lifetime(spec),
        propagation=propagation(spec),
        server_secret=server_secret_name(name, spec),
        server_lifetime=server_lifetime(spec),
    )


def _or(value: Any | UnsetType, other: Any) -> Any:
    return other if value is UNSET else value


@dataclass(frozen=True, slots=True)
class ServerCertificate:
    """What the Secret of the server shows without its key."""

    bundle: bytes
    """The authorities that clients and the API server have to trust, PEM."""
    hash: str
    """Of the certificate, see `hashes`."""
