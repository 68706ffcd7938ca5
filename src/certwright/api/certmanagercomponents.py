"""How the components of cert-manager are to be: a part of ``operators.redhat.io/v1alpha1``."""

from typing import Annotated, Any, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, field

from certwright.kube import atomic, preserve_unknown


def _text(text: str) -> Meta:
    return Meta(description=text)


FreeForm: TypeAlias = Annotated[dict[str, Any], preserve_unknown()]
"""A part of a Kubernetes object; its own kind says what it may hold."""


class ComponentSpec(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """How one component is to be, where it is to differ from the release."""

    replicas: Annotated[Annotated[int, Meta(ge=0, le=100)] | UnsetType, _text("How many pods.")] = (
        UNSET
    )
    autoscaled: Annotated[
        bool | UnsetType, _text("Whether another controller sets the number of replicas.")
    ] = UNSET
    config: Annotated[FreeForm | UnsetType, _text("The configuration file of the component.")] = (
        UNSET
    )
    feature_gates: Annotated[dict[str, bool], _text("Feature gates by name.")] = field(
        default_factory=dict
    )
    env: Annotated[list[FreeForm], atomic(), _text("Further environment variables.")] = field(
        default_factory=list
    )
    resources: Annotated[FreeForm | UnsetType, _text("Requests and limits.")] = UNSET
    strategy: Annotated[FreeForm | UnsetType, _text("How pods are replaced.")] = UNSET
    pod_security_context: Annotated[FreeForm | UnsetType, _text("Of the pod.")] = UNSET
    container_security_context: Annotated[FreeForm | UnsetType, _text("Of its container.")] = UNSET
    pod_labels: Annotated[dict[str, str], _text("Further labels of pods.")] = field(
        default_factory=dict
    )
    pod_annotations: Annotated[dict[str, str], _text("Further annotations of pods.")] = field(
        default_factory=dict
    )
    volumes: Annotated[list[FreeForm], atomic(), _text("Further volumes.")] = field(
        default_factory=list
    )
    volume_mounts: Annotated[list[FreeForm], atomic(), _text("Where they are mounted.")] = field(
        default_factory=list
    )
    node_selector: Annotated[dict[str, str] | UnsetType, _text("Labels that nodes must have.")] = (
        UNSET
    )
    affinity: Annotated[FreeForm | UnsetType, _text("Preferences for nodes.")] = UNSET
    tolerations: Annotated[list[FreeForm], atomic(), _text("Taints that pods bear.")] = field(
        default_factory=list
    )
    topology_spread_constraints: Annotated[
        list[FreeForm], atomic(), _text("How pods are spread.")
    ] = field(default_factory=list)
    priority_class_name: Annotated[str | UnsetType, _text("The priority of pods.")] = UNSET
    runtime_class_name: Annotated[str | UnsetType, _text("What runs the pods.")] = UNSET
    host_network: Annotated[
        bool | UnsetType, _text("Whether pods use the network of their node.")
    ] = UNSET
    host_aliases: Annotated[list[FreeForm], atomic(), _text("Further names of hosts.")] = field(
        default_factory=list
    )
    dns_policy: Annotated[str | UnsetType, _text("Where pods look up names.")] = UNSET
    dns_config: Annotated[FreeForm | UnsetType, _text("Servers and options for that.")] = UNSET
    extra_containers: Annotated[list[FreeForm], atomic(), _text("Further containers.")] = field(
        default_factory=list
    )
    enable_service_links: Annotated[
        bool | UnsetType, _text("Whether Services are environment variables.")
    ] = UNSET
    liveness_probe: Annotated[
        FreeForm | UnsetType, _text("Merged over that of the release; enabled: false for none.")
    ] = UNSET
    readiness_probe: Annotated[FreeForm | UnsetType, _text("The same.")] = UNSET
    deployment_annotations: Annotated[
        dict[str, str], _text("Further annotations of its Deployment.")
    ] = field(default_factory=dict)
    service_annotations: Annotated[dict[str, str], _text("Further annotations of its Service.")] = (
        field(default_factory=dict)
    )
    service_labels: Annotated[dict[str, str], _text("Further labels of its Service.")] = field(
        default_factory=dict
    )
    service_account: Annotated[
        FreeForm | UnsetType,
        _text("name, annotations, labels and automountServiceAccountToken of its account."),
    ] = UNSET
    pod_disruption_budget: Annotated[
        FreeForm | UnsetType,
        _text("minAvailable, maxUnavailable, unhealthyPodEvictionPolicy; {} for the default."),
    ] = UNSET
    network_policy: Annotated[
        FreeForm | UnsetType, _text("ingress and egress; {} for the default.")
    ] = UNSET


class CainjectorSpec(ComponentSpec, rename="camel", omit_defaults=True, kw_only=True):
    """How the CA injector is to be."""

    enabled: Annotated[
        bool | UnsetType,
        _text("Whether there is one; without it, others have to inject authorities."),
    ] = UNSET


class WebhookSpec(ComponentSpec, rename="camel", omit_defaults=True, kw_only=True):
    """How the webhook is to be, and its registrations."""

    timeout_seconds: Annotated[
        Annotated[int, Meta(ge=1, le=30)] | UnsetType,
        _text("How long the API server waits for it."),
    ] = UNSET
    secure_port: Annotated[Annotated[int, Meta(ge=1, le=65535)] | UnsetType, _text("Its port.")] = (
        UNSET
    )
    validating_namespace_selector: Annotated[
        FreeForm | UnsetType, _text("In which namespaces objects are validated.")
    ] = UNSET
    mutating_namespace_selector: Annotated[
        FreeForm | UnsetType, _text("In which namespaces objects are defaulted.")
    ] = UNSET
    url_host: Annotated[str | UnsetType, _text("Where it is reached, if not by its Service.")] = (
        UNSET
    )
    service_type: Annotated[str | UnsetType, _text("The type of its Service.")] = UNSET
    load_balancer_ip: Annotated[str | UnsetType, _text("The address of its load balancer.")] = (
        field(default=UNSET, name="loadBalancerIP")
    )
    ip_family_policy: Annotated[str | UnsetType, _text("The IP families of its Service.")] = UNSET
    ip_families: Annotated[list[str], atomic(), _text("IPv4, IPv6, in their order.")] = field(
        default_factory=list
    )


class TlsSpec(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """Which TLS the servers of all components speak."""

    min_version: Annotated[str | UnsetType, _text("Such as VersionTLS12.")] = UNSET
    cipher_suites: Annotated[list[str], atomic(), _text("By their names in Go.")] = field(
        default_factory=list
    )
