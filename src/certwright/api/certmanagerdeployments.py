"""``operators.redhat.io/v1alpha1``: an installation of cert-manager, as cmd-operator describes it.

Group, names and fields are those of that operator, so its custom resources work unchanged, and what
its status told is told in the same fields. All else in the spec is optional, and absent it changes
nothing. The only object that counts is called ``cluster``.

Optional fields are unset rather than defaulted: what the default is depends on the operator, and on
the version of cert-manager.
"""

from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, field

from certwright.api.certmanagercomponents import (
    CainjectorSpec,
    ComponentSpec,
    FreeForm,
    TlsSpec,
    WebhookSpec,
)
from certwright.kube import (
    Column,
    Object,
    atomic,
    custom_resource,
    list_map,
    marked,
    preserve_unknown,
)
from certwright.kube.schemas.markers import DurationText, rule

GROUP: Final = "operators.redhat.io"
VERSION: Final = "v1alpha1"
NAME: Final = "cluster"
"""The name of the one object that is acted on."""

_CONDITION: Final = '.status.conditions[?(@.type=="%s")].status'
_COMPONENTS: Final = "['controller', 'webhook', 'cainjector']"


def _text(text: str) -> Meta:
    return Meta(description=text)


Namespace: TypeAlias = Annotated[
    str, Meta(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)
]
ReleaseName: TypeAlias = Annotated[
    str,
    Meta(pattern=r"^v1\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]{1,40})?$", max_length=63),
]
"""What follows a dash names a bundle that was made of a changed release."""
Flags: TypeAlias = Annotated[
    dict[str, Any] | None,
    preserve_unknown(),
    _text("Values by flag, without dashes; null removes a default."),
]


class ArgOverrides(Struct, omit_defaults=True, kw_only=True):
    """Flags per component, merged over the defaults."""

    controller: Flags | UnsetType = UNSET
    webhook: Flags | UnsetType = UNSET
    cainjector: Flags | UnsetType = UNSET


class UnvalidatedArgs(Struct, omit_defaults=True, kw_only=True):
    """Arguments per component, appended as they are."""

    controller: Annotated[list[str], Meta(max_length=100)] = field(default_factory=list)
    webhook: Annotated[list[str], Meta(max_length=100)] = field(default_factory=list)
    cainjector: Annotated[list[str], Meta(max_length=100)] = field(default_factory=list)


