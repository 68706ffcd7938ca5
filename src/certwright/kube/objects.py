"""Objects and their names: keys, kinds, resources, metadata, and the base of typed kinds.

Typed objects are views for reading and for building what we own. They drop fields
they do not know, so they are never sent back whole: writes are patches and applies.
"""

import re
from datetime import datetime
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar

import orjson
from msgspec import Struct, field

from certwright.kube.schemas.definition import Definition

_UNSAFE_IN_PATHS = re.compile(r"\.{1,2}|.*[/%?#\x00-\x20\x7f].*", re.DOTALL)


class Key(NamedTuple):
    """Where an object lives: its namespace (empty for cluster scope) and its name."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @classmethod
    def parse(cls, text: str) -> "Key":
        """Read ``name`` or ``namespace/name``."""
        namespace, _, name = text.rpartition("/")
        if not name or "/" in namespace:
            raise ValueError(f"{text!r} is not of the form name or namespace/name")
        return cls(namespace, name)


class GroupVersionKind(Struct, frozen=True, order=True, gc=False):
    """A kind as manifests spell it."""

    group: str
    version: str
    kind: str

    @classmethod
    def parse(cls, api_version: str, kind: str) -> "GroupVersionKind":
        """Read the two fields every object carries."""
        group, _, version = api_version.rpartition("/")
        if not version or not kind or "/" in group:
            raise ValueError(f"apiVersion {api_version!r}, kind {kind!r}: not a kind")
        return cls(group, version, kind)

    @property
    def api_version(self) -> str:
        """``group/version``, or ``version`` alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.kind}.{self.version}.{self.group}" if self.group else self.kind


class GroupVersionResource(NamedTuple):
    """A kind as URLs spell it."""

    group: str
    version: str
    resource: str


class Resource(Struct, frozen=True, order=True, gc=False, cache_hash=True):
    """A kind together with how the API server serves it; hashable, and compared by all fields."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """``group/version``, or ``version`` alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind as manifests spell it."""
        return GroupVersionKind(self.group, self.version, self.kind)

    @property
    def gvr(self) -> GroupVersionResource:
        """The kind as URLs spell it."""
        return GroupVersionResource(self.group, self.version, self.plural)

    @property
    def qualified(self) -> str:
        """``plural.group``, the form kubectl and CRD names use."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the URL path of the collection, an object, or a subresource of it.

        Raises:
            ValueError: the namespace does not fit the kind's scope, or a part is nothing the
                API has and would lead to another place than it says (``..``, ``a/b``).
        """
        for part in (namespace, name, subresource):
            if _UNSAFE_IN_PATHS.fullmatch(part):
                raise ValueError(f"{self.kind}: {part!r} cannot be part of a path")
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if namespace:
            if not self.namespaced:
                raise ValueError(f"{self.kind} is cluster-scoped; got namespace {namespace!r}")
            parts += ["namespaces", namespace]
        elif name and self.namespaced:
            raise ValueError(f"{self.kind} {name!r} needs a namespace")
        parts.append(self.plural)
        if name:
            parts.append(name)
        if subresource:
            parts.append(subresource)
        return "/".join(parts)

    def __str__(self) -> str:
        return str(self.gvk)


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

    An existing kind is named by a class attribute, a new one is declared with
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


def exact_json(obj: Any) -> bytes:
    """Return a value as JSON to be kept: it takes no more memory than it is long.

    What `orjson.dumps` returns takes the whole buffer it was written to: 4 KiB at least, and up to
    five times its length.
    """
    return bytes(memoryview(orjson.dumps(obj)))


def key_of(obj: JsonObject | Object) -> Key:
    """Return where an object lives, typed or not."""
    if isinstance(obj, Object):
        return obj.key
    metadata = obj.get("metadata") or {}
    return Key(metadata.get("namespace") or "", metadata.get("name") or "")
