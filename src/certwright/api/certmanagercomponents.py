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