class DangerZone(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """Ways around what the operator would do, for those who know why."""

    image_overrides: Annotated[
        dict[str, Annotated[str, Meta(max_length=1024)]],
        _text("Full image references by component: controller, webhook or cainjector."),
        Meta(max_length=3),
        rule(
            f"self.all(name, name in {_COMPONENTS})",
            message="keys are controller, webhook and cainjector",
        ),
    ] = field(default_factory=dict)
    container_arg_overrides: Annotated[
        ArgOverrides | UnsetType, _text("Flags of the components, merged over the defaults.")
    ] = UNSET
    unvalidated_args: Annotated[
        UnvalidatedArgs | UnsetType,
        _text("Arguments that are appended as they are; a wrong one stops the component."),
    ] = UNSET


class ImagesSpec(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """Where images come from."""

    registry: Annotated[str | UnsetType, _text("Replaces the registry of every image.")] = UNSET
    mirrors: Annotated[
        dict[str, str],
        _text("Prefixes of references and what replaces them; the longest that fits counts."),
    ] = field(default_factory=dict)
    digests: Annotated[dict[str, str], _text("sha256:… by component, or acmesolver.")] = field(
        default_factory=dict
    )
    pull_policy: Annotated[
        Literal["Always", "IfNotPresent", "Never"] | UnsetType, _text("When images are pulled.")
    ] = UNSET
    pull_secrets: Annotated[list[str], _text("Secrets with which images are pulled.")] = field(
        default_factory=list
    )


class ProxySpec(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """Proxies of the components."""

    http_proxy: Annotated[str | UnsetType, _text("HTTP_PROXY.")] = UNSET
    https_proxy: Annotated[str | UnsetType, _text("HTTPS_PROXY.")] = UNSET
    no_proxy: Annotated[str | UnsetType, _text("NO_PROXY.")] = UNSET


class UpgradeSpec(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """How the version may change."""

    allow_skip: Annotated[bool | UnsetType, _text("Whether minor versions may be left out.")] = (
        UNSET
    )
    allow_downgrade: Annotated[
        bool | UnsetType, _text("Whether an older version may follow a newer one.")
    ] = UNSET
    on_failure: Annotated[
        Literal["Stop", "Rollback"] | UnsetType,
        _text("What happens when a step takes too long; Stop if unset."),
    ] = UNSET
    step_timeout: Annotated[
        DurationText | UnsetType, _text("How long a step may take; 5m if unset.")
    ] = UNSET


class DeletionPolicySpec(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """What goes with this object."""

    crds: Annotated[
        Literal["Retain", "Delete"] | UnsetType,
        _text("Whether cert-manager's definitions go, and all Certificates; Retain if unset."),
    ] = UNSET
    namespace: Annotated[
        Literal["IfEmpty", "Delete"] | UnsetType,
        _text(
            "Whether a namespace that this operator created goes though it holds objects of"
            " others; IfEmpty if unset."
        ),
    ] = UNSET
    force: Annotated[
        bool | UnsetType, _text("Delete the definitions though Certificates exist.")
    ] = UNSET


class CertManagerDeploymentSpec(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """Which cert-manager is wanted, and how it is configured."""

    version: Annotated[
        ReleaseName | UnsetType,
        _text("The version of cert-manager, such as v1.21.2; the operator's default if unset."),
    ] = UNSET
    danger_zone: Annotated[DangerZone | UnsetType, _text("Ways around the defaults.")] = UNSET
    naming_profile: Annotated[
        Literal["Release", "Legacy"] | UnsetType,
        _text(
            "Names and selectors: those of cert-manager's release, or those of cmd-operator;"
            " Release if unset, unless the others are there."
        ),
    ] = UNSET
    namespace: Annotated[
        Namespace | UnsetType, _text("Where cert-manager runs; cert-manager if unset.")
    ] = UNSET
    leader_election_namespace: Annotated[
        Namespace | UnsetType, _text("Where its Leases are; as in the release if unset.")
    ] = UNSET
    management_state: Annotated[
        Literal["Managed", "Unmanaged", "Removed"] | UnsetType,
        _text("Whether the installation is looked after, left alone, or removed."),
    ] = UNSET
    adopt: Annotated[
        bool | UnsetType, _text("Whether objects that others installed are taken over.")
    ] = UNSET
    upgrade_policy: Annotated[
        Literal["Automatic", "Manual"] | UnsetType,
        _text("Whether a new default version is installed where no version is given."),
    ] = UNSET
    upgrade: Annotated[UpgradeSpec | UnsetType, _text("How the version may change.")] = UNSET
    deletion_policy: Annotated[
        DeletionPolicySpec | UnsetType, _text("What goes with this object.")
    ] = UNSET
    controller: Annotated[ComponentSpec | UnsetType, _text("The controller.")] = UNSET
    webhook: Annotated[WebhookSpec | UnsetType, _text("The webhook.")] = UNSET
    cainjector: Annotated[CainjectorSpec | UnsetType, _text("The CA injector.")] = UNSET
    images: Annotated[ImagesSpec | UnsetType, _text("Where images come from.")] = UNSET
    log_level: Annotated[Annotated[int, Meta(ge=0, le=10)] | UnsetType, _text("--v of all.")] = (
        UNSET
    )
    common_labels: Annotated[dict[str, str], _text("Labels of all objects.")] = field(
        default_factory=dict
    )
    node_selector: Annotated[dict[str, str], _text("For all, below their own.")] = field(
        default_factory=dict
    )
    tolerations: Annotated[list[FreeForm], atomic(), _text("For all components.")] = field(
        default_factory=list
    )
    priority_class_name: Annotated[str | UnsetType, _text("For all components.")] = UNSET
    proxy: Annotated[ProxySpec | UnsetType, _text("Instead of the operator's own.")] = UNSET
    trusted_ca_config_map: Annotated[
        str | UnsetType,
        _text("A ConfigMap of the namespace whose key ca-bundle.crt is trusted."),
    ] = field(default=UNSET, name="trustedCAConfigMap")
    service_monitor: Annotated[
        FreeForm | UnsetType, _text("A ServiceMonitor for Prometheus; {} for the default.")
    ] = UNSET
    pod_monitor: Annotated[
        FreeForm | UnsetType, _text("A PodMonitor for Prometheus; {} for the default.")
    ] = UNSET
    alerts: Annotated[
        FreeForm | UnsetType, _text("A PrometheusRule about certificates; {} for the default.")
    ] = UNSET
    metrics: Annotated[bool | UnsetType, _text("Whether metrics are announced.")] = UNSET
    tls: Annotated[TlsSpec | UnsetType, _text("Which TLS all components speak.")] = UNSET
    high_availability: Annotated[
        bool | UnsetType,
        _text("Several replicas and a PodDisruptionBudget for all that say nothing about it."),
    ] = UNSET
    runtime_class_name: Annotated[str | UnsetType, _text("For all components.")] = UNSET
    revision_history_limit: Annotated[
        Annotated[int, Meta(ge=0)] | UnsetType, _text("How many ReplicaSets are kept.")
    ] = UNSET
    host_users: Annotated[bool | UnsetType, _text("Of pods: whose users they have.")] = UNSET
    aggregate_cluster_roles: Annotated[
        bool | UnsetType, _text("Whether roles for users extend view, edit and admin.")
    ] = UNSET
    auto_approval: Annotated[
        bool | UnsetType, _text("Whether cert-manager approves requests itself.")
    ] = UNSET
    approve_signer_names: Annotated[
        list[str], atomic(), _text("What it may approve; all of its own issuers if empty.")
    ] = field(default_factory=list)


class DeploymentCondition(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """One aspect of the state."""

    type: Annotated[str, _text("What it is about.")]
    status: Annotated[str, _text("True, False or Unknown.")]
    last_update_time: Annotated[datetime | UnsetType, _text("When it was written.")] = UNSET
    last_transition_time: Annotated[datetime | UnsetType, _text("When the status changed.")] = UNSET
    reason: Annotated[str, _text("Why, in one word for programs.")] = ""
    message: Annotated[str, _text("Why, for people.")] = ""


class WorkloadConditions(Struct, rename="camel", kw_only=True):
    """The conditions of a Deployment, as it has them."""

    namespaced_name: Annotated[str, _text("Namespace and name.")] = ""
    conditions: Annotated[list[FreeForm], _text("As the Deployment has them.")] = field(
        default_factory=list
    )


class DefinitionConditions(Struct, kw_only=True):
    """The conditions of a CustomResourceDefinition, as it has them."""

    name: Annotated[str, _text("Its name.")] = ""
    conditions: Annotated[list[FreeForm], _text("As the definition has them.")] = field(
        default_factory=list
    )


class ComponentStatus(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """How a component runs."""

    name: Annotated[str, _text("controller, cainjector or webhook.")] = ""
    desired_replicas: Annotated[int, _text("How many pods there should be.")] = 0
    updated_replicas: Annotated[int, _text("How many are of the wanted template.")] = 0
    ready_replicas: Annotated[int, _text("How many are ready.")] = 0
    available_replicas: Annotated[int, _text("How many are available.")] = 0
    image: Annotated[str, _text("The image of its pods.")] = ""
    version: Annotated[str, _text("The version that is rolled out.")] = ""
    args_hash: Annotated[str, _text("A hash of its arguments.")] = ""


class StepStatus(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """What is being waited for."""

    name: Annotated[str, _text("The step.")] = ""
    target_version: Annotated[str, _text("The version it leads to.")] = ""
    since: Annotated[datetime | UnsetType, _text("When it began.")] = UNSET
    from_versions: Annotated[list[str], _text("Other versions whose pods may still run.")] = []


@marked(preserve_unknown())
class CertManagerDeploymentStatus(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """What became of the installation."""

    version: Annotated[str, _text("The version that is wanted.")] = ""
    phase: Annotated[str, _text("Running, or Pending.")] = ""
    conditions: Annotated[
        list[DeploymentCondition],
        list_map("type"),
        _text(
            "DeploymentsAreReady, CRDsAreReady, Available, Progressing, Degraded and Upgradeable."
        ),
    ] = field(default_factory=list)
    deployment_conditions: Annotated[
        list[WorkloadConditions], _text("What the Deployments say.")
    ] = field(default_factory=list)
    crd_conditions: Annotated[list[DefinitionConditions], _text("What the definitions say.")] = (
        field(default_factory=list)
    )
    observed_generation: Annotated[int, _text("The generation this is about.")] = 0
    installed_version: Annotated[
        str, _text("The version all components run; empty while there is none.")
    ] = ""
    components: Annotated[list[ComponentStatus], _text("How the components run.")] = field(
        default_factory=list
    )
    failed_version: Annotated[
        str, _text("The version that did not come up and was rolled back.")
    ] = ""
    step: Annotated[StepStatus | UnsetType, _text("The step that is not finished.")] = UNSET
    inventory: Annotated[
        list[str], _text("Every object that is kept: apiVersion/kind/namespace/name.")
    ] = field(default_factory=list)


@custom_resource(
    GROUP,
    VERSION,
    scope="Cluster",
    short_names=["cmd"],
    categories=["cert-manager"],
    columns=[
        Column("Version", ".status.version", "string", "The version that is wanted."),
        Column("Phase", ".status.phase", "string", "Running, or Pending."),
        Column("Ready", _CONDITION % "Available", "string", "Whether certificates can be issued."),
        Column("Age", ".metadata.creationTimestamp", "date", "How long it has existed."),
    ],
)
@marked(
    rule(
        f"self.metadata.name == '{NAME}'",
        message=f"the only CertManagerDeployment is called {NAME}",
    )
)
class CertManagerDeployment(Object):
    """An installation of cert-manager."""

    spec: CertManagerDeploymentSpec = field(default_factory=CertManagerDeploymentSpec)
    status: CertManagerDeploymentStatus = field(default_factory=CertManagerDeploymentStatus)
