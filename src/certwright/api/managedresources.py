"""``resources.gardener.cloud/v1alpha1``: objects kept as Secrets describe them.

The group, its fields and their meaning are those of Gardener's resource manager, so its clients
work unchanged. What is ours besides is optional, and absent it changes nothing: ``dependsOn``,
``serviceAccountName`` and ``suspend`` in the spec, for which there are annotations or settings,
``summary`` and ``objects`` in the status. So the definition that Gardener installs will do. Fields
of the status that neither of the two knows are kept by the server if the definition is ours.

Optional fields are unset rather than defaulted: the server must not write into the objects of
clients that compare what they sent with what they get. Unset counts as false in a condition.
"""

from datetime import datetime
from typing import Annotated, Final

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

GROUP: Final = "resources.gardener.cloud"
VERSION: Final = "v1alpha1"
DEFAULT_CLASS: Final = "resources"
"""The class of a ManagedResource that names none."""

_CONDITION: Final = '.status.conditions[?(@.type=="%s")].status'


def _text(text: str) -> Meta:
    return Meta(description=text)


@marked(atomic())
class SecretReference(Struct, frozen=True):
    """A Secret in the namespace of the ManagedResource."""

    name: Annotated[str, _text("Its name.")] = ""


class GroupKind(Struct, frozen=True):
    """A kind, whatever its version."""

    group: Annotated[str, _text("The API group, empty for the core.")]
    kind: Annotated[str, _text("The kind.")]


class Dependency(Struct, frozen=True):
    """Another ManagedResource of the same namespace."""

    name: Annotated[str, _text("Its name.")]


