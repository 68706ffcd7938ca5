"""``marin3r.3scale.net/v1alpha1``: what Envoys are configured with, and its revisions.

Group, names and fields are those of marin3r. Resources are written in one of two forms: grouped by
type under ``envoyResources``, as it was first, or as the list ``resources``. Both eras' names of a
group are accepted (``runtime`` and ``runtimes``).

Whether a resource is one that Envoy accepts is not the schema's affair.
"""

from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, field

from certwright.api.discoveryservices import DiscoveryCondition, ObjectName, OptionalNamespace
from certwright.kube import (
    Column,
    Object,
    atomic,
    custom_resource,
    list_map,
    marked,
    preserve_unknown,
)
from certwright.kube.schemas.markers import rule

GROUP: Final = "marin3r.3scale.net"
VERSION: Final = "v1alpha1"

_ONE_FORM: Final = "has(self.envoyResources) != has(self.resources)"
_ONE_FORM_MESSAGE: Final = "exactly one of envoyResources and resources has to be set"
_MOST: Final = 5000


def _text(text: str) -> Meta:
    return Meta(description=text)


NodeId: TypeAlias = Annotated[str, Meta(min_length=1, max_length=253)]
Serialization: TypeAlias = Literal["json", "yaml", "b64json"]
EnvoyApi: TypeAlias = Literal["v2", "v3"]
ResourceType: TypeAlias = Literal[
    "listener", "route", "scopedRoute", "cluster", "endpoint", "secret", "runtime",
    "extensionConfig",
]  # fmt: skip
CacheState: TypeAlias = Literal["InSync", "Rollback", "RollbackFailed"]


class SerializedResource(Struct, omit_defaults=True, kw_only=True):
    """A resource as a text."""

    name: Annotated[str | UnsetType, _text("Its name; that inside the value counts.")] = UNSET
    value: Annotated[str, _text("The resource, in the serialization of the object.")]


class SecretRef(Struct, omit_defaults=True, kw_only=True):
    """A Secret of the same namespace."""

    name: Annotated[ObjectName, _text("Its name.")]
    namespace: Annotated[
        OptionalNamespace | UnsetType,
        _text("Accepted if it is the object's own; other namespaces are refused."),
    ] = UNSET


class SecretResource(Struct, omit_defaults=True, kw_only=True):
    """A certificate and its key, from a Secret of type kubernetes.io/tls."""

    name: Annotated[str, _text("The name of the resource, and of the Secret if ref is unset.")]
    ref: Annotated[SecretRef | UnsetType, _text("The Secret.")] = UNSET


Serialized: TypeAlias = Annotated[list[SerializedResource], atomic(), Meta(max_length=_MOST)]


