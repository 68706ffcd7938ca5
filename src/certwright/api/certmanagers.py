"""``operator.ibm.com/v1alpha1``: an installation of cert-manager, as IBM's operator described it.

Group, names and fields are those of that operator, so its custom resources work unchanged; fields
of its later versions are accepted, and unknown ones are kept. ``certManagerStatus`` has the texts
its users know. All else in the status is ours.

Optional fields are unset rather than defaulted: whether the webhook is wanted by default depends on
the version of cert-manager.
"""

from datetime import datetime
from typing import Annotated, Any, Final, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, field

from certwright.kube import Column, Object, custom_resource, list_map, marked, preserve_unknown

GROUP: Final = "operator.ibm.com"
VERSION: Final = "v1alpha1"

_Namespace: TypeAlias = Annotated[
    str, Meta(pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$", max_length=63)
]
_ObjectName: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$",
        max_length=253,
    ),
]
_NoSpace: TypeAlias = Annotated[str, Meta(pattern=r"^\S*$", max_length=512)]


def _text(text: str) -> Meta:
    return Meta(description=text)


class PullSecretSource(Struct, omit_defaults=True, kw_only=True):
    """A Secret with which images are pulled, copied to where cert-manager runs."""

    name: Annotated[
        _ObjectName | UnsetType,
        _text("Its name, there and here; 'image-pull-secret' if empty."),
    ] = UNSET
    namespace: Annotated[
        _Namespace | UnsetType,
        _text("The namespace it is copied from; without one it is not copied."),
    ] = UNSET


@marked(preserve_unknown())
class ResourceRequirements(Struct, omit_defaults=True, kw_only=True):
    """Limits and requests of a container; each replaces the default as a whole."""

    limits: Annotated[dict[str, Any] | UnsetType | None, preserve_unknown(), _text("At most.")] = (
        UNSET
    )
    requests: Annotated[
        dict[str, Any] | UnsetType | None, preserve_unknown(), _text("At least.")
    ] = UNSET


@marked(preserve_unknown())
class ComponentSettings(Struct, omit_defaults=True, kw_only=True):
    """Settings of one of the programs."""

    resources: Annotated[ResourceRequirements | UnsetType, _text("What its container gets.")] = (
        UNSET
    )


class RefreshedCertificate(Struct, rename="camel", kw_only=True):
    """A certificate authority whose certificates are issued anew when it changes."""

    cert_name: Annotated[str, _text("The name of its Certificate.")]
    namespace: Annotated[str, _text("The namespace of its Certificate.")]


@marked(preserve_unknown())
class LicenseAcceptance(Struct, omit_defaults=True, kw_only=True):
    """Accepted for compatibility; nothing depends on it."""

    accept: Annotated[bool | UnsetType, _text("Not used.")] = UNSET
    use: Annotated[str | UnsetType, _text("Not used.")] = UNSET
    license: Annotated[str | UnsetType, _text("Not used.")] = UNSET
    key: Annotated[str | UnsetType, _text("Not used.")] = UNSET


