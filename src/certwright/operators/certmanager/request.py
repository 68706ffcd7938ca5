"""What is to be installed, whichever custom resource asks for it.

An adapter per custom resource makes an `InstallRequest` of it, without a cluster. Everything that
follows, the objects, the steps and the checks, knows only the request.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeAlias

from certwright.kube import JsonObject

FlagValue: TypeAlias = str | bool | int | float | Sequence[Any] | Mapping[str, Any] | None
"""As a custom resource gives it; None removes a default."""


class Component(StrEnum):
    """One of the three programs, in the order in which they are looked at."""

    CONTROLLER = "controller"
    CAINJECTOR = "cainjector"
    WEBHOOK = "webhook"


class Naming(StrEnum):
    """Which names and selectors the objects have."""

    RELEASE = "Release"
    """Those of cert-manager's published manifest."""
    LEGACY = "Legacy"
    """``cert-manager-controller`` and selectors by instance ``cluster``, as the first operator of
    this kind left them."""
    V0_10 = "0.10"
    """The layout of cert-manager 0.10, with an APIService."""


class Management(StrEnum):
    """Whether the installation is looked after."""

    MANAGED = "Managed"
    UNMANAGED = "Unmanaged"
    REMOVED = "Removed"


class Reason(StrEnum):
    """Why a part of a request cannot be followed; also the reason of a condition."""

    UNKNOWN_FLAG = "UnknownFlag"
    INVALID_FLAG_VALUE = "InvalidFlagValue"
    INVALID_IMAGE = "InvalidImage"
    INVALID_OVERRIDE = "InvalidOverride"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why what is requested of a component cannot be rendered; its Deployment stays as it is."""

    reason: Reason
    component: Component | None
    """None if it concerns all of them."""
    message: str
    field: str = ""
    """The flag, or the field of the request, that is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentRequest:
    """How one component is to be, where it is to differ from the bundle."""

    enabled: bool = True
    replicas: int | None = None
    autoscaled: bool = False
    """Whether another controller sets the number of replicas."""
    image: str = ""
    """A full reference that replaces the one of the bundle."""
    flags: Mapping[str, FlagValue] = field(default_factory=dict)
    """By name without dashes, merged over the defaults; None removes a default."""
    unvalidated_args: Sequence[str] = ()
    """Appended as they are."""
    config: JsonObject | None = None
    """The configuration file, put into a ConfigMap and named by ``--config``."""
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    env: Sequence[JsonObject] = ()
    resources: JsonObject | None = None
    strategy: JsonObject | None = None
    pod_security_context: JsonObject | None = None
    container_security_context: JsonObject | None = None
    pod_labels: Mapping[str, str] = field(default_factory=dict)
    pod_annotations: Mapping[str, str] = field(default_factory=dict)
    volumes: Sequence[JsonObject] = ()
    volume_mounts: Sequence[JsonObject] = ()
    node_selector: Mapping[str, str] | None = None
    affinity: JsonObject | None = None
    tolerations: Sequence[JsonObject] = ()
    topology_spread_constraints: Sequence[JsonObject] = ()
    priority_class_name: str = ""
    runtime_class_name: str = ""
    host_network: bool | None = None
    host_aliases: Sequence[JsonObject] = ()
    dns_policy: str = ""
    dns_config: JsonObject | None = None
    extra_containers: Sequence[JsonObject] = ()
    enable_service_links: bool | None = None
    liveness_probe: JsonObject | None = None
    """Merged over the probe of the bundle; so is `readiness_probe`."""
    readiness_probe: JsonObject | None = None
    deployment_annotations: Mapping[str, str] = field(default_factory=dict)
    service_labels: Mapping[str, str] = field(default_factory=dict)
    service_annotations: Mapping[str, str] = field(default_factory=dict)
    service_account: JsonObject | None = None
    """``create``, ``name``, ``annotations``, ``labels``, ``automountServiceAccountToken``, as the
    chart's."""
    pod_disruption_budget: JsonObject | None = None
    """``minAvailable``, ``maxUnavailable``, ``unhealthyPodEvictionPolicy``; {} for the default."""
    network_policy: JsonObject | None = None
    """``ingress``, ``egress``; {} for the default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRequest:
    """What concerns only the webhook and its registrations."""

    timeout_seconds: int | None = None
    secure_port: int | None = None
    validating_namespace_selector: JsonObject | None = None
    mutating_namespace_selector: JsonObject | None = None
    url_host: str = ""
    service_type: str = ""
    load_balancer_ip: str = ""
    ip_family_policy: str = ""
    ip_families: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """Where images come from."""

    registry: str = ""
    """Replaces the registry of every image, such as ``mirror.example.com/jetstack``."""
    mirrors: Mapping[str, str] = field(default_factory=dict)
    """Prefixes of references and what replaces them; the longest that fits counts."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """``sha256:…`` by component, or ``acmesolver``."""
    tag_suffix: str = ""
    """Appended to the tags of all images, never to a digest."""
    pull_policy: str = ""
    pull_secrets: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsProfile:
    """Which TLS the servers of all components speak, where they can be told."""

    min_version: str = ""
    """Such as ``VersionTLS12``."""
    cipher_suites: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PullSecret:
    """A Secret that is copied to the install namespace."""

    name: str
    source_namespace: str = ""
    """Empty if it is not copied, and only has to be there."""
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradePolicy:
    """What may change the version, and how."""

    automatic: bool = True
    """Whether a new default version is installed if the custom resource names none."""
    allow_skip: bool = False
    """Whether minor versions may be left out."""
    allow_downgrade: bool = False
    rollback: bool = False
    """Whether the last good version is restored if a step misses its deadline."""
    step_seconds: float = 300.0
    """How long a step may take before the installation counts as degraded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionPolicy:
    """What goes with the custom resource."""

    delete_crds: bool = False
    delete_namespace: bool = False
    keep_namespace: bool = False
    """Whether the namespace stays even if it is ours and empty."""
    force: bool = False
    """Delete the definitions though Certificates exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallRequest:
    """A wanted installation."""

    version: str
    """With the leading ``v``; what the default is was decided by the adapter."""
    version_is_default: bool = False
    namespace: str = "cert-manager"
    leader_election_namespace: str = ""
    """Empty for the one the bundle names."""
    naming: Naming = Naming.RELEASE
    management: Management = Management.MANAGED
    adopt: bool = False
    """Whether objects of an installation by others are taken over."""
    components: Mapping[Component, ComponentRequest] = field(default_factory=dict)
    config_map_watcher: ComponentRequest | None = None
    """What restarts workloads when their ConfigMaps change; only 0.10 has it."""
    webhook: WebhookRequest = WebhookRequest()
    images: Images = Images()
    pull_secret: PullSecret | None = None
    log_level: int | None = None
    common_labels: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    """For all components, below their own."""
    tolerations: Sequence[JsonObject] = ()
    priority_class_name: str = ""
    proxy: Mapping[str, str] = field(default_factory=dict)
    """``HTTP_PROXY``, ``HTTPS_PROXY`` and ``NO_PROXY``."""
    trusted_ca_config_map: str = ""
    """A ConfigMap of the install namespace whose key ``ca-bundle.crt`` is trusted."""
    tls: TlsProfile | None = None
    metrics: bool = True
    """Whether metrics are served and announced; where a version cannot be told, they are served."""
    service_monitor: JsonObject | None = None
    """What the chart knows: ``interval``, ``labels``, ``endpointAdditionalProperties`` and so on;
    {} for the default."""
    pod_monitor: JsonObject | None = None
    alerts: JsonObject | None = None
    """``labels``, ``namespace`` of a PrometheusRule about expiring certificates; {} for the
    default."""
    runtime_class_name: str = ""
    revision_history_limit: int | None = None
    host_users: bool | None = None
    high_availability: bool = False
    """Whether components that say nothing about it get several replicas and a
    PodDisruptionBudget."""
    aggregate_cluster_roles: bool = True
    """Whether the roles for users are added to ``view``, ``edit`` and ``admin``."""
    auto_approval: bool = True
    """Whether cert-manager approves requests itself."""
    approve_signer_names: Sequence[str] = ()
    """What it may approve; empty for all of its own issuers."""
    upgrade: UpgradePolicy = UpgradePolicy()
    deletion: DeletionPolicy = DeletionPolicy()

    def component(self, component: Component) -> ComponentRequest:
        """Return what is wanted of a component."""
        return self.components.get(component, _AS_RELEASED)


_AS_RELEASED: Final = ComponentRequest()
