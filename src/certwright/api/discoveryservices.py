"""``operator.marin3r.3scale.net/v1alpha1``: an xDS control plane and its certificates.

Group, names and fields are those of marin3r, so its custom resources work unchanged. The kind
DiscoveryService is cluster-scoped, as it was up to v0.7; the spellings and the status fields of
later versions are accepted beside the older ones. Where a field has two names, both are fields
here, one of them called ``old_…``: `certwright.api.discoverydefaults` tells which of them counts,
what is the default, and which names are deprecated.

Optional fields are unset rather than defaulted: the server must not write into the objects of
clients that compare what they sent with what they get.
"""

from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, field

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

GROUP: Final = "operator.marin3r.3scale.net"
VERSION: Final = "v1alpha1"

NEEDS_RENEWAL: Final = "CertificateNeedsRenewal"
"""The condition of a certificate that is to be issued anew, by its age or because a user set it."""
READY: Final = "Ready"
DEGRADED: Final = "Degraded"
CONFLICT: Final = "Conflict"

_CONDITION: Final = '.status.conditions[?(@.type=="%s")].status'
_NAME: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"


def _text(text: str) -> Meta:
    return Meta(description=text)


FreeForm: TypeAlias = Annotated[dict[str, Any], preserve_unknown()]
"""A part of a Kubernetes object; its own kind says what it may hold."""
NamespaceName: TypeAlias = Annotated[
    str, Meta(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)
]
OptionalNamespace: TypeAlias = Annotated[
    str, Meta(pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$", max_length=63)
]
"""Empty where other objects leave it out."""
ObjectName: TypeAlias = Annotated[str, Meta(pattern=_NAME, max_length=253)]
Port: TypeAlias = Annotated[int, Meta(ge=1, le=65535)]
RotationPhase: TypeAlias = Literal["Stable", "Prepared", "Distributed", "Activated", "Retired"]


class CertificateSettings(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """A certificate of the control plane."""

    secret_name: Annotated[ObjectName | UnsetType, _text("The Secret that holds it.")] = UNSET
    duration: Annotated[DurationText | UnsetType, _text("How long it is valid, such as 2160h.")] = (
        UNSET
    )


class PkiSettings(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """The certificate authority, and what it signs."""

    root_certificate_authority: Annotated[
        CertificateSettings | UnsetType, _text("The authority; 26280h if no duration is set.")
    ] = UNSET
    server_certificate: Annotated[
        CertificateSettings | UnsetType,
        _text("The certificate of the control plane; 2160h if no duration is set."),
    ] = UNSET
    propagation: Annotated[
        DurationText | UnsetType,
        _text(
            "While the authority is replaced: how long a change of a Secret may take to reach all"
            " that mount it, where nothing shows that it has. The operator's setting if unset."
        ),
    ] = UNSET


class ServiceSettings(Struct, omit_defaults=True, kw_only=True):
    """The Service of the control plane."""

    name: Annotated[ObjectName | UnsetType, _text("Its name; marin3r-<name> if unset.")] = UNSET
    type: Annotated[
        Literal["ClusterIP", "LoadBalancer", "Headless"] | UnsetType,
        _text("Its type; ClusterIP if unset."),
    ] = UNSET


class InjectionSettings(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """The webhook that injects sidecars."""

    failure_policy: Annotated[
        Literal["Fail", "Ignore"] | UnsetType,
        _text("What happens to labelled Pods while the webhook cannot be reached; Fail if unset."),
    ] = UNSET


class DiscoveryServiceSpec(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """Where the control plane runs, and which namespaces it serves."""

    discovery_service_namespace: Annotated[
        NamespaceName, _text("The namespace of the control plane and of its certificates.")
    ]
    enabled_namespaces: Annotated[
        list[NamespaceName],
        _text("The namespaces whose labelled Pods get a sidecar."),
        Meta(max_length=1000),
    ] = field(default_factory=list)
    image: Annotated[
        Annotated[str, Meta(max_length=1024)] | UnsetType,
        _text("The image of the control plane; the operator's own if unset."),
    ] = UNSET
    debug: Annotated[bool | UnsetType, _text("Whether it logs more; adds --debug.")] = UNSET
    resources: Annotated[FreeForm | UnsetType, _text("Requests and limits of its container.")] = (
        UNSET
    )
    pki_config: Annotated[PkiSettings | UnsetType, _text("Its certificates.")] = UNSET
    old_pki_config: Annotated[
        PkiSettings | UnsetType, _text("Deprecated: the same as pkiConfig, which counts first.")
    ] = field(default=UNSET, name="pkiConfg")
    xds_server_port: Annotated[Port | UnsetType, _text("Where Envoys connect; 18000 if unset.")] = (
        UNSET
    )
    old_xds_port: Annotated[
        Port | UnsetType, _text("Deprecated: the same as xdsServerPort, which counts first.")
    ] = field(default=UNSET, name="xdsPort")
    webhook_port: Annotated[
        Port | UnsetType, _text("Where reviews of Pods are answered; 8443 if unset.")
    ] = UNSET
    metrics_port: Annotated[Port | UnsetType, _text("Where metrics are; 8383 if unset.")] = UNSET
    probe_port: Annotated[Port | UnsetType, _text("Where probes are; 8384 if unset.")] = UNSET
    service_config: Annotated[ServiceSettings | UnsetType, _text("Its Service.")] = UNSET
    old_service_config: Annotated[
        ServiceSettings | UnsetType,
        _text("Deprecated: the same as serviceConfig, which counts first."),
    ] = field(default=UNSET, name="ServiceConfig")
    pod_priority_class: Annotated[ObjectName | UnsetType, _text("The priority of its pods.")] = (
        UNSET
    )
    affinity: Annotated[FreeForm | UnsetType, _text("On which nodes they run.")] = UNSET
    certificate_reload: Annotated[
        Literal["HotReload", "Rollout"] | UnsetType,
        _text(
            "How a new certificate of the control plane is taken up: by running pods, or by a"
            " rollout; HotReload if unset."
        ),
    ] = UNSET
    replicas: Annotated[
        Annotated[int, Meta(ge=1, le=100)] | UnsetType, _text("How many pods; 2 if unset.")
    ] = UNSET
    webhook: Annotated[InjectionSettings | UnsetType, _text("The webhook.")] = UNSET


class DiscoveryCondition(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """One aspect of the state."""

    type: Annotated[str, _text("What it is about.")]
    status: Annotated[str, _text("True, False or Unknown.")]
    observed_generation: Annotated[int | UnsetType, _text("The generation it is about.")] = UNSET
    last_transition_time: Annotated[datetime | UnsetType, _text("When the status changed.")] = UNSET
    reason: Annotated[str, _text("Why, in one word for programs.")] = ""
    message: Annotated[str, _text("Why, for people.")] = ""


class RotationStatus(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """How far the replacement of the certificate authority is."""

    phase: Annotated[RotationPhase | UnsetType, _text("What is being done.")] = UNSET
    since: Annotated[datetime | UnsetType, _text("When the phase began.")] = UNSET
    signer: Annotated[str, _text("The serial of the authority that signs, hexadecimal.")] = ""
    next: Annotated[str, _text("The serial of the one that will.")] = ""
    waiting_for: Annotated[
        list[str], _text("What has to follow before the next phase: objects, and Envoys by name.")
    ] = field(default_factory=list)


class NamespaceStatus(Struct, omit_defaults=True, kw_only=True):
    """A namespace that is not served as it should be, and why."""

    name: Annotated[str, _text("The namespace.")] = ""
    reason: Annotated[str, _text("Why, in one word for programs.")] = ""
    message: Annotated[str, _text("Why, for people.")] = ""


@marked(preserve_unknown())
class DiscoveryServiceStatus(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """What became of the control plane."""

    conditions: Annotated[
        list[DiscoveryCondition],
        list_map("type"),
        _text("Ready, Conflict and Degraded."),
    ] = field(default_factory=list)
    deployment_name: Annotated[str, _text("Its Deployment.")] = ""
    deployment_status: Annotated[FreeForm | UnsetType, _text("What the Deployment says.")] = UNSET
    observed_generation: Annotated[int, _text("The generation this is about.")] = 0
    rotation: Annotated[
        RotationStatus | UnsetType, _text("The replacement of the certificate authority.")
    ] = UNSET
    namespaces: Annotated[
        list[NamespaceStatus], _text("Namespaces that are missing, refused or failed.")
    ] = field(default_factory=list)
    pods_without_sidecar: Annotated[
        int | UnsetType, _text("Labelled Pods of enabled namespaces that have no sidecar.")
    ] = UNSET
    deprecated_fields: Annotated[
        list[str], _text("Fields of the spec that are used under an old name.")
    ] = field(default_factory=list)
    inventory: Annotated[
        list[str], _text("Every object that is kept: apiVersion/kind/namespace/name.")
    ] = field(default_factory=list)


@custom_resource(
    GROUP,
    VERSION,
    scope="Cluster",
    columns=[
        Column("Namespace", ".spec.discoveryServiceNamespace", "string", "Where it runs."),
        Column("Ready", _CONDITION % READY, "string", "Whether it serves all namespaces."),
        Column("CA", ".status.rotation.phase", "string", "How far its authority is replaced."),
        Column("Age", ".metadata.creationTimestamp", "date", "How long it has existed."),
    ],
)
@marked(
    rule(
        "self.metadata.name.size() <= 50 && !self.metadata.name.contains('.')",
        message="the name becomes part of names of Services: at most 50 characters and no dot",
    )
)
class DiscoveryService(Object):
    """An xDS control plane that serves the Envoys of several namespaces."""

    spec: DiscoveryServiceSpec
    status: DiscoveryServiceStatus = field(default_factory=DiscoveryServiceStatus)


# Certificates


class SecretLocation(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A Secret."""

    name: Annotated[ObjectName, _text("Its name.")]
    namespace: Annotated[
        OptionalNamespace | UnsetType,
        _text("Its namespace; that of the object if unset."),
    ] = UNSET


class SelfSigned(Struct, frozen=True):
    """The certificate is signed with its own key."""


class CaSigned(Struct, frozen=True, rename="camel", kw_only=True):
    """The certificate is signed by an authority."""

    ca_secret_ref: Annotated[
        SecretLocation, _text("The Secret of the authority: tls.crt and tls.key.")
    ]


@marked(
    rule(
        "has(self.selfSigned) != has(self.caSigned)",
        message="exactly one of selfSigned and caSigned has to be set",
    )
)
class CertificateSigner(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """Who signs the certificate."""

    self_signed: Annotated[SelfSigned | UnsetType, _text("Its own key.")] = UNSET
    ca_signed: Annotated[CaSigned | UnsetType, _text("An authority.")] = UNSET


class CertificateRenewal(Struct, frozen=True, kw_only=True):
    """Whether the certificate is issued anew before it expires."""

    enabled: Annotated[bool, _text("False to let it expire.")]


class DiscoveryServiceCertificateSpec(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """Which certificate is wanted, and where."""

    common_name: Annotated[
        str, _text("The common name of the subject."), Meta(min_length=1, max_length=64)
    ]
    server: Annotated[
        bool | UnsetType, _text("Whether it is for a server; else it is for a client.")
    ] = UNSET
    is_ca: Annotated[bool | UnsetType, _text("Whether it is a certificate authority.")] = field(
        default=UNSET, name="isCA"
    )
    valid_for: Annotated[int, _text("For how many seconds it is valid."), Meta(ge=1, le=10**10)]
    hosts: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=253)]],
        atomic(),
        _text(
            "DNS names and IP addresses of the server. If empty, a server has its common name"
            " instead, and others have none."
        ),
        Meta(max_length=100),
    ] = field(default_factory=list)
    signer: Annotated[CertificateSigner, _text("Who signs it: selfSigned or caSigned.")]
    secret_ref: Annotated[
        SecretLocation,
        _text("The Secret it is written to, always in the namespace of this object."),
    ]
    certificate_renewal: Annotated[
        CertificateRenewal | UnsetType, _text("Whether it is renewed; yes if unset.")
    ] = UNSET
    old_certificate_renewal: Annotated[
        CertificateRenewal | UnsetType,
        _text("Deprecated: the same as certificateRenewal, which counts first."),
    ] = field(default=UNSET, name="certificateRenewalNotification")


@marked(preserve_unknown())
class DiscoveryServiceCertificateStatus(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """What became of the certificate."""

    ready: Annotated[bool | UnsetType, _text("Whether it can be used now.")] = UNSET
    not_before: Annotated[datetime | UnsetType, _text("When it begins to be valid.")] = UNSET
    not_after: Annotated[datetime | UnsetType, _text("When it expires.")] = UNSET
    certificate_hash: Annotated[
        str, _text("A hash of tls.crt, short: it shows changes, and identifies nothing.")
    ] = ""
    serial_number: Annotated[str, _text("Its serial number, hexadecimal.")] = ""
    conditions: Annotated[
        list[DiscoveryCondition],
        list_map("type"),
        _text("Ready, CertificateNeedsRenewal, and Degraded of authorities."),
    ] = field(default_factory=list)
    observed_generation: Annotated[int, _text("The generation this is about.")] = 0
    rotation: Annotated[
        RotationStatus | UnsetType, _text("Of an authority: how far its replacement is.")
    ] = UNSET
    deprecated_fields: Annotated[
        list[str], _text("Fields of the spec that are used under an old name.")
    ] = field(default_factory=list)


@custom_resource(
    GROUP,
    VERSION,
    columns=[
        Column("Ready", ".status.ready", "boolean", "Whether it can be used now."),
        Column("Not Before", ".status.notBefore", "string", "When it begins to be valid."),
        Column("Not After", ".status.notAfter", "string", "When it expires."),
        Column("Age", ".metadata.creationTimestamp", "date", "How long it has existed."),
    ],
)
class DiscoveryServiceCertificate(Object):
    """A certificate of a control plane or of its clients, kept valid in a Secret."""

    spec: DiscoveryServiceCertificateSpec
    status: DiscoveryServiceCertificateStatus = field(
        default_factory=DiscoveryServiceCertificateStatus
    )
