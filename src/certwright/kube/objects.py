"""Objects as typed values: metadata, owner references, and the base of typed kinds.

Typed objects are views for reading and for building what we own. They drop fields
they do not know, so they are never sent back whole: writes are patches and applies.
"""

from datetime import datetime
from typing import Any, ClassVar, TypeAlias, TypeVar

from msgspec import Struct, field

from certwright.kube.identity import Key, Resource
from certwright.kube.schemas.definition import Definition

JsonObject: TypeAlias = dict[str, Any]


class OwnerReference(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """A pointer from an object to the one it belongs to, in the same namespace or cluster-wide."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """The metadata every object carries, without managedFields."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    finalizers: list[str] = field(default_factory=list)
    owner_references: list[OwnerReference] = field(default_factory=list)


class Object(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """The base of typed kinds.

    A kind of somebody else is named by a class attribute, one of our own is declared with
    ``@custom_resource`` (see `certwright.kube.schemas.crd`)::

        class Widget(Object):
            resource: ClassVar = Resource("example.com", "v1", "Widget", "widgets")
            spec: WidgetSpec
            status: WidgetStatus = field(default_factory=WidgetStatus)
    """

    resource: ClassVar[Resource]
    definition: ClassVar[Definition]
    """Only of our own kinds; set by ``@custom_resource``."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)

    @property
    def key(self) -> Key:
        """Where the object lives."""
        return Key(self.metadata.namespace, self.metadata.name)


T = TypeVar("T", bound=Object)

Kind: TypeAlias = type[T] | Resource
"""What functions accept to name a kind: a typed class, or a `Resource` for plain dicts."""


def resource_of(kind: type[Object] | Resource) -> Resource:
    """Return how the API server serves a kind, whichever way it was named."""
    return kind if isinstance(kind, Resource) else kind.resource


def key_of(obj: JsonObject | Object) -> Key:
    """Return where an object lives, typed or not."""
    if isinstance(obj, Object):
        return obj.key
    metadata = obj.get("metadata") or {}
    return Key(metadata.get("namespace") or "", metadata.get("name") or "")