class EnvoyResources(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """Resources by their type."""

    endpoints: Annotated[Serialized, _text("ClusterLoadAssignments.")] = field(default_factory=list)
    clusters: Annotated[Serialized, _text("Clusters.")] = field(default_factory=list)
    routes: Annotated[Serialized, _text("RouteConfigurations.")] = field(default_factory=list)
    scoped_routes: Annotated[Serialized, _text("ScopedRouteConfigurations.")] = field(
        default_factory=list
    )
    listeners: Annotated[Serialized, _text("Listeners.")] = field(default_factory=list)
    runtimes: Annotated[Serialized, _text("Runtimes.")] = field(default_factory=list)
    old_runtimes: Annotated[Serialized, _text("Deprecated: the same as runtimes.")] = field(
        default_factory=list, name="runtime"
    )
    secrets: Annotated[
        list[SecretResource], atomic(), Meta(max_length=_MOST), _text("Certificates of Secrets.")
    ] = field(default_factory=list)
    extension_configs: Annotated[Serialized, _text("TypedExtensionConfigs.")] = field(
        default_factory=list
    )


class OpaqueSecretSource(Struct, omit_defaults=True, kw_only=True):
    """One value of a Secret, as a generic secret of Envoy."""

    name: Annotated[ObjectName, _text("The Secret.")]
    key: Annotated[str, _text("Its key."), Meta(min_length=1, max_length=253)]
    alias: Annotated[str | UnsetType, _text("The name of the resource; the Secret's if unset.")] = (
        UNSET
    )


class EndpointSlicesSource(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """The endpoints of Services, as a ClusterLoadAssignment."""

    selector: Annotated[
        dict[str, Any], preserve_unknown(), _text("A label selector of EndpointSlices.")
    ]
    cluster_name: Annotated[str, _text("The name of the resource."), Meta(min_length=1)]
    target_port: Annotated[str, _text("The name of the port."), Meta(min_length=1)]


@marked(
    rule(
        "[has(self.value), has(self.generateFromTlsSecret), has(self.generateFromOpaqueSecret),"
        " has(self.generateFromEndpointSlices)].filter(given, given).size() == 1",
        message="exactly one of value, generateFromTlsSecret, generateFromOpaqueSecret and"
        " generateFromEndpointSlices has to be set",
    )
)
class ConfigResource(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """One resource: as a value, or made of other objects of the namespace."""

    type: Annotated[ResourceType, _text("What it is.")]
    value: Annotated[
        dict[str, Any] | UnsetType, preserve_unknown(), _text("The resource as Envoy reads it.")
    ] = UNSET
    generate_from_tls_secret: Annotated[
        ObjectName | UnsetType, _text("A Secret of type kubernetes.io/tls.")
    ] = UNSET
    generate_from_opaque_secret: Annotated[
        OpaqueSecretSource | UnsetType, _text("One value of a Secret.")
    ] = UNSET
    generate_from_endpoint_slices: Annotated[
        EndpointSlicesSource | UnsetType, _text("The endpoints of Services.")
    ] = UNSET
    blueprint: Annotated[
        Literal["tlsCertificate", "validationContext"] | UnsetType,
        _text("What a TLS Secret becomes; tlsCertificate if unset."),
    ] = UNSET


ConfigResources: TypeAlias = Annotated[list[ConfigResource], atomic(), Meta(max_length=_MOST)]


@marked(rule(_ONE_FORM, message=_ONE_FORM_MESSAGE))
class EnvoyConfigSpec(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """Which Envoys, and what they are configured with."""

    node_id: Annotated[NodeId, _text("The node-id of the Envoys.")] = field(name="nodeID")
    serialization: Annotated[
        Serialization | UnsetType, _text("How values under envoyResources are written; json.")
    ] = UNSET
    envoy_api: Annotated[
        EnvoyApi | UnsetType, _text("The version of Envoy's API; only v3 is served.")
    ] = field(default=UNSET, name="envoyAPI")
    envoy_resources: Annotated[EnvoyResources | UnsetType, _text("Resources by their type.")] = (
        UNSET
    )
    resources: Annotated[ConfigResources | UnsetType, _text("Resources.")] = UNSET


class ObjectReferenceStatus(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """A revision."""

    name: Annotated[str, _text("Its name.")] = ""
    namespace: Annotated[str, _text("Its namespace.")] = ""
    kind: Annotated[str, _text("EnvoyConfigRevision.")] = ""
    api_version: Annotated[str, _text("Its group and version.")] = ""
    uid: Annotated[str, _text("Its UID.")] = ""


class RevisionReference(Struct, omit_defaults=True, kw_only=True):
    """A version, and the revision that holds it."""

    version: Annotated[str, _text("The version.")] = ""
    ref: Annotated[ObjectReferenceStatus | UnsetType, _text("The revision.")] = UNSET


class VersionCount(Struct, omit_defaults=True, kw_only=True):
    """How many Envoys run a version."""

    version: Annotated[str, _text("The version.")]
    envoys: Annotated[int, _text("How many run it.")] = 0


class Rejection(Struct, omit_defaults=True, kw_only=True):
    """What an Envoy refused, and why."""

    envoy: Annotated[str, _text("The Envoy, by its Pod if it is known.")] = ""
    type: Annotated[str, _text("The type of the resources.")] = ""
    version: Annotated[str, _text("The version that was refused.")] = ""
    message: Annotated[str, _text("What Envoy says.")] = ""
    at: Annotated[datetime | UnsetType, _text("When.")] = UNSET


@marked(preserve_unknown())
class EnvoyConfigStatus(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """What became of the configuration."""

    cache_state: Annotated[
        CacheState | UnsetType, _text("Whether the desired version is published.")
    ] = UNSET
    published_version: Annotated[str, _text("What Envoys are given.")] = ""
    desired_version: Annotated[str, _text("What the spec says.")] = ""
    conditions: Annotated[
        list[DiscoveryCondition], list_map("type"), _text("CacheOutOfSync and RollbackFailed.")
    ] = field(default_factory=list)
    revisions: Annotated[list[RevisionReference], _text("What is kept, oldest first.")] = field(
        default_factory=list
    )
    observed_generation: Annotated[int, _text("The generation this is about.")] = 0
    envoys: Annotated[list[VersionCount], _text("How many Envoys run which version.")] = field(
        default_factory=list
    )
    rejections: Annotated[list[Rejection], _text("The last ten that Envoys sent.")] = field(
        default_factory=list
    )


@custom_resource(
    GROUP,
    VERSION,
    short_names=["ec"],
    columns=[
        Column("Node ID", ".spec.nodeID", "string", "The node-id of the Envoys."),
        Column("Envoy API", ".spec.envoyAPI", "string", "The version of Envoy's API."),
        Column("Desired Version", ".status.desiredVersion", "string", "What the spec says."),
        Column("Published Version", ".status.publishedVersion", "string", "What is served."),
        Column("Cache State", ".status.cacheState", "string", "Whether both are the same."),
        Column("Age", ".metadata.creationTimestamp", "date", "How long it has existed."),
    ],
)
class EnvoyConfig(Object):
    """What the Envoys of a node-id are configured with."""

    spec: EnvoyConfigSpec
    status: EnvoyConfigStatus = field(default_factory=EnvoyConfigStatus)


# Revisions


@marked(rule(_ONE_FORM, message=_ONE_FORM_MESSAGE))
class EnvoyConfigRevisionSpec(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """One version of a configuration."""

    node_id: Annotated[NodeId, _text("The node-id of the Envoys.")] = field(name="nodeID")
    version: Annotated[str, _text("The version."), Meta(min_length=1, max_length=253)]
    serialization: Annotated[Serialization | UnsetType, _text("As in the EnvoyConfig.")] = UNSET
    envoy_api: Annotated[EnvoyApi | UnsetType, _text("As in the EnvoyConfig.")] = field(
        default=UNSET, name="envoyAPI"
    )
    envoy_resources: Annotated[EnvoyResources | UnsetType, _text("As in the EnvoyConfig.")] = UNSET
    resources: Annotated[
        ConfigResources | UnsetType,
        _text("As in the EnvoyConfig."),
    ] = UNSET


class ProvidedVersions(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """The version of each type of resource; empty where there are none."""

    endpoints: Annotated[str, _text("Of ClusterLoadAssignments.")] = ""
    clusters: Annotated[str, _text("Of Clusters.")] = ""
    routes: Annotated[str, _text("Of RouteConfigurations.")] = ""
    scoped_routes: Annotated[str, _text("Of ScopedRouteConfigurations.")] = ""
    listeners: Annotated[str, _text("Of Listeners.")] = ""
    secrets: Annotated[str, _text("Of Secrets.")] = ""
    runtimes: Annotated[str, _text("Of Runtimes.")] = ""
    extension_configs: Annotated[str, _text("Of TypedExtensionConfigs.")] = ""


class ReplicaReport(Struct, omit_defaults=True, kw_only=True):
    """What the Envoys of one replica think of a version; there is one once an Envoy rejected it."""

    accepted: Annotated[bool, _text("Whether an Envoy took it.")] = False
    pending: Annotated[bool, _text("Whether an Envoy has not answered yet.")] = False
    against: Annotated[bool, _text("Whether an Envoy rejected what the revision says.")] = False
    rejections: Annotated[list[Rejection], _text("What was rejected, a few of them.")] = field(
        default_factory=list
    )
    at: Annotated[datetime | UnsetType, _text("When it was written.")] = UNSET


@marked(preserve_unknown())
class EnvoyConfigRevisionStatus(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """Whether a version is served."""

    published: Annotated[bool | UnsetType, _text("Whether Envoys are given it.")] = UNSET
    last_published_at: Annotated[datetime | UnsetType, _text("Since when, or when last.")] = UNSET
    tainted: Annotated[bool | UnsetType, _text("Whether it was found not to work.")] = UNSET
    conditions: Annotated[
        list[DiscoveryCondition],
        list_map("type"),
        _text("RevisionPublished, RevisionTainted and ResourcesInSync."),
    ] = field(default_factory=list)
    provides_versions: Annotated[ProvidedVersions | UnsetType, _text("By type of resource.")] = (
        UNSET
    )
    reports: Annotated[dict[str, ReplicaReport], _text("By replica of the discovery service.")] = (
        field(default_factory=dict)
    )


@custom_resource(
    GROUP,
    VERSION,
    short_names=["ecr"],
    columns=[
        Column("Node ID", ".spec.nodeID", "string", "The node-id of the Envoys."),
        Column("Envoy API", ".spec.envoyAPI", "string", "The version of Envoy's API."),
        Column("Version", ".spec.version", "string", "The version."),
        Column("Published", ".status.published", "boolean", "Whether Envoys are given it."),
        Column("Created At", ".metadata.creationTimestamp", "string", "When it was made."),
        Column(
            "Last Published At", ".status.lastPublishedAt", "string", "When it was last served."
        ),
        Column("Tainted", ".status.tainted", "boolean", "Whether it was found not to work."),
        Column("Age", ".metadata.creationTimestamp", "date", "How long it has existed."),
    ],
)
class EnvoyConfigRevision(Object):
    """One version of an EnvoyConfig."""

    spec: EnvoyConfigRevisionSpec
    status: EnvoyConfigRevisionStatus = field(default_factory=EnvoyConfigRevisionStatus)