class ManagedResourceSpec(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """Which objects to keep, and how."""

    class_: Annotated[
        str | UnsetType,
        _text(
            "Which instance is responsible. Absent and empty both mean the class 'resources'."
            " Changing it hands the objects over: the old instance deletes them in its target,"
            " unless keepObjects is set, before the new one applies them in its own."
        ),
    ] = field(default=UNSET, name="class")
    secret_refs: Annotated[
        list[SecretReference],
        _text(
            "Secrets whose data holds the objects as YAML or JSON, in this order."
            " Values under keys that end with .br are Brotli."
        ),
        Meta(max_length=1000),
    ]
    inject_labels: Annotated[
        dict[str, str],
        _text("Labels for every object, its pod template and its volume claim templates."),
    ] = field(default_factory=dict)
    force_overwrite_labels: Annotated[
        bool | UnsetType, _text("Whether labels that others put on the objects are removed.")
    ] = UNSET
    force_overwrite_annotations: Annotated[
        bool | UnsetType, _text("Whether annotations that others put on the objects are removed.")
    ] = UNSET
    keep_objects: Annotated[
        bool | UnsetType,
        _text("Whether the objects stay when this ManagedResource is deleted or changes class."),
    ] = UNSET
    equivalences: Annotated[
        list[list[GroupKind]],
        _text(
            "Kinds that are the same objects under another group, besides those that are known."
            " An object that moves between them is not deleted."
        ),
    ] = field(default_factory=list)
    delete_persistent_volume_claims: Annotated[
        bool | UnsetType, _text("Whether the volume claims of a StatefulSet are deleted with it.")
    ] = UNSET
    depends_on: Annotated[
        list[Dependency],
        _text("What must be applied and healthy before anything of this is written."),
    ] = field(default_factory=list)
    service_account_name: Annotated[
        str | UnsetType,
        _text(
            "The ServiceAccount of this namespace as which the objects are read and written: its"
            " roles decide. Without one, what the installation sets for all counts."
        ),
    ] = UNSET
    suspend: Annotated[
        bool | UnsetType, _text("Whether to write nothing for now. Health is still checked.")
    ] = UNSET


class ManagedResourceCondition(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """One aspect of the state; unlike most conditions its status may also be 'Progressing'."""

    type: Annotated[str, _text("What it is about.")]
    status: Annotated[str, _text("True, False, Unknown or Progressing.")]
    last_transition_time: Annotated[datetime | UnsetType, _text("When the status changed.")] = UNSET
    last_update_time: Annotated[
        datetime | UnsetType, _text("When the reason, the message or the codes changed.")
    ] = UNSET
    reason: Annotated[str, _text("Why, in one word for programs.")] = ""
    message: Annotated[str, _text("Why, for people.")] = ""
    codes: Annotated[list[str], _text("Classes of errors, for programs.")] = field(
        default_factory=list
    )


@marked(atomic())
class ObjectReference(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """An object of the inventory, with the metadata it was last given."""

    api_version: Annotated[str, _text("Group and version.")] = ""
    kind: Annotated[str, _text("The kind.")] = ""
    namespace: Annotated[str, _text("The namespace, empty for cluster scope.")] = ""
    name: Annotated[str, _text("The name.")] = ""
    uid: Annotated[str, _text("Not used.")] = ""
    resource_version: Annotated[str, _text("Not used.")] = ""
    field_path: Annotated[
        str,
        _text(
            "'data.inventory' if this is no object that is kept, but a ConfigMap that lists such:"
            " the rest of an inventory that does not fit here."
        ),
    ] = ""
    labels: Annotated[dict[str, str], _text("The labels that were wanted.")] = field(
        default_factory=dict
    )
    annotations: Annotated[dict[str, str], _text("The annotations that were wanted.")] = field(
        default_factory=dict
    )


class ObjectSummary(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How many objects there are, and in which state."""

    total: Annotated[int, _text("All objects of the inventory.")] = 0
    applied: Annotated[int, _text("Those that are as wanted.")] = 0
    healthy: Annotated[int, _text("Those that work.")] = 0
    progressing: Annotated[int, _text("Those whose change is not rolled out yet.")] = 0
    failed: Annotated[int, _text("Those that could not be written or deleted.")] = 0
    blocked: Annotated[int, _text("Those that wait for something else.")] = 0


class ObjectStatus(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """An object that is not as it should be, and why."""

    api_version: Annotated[str, _text("Group and version.")] = ""
    kind: Annotated[str, _text("The kind.")] = ""
    namespace: Annotated[str, _text("The namespace, empty for cluster scope.")] = ""
    name: Annotated[str, _text("The name.")] = ""
    action: Annotated[str, _text("What became of it: failed or blocked.")] = ""
    health: Annotated[str, _text("Its health: Missing, Error, Unhealthy or Progressing.")] = ""
    reason: Annotated[str, _text("Why, in one word for programs.")] = ""
    message: Annotated[str, _text("Why, for people.")] = ""
    last_writer: Annotated[str, _text("Which other client wrote to it last.")] = ""


@marked(preserve_unknown())
class ManagedResourceStatus(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """What became of the objects."""

    conditions: Annotated[
        list[ManagedResourceCondition],
        list_map("type"),
        _text(
            "ResourcesApplied, ResourcesHealthy, ResourcesProgressing, and Ready, which sums up."
        ),
    ] = field(default_factory=list)
    observed_generation: Annotated[int, _text("The generation that was applied completely.")] = 0
    resources: Annotated[
        list[ObjectReference],
        _text("The inventory: every object that is kept, or is still to be deleted."),
    ] = field(default_factory=list)
    secrets_data_checksum: Annotated[
        str, _text("A hash of what the Secrets held when the objects were applied.")
    ] = ""
    summary: Annotated[ObjectSummary | UnsetType, _text("The objects in numbers.")] = UNSET
    objects: Annotated[
        list[ObjectStatus], _text("The first few objects that are not as they should be.")
    ] = field(default_factory=list)


@custom_resource(
    GROUP,
    VERSION,
    short_names=["mr"],
    labels={"gardener.cloud/deletion-protected": "true"},
    columns=[
        Column("Class", ".spec.class", "string", "The class of the instance that is responsible."),
        Column("Applied", _CONDITION % "ResourcesApplied", "string", "Whether all is applied."),
        Column("Healthy", _CONDITION % "ResourcesHealthy", "string", "Whether all is healthy."),
        Column(
            "Progressing",
            _CONDITION % "ResourcesProgressing",
            "string",
            "Whether something is still being rolled out.",
        ),
        Column("Age", ".metadata.creationTimestamp", "date", "How long it has existed."),
    ],
)
class ManagedResource(Object):
    """Objects that are kept in a cluster exactly as Secrets describe them."""

    spec: ManagedResourceSpec = field(default_factory=lambda: ManagedResourceSpec(secret_refs=[]))
    status: ManagedResourceStatus = field(default_factory=ManagedResourceStatus)