@marked(preserve_unknown())
class CertManagerSpec(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """Which cert-manager to install, and how."""

    version: Annotated[
        _NoSpace | UnsetType,
        _text("The version of cert-manager, such as v1.21.2. Without one 0.10 is installed."),
    ] = UNSET
    image_registry: Annotated[
        _NoSpace | UnsetType,
        _text("What stands before the names of images; 'quay.io' if empty."),
    ] = UNSET
    image_post_fix: Annotated[
        _NoSpace | UnsetType, _text("Appended to the tags of images, never to a digest.")
    ] = UNSET
    pull_secret: Annotated[
        PullSecretSource | UnsetType, _text("The Secret with which images are pulled.")
    ] = UNSET
    enable_webhook: Annotated[
        bool | UnsetType,
        _text("Whether the webhook is installed. Absent means no for 0.10, and yes for others."),
    ] = UNSET
    resource_namespace: Annotated[
        _Namespace | UnsetType,
        _text("Where ClusterIssuers look for Secrets; 'kube-system' if empty."),
    ] = UNSET
    disable_host_network: Annotated[
        bool | UnsetType | None,
        _text("If false, the webhook runs in the network of its node. Absent means true."),
    ] = UNSET
    cert_manager_controller: Annotated[ComponentSettings | UnsetType, _text("The controller.")] = (
        UNSET
    )
    cert_manager_webhook: Annotated[ComponentSettings | UnsetType, _text("The webhook.")] = UNSET
    cert_manager_ca_injector: Annotated[
        ComponentSettings | UnsetType, _text("What injects certificate authorities.")
    ] = field(default=UNSET, name="certManagerCAInjector")
    config_map_watcher: Annotated[
        ComponentSettings | UnsetType, _text("What restarts workloads with their ConfigMaps.")
    ] = UNSET
    enable_cert_refresh: Annotated[
        bool | UnsetType | None,
        _text(
            "Whether ca-refresh has certificates issued anew with their authority; yes if absent."
        ),
    ] = UNSET
    refresh_certs_based_on_ca: Annotated[
        list[RefreshedCertificate] | UnsetType, _text("The authorities that it looks at.")
    ] = field(default=UNSET, name="refreshCertsBasedOnCA")
    labels: Annotated[
        dict[str, str] | UnsetType, _text("Labels for the objects of cert-manager.")
    ] = UNSET
    license: Annotated[LicenseAcceptance | UnsetType, _text("Not used.")] = UNSET
    enable_instana_metric_collection: Annotated[
        bool | UnsetType, _text("Whether pods are told the address of their node.")
    ] = UNSET


class CertManagerCondition(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """One aspect of the state."""

    type: Annotated[str, _text("What it is about.")]
    status: Annotated[str, _text("True, False or Unknown.")]
    reason: Annotated[str, _text("Why, in one word for programs.")] = ""
    message: Annotated[str, _text("Why, for people.")] = ""
    last_transition_time: Annotated[datetime | UnsetType, _text("When the status changed.")] = UNSET
    observed_generation: Annotated[int, _text("The generation it was found for.")] = 0


class DeploymentSummary(Struct, frozen=True, kw_only=True):
    """A Deployment of the installation."""

    name: Annotated[str, _text("Its name.")]
    namespace: Annotated[str, _text("Its namespace.")]
    ready: Annotated[int, _text("How many pods are available.")] = 0
    desired: Annotated[int, _text("How many pods there should be.")] = 0
    image: Annotated[str, _text("The image of its first container.")] = ""


class UnfinishedStep(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """A step of an installation that has not come to its end."""

    step: Annotated[str, _text("Which step.")]
    version: Annotated[str, _text("Towards which version.")]
    since: Annotated[datetime, _text("Since when.")]
    from_versions: Annotated[list[str], _text("Other versions whose pods may still run.")] = []


@marked(preserve_unknown())
class CertManagerStatus(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """What became of the installation."""

    cert_manager_status: Annotated[str, _text("What became of it, in one sentence.")] = ""
    observed_generation: Annotated[int, _text("The generation that was looked at last.")] = 0
    conditions: Annotated[
        list[CertManagerCondition],
        list_map("type"),
        _text(
            "PrereqsMet, CRDsEstablished, PullSecretSynced, WebhookReady, Degraded, Conflict, and"
            " Ready, which sums up."
        ),
    ] = field(default_factory=list)
    version: Annotated[str, _text("The version of cert-manager that is wanted.")] = ""
    installed_version: Annotated[str, _text("The version of cert-manager that works.")] = ""
    phase: Annotated[str, _text("Pending, Running, Failed, Conflict or Deleting.")] = ""
    progress: Annotated[UnfinishedStep | UnsetType, _text("What is under way.")] = UNSET
    deployments: Annotated[list[DeploymentSummary], _text("Its Deployments.")] = field(
        default_factory=list
    )
    managed_resources: Annotated[int, _text("How many objects belong to it.")] = 0
    inventory: Annotated[
        list[str], _text("Every object that belongs to it, or is still to be deleted.")
    ] = field(default_factory=list)


@custom_resource(
    GROUP,
    VERSION,
    kind="CertManager",
    scope="Cluster",
    columns=[
        Column("Version", ".status.version", "string", "The version of cert-manager."),
        Column(
            "Ready",
            '.status.conditions[?(@.type=="Ready")].status',
            "string",
            "Whether it works.",
        ),
        Column("Status", ".status.certManagerStatus", "string", "What became of it."),
        Column("Age", ".metadata.creationTimestamp", "date", "How long it has existed."),
    ],
)
class CertManagerInstallation(Object):
    """An installation of cert-manager; the one named 'default' counts."""

    spec: CertManagerSpec = field(default_factory=CertManagerSpec)
    status: CertManagerStatus = field(default_factory=CertManagerStatus)
