"""What the embedded server knows about a kind it serves.

`builtins` and `crds` make `ServedKind` values; the rest of the server treats them alike.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from certwright.apiserver.schema.schema import Schema
from certwright.apiserver.schema.structural import default
from certwright.kube.errors import Cause
from certwright.kube.objects import JsonObject, Resource


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A column of ``kubectl get``."""

    name: str
    json_path: str = ""
    """Kubernetes' JSONPath subset, such as ``.spec.replicas``; unused when *value* is given."""
    type: str = "string"
    format: str = ""
    priority: int = 0
    description: str = ""
    value: Callable[[JsonObject], object] | None = None
    """Computes the cell where a path cannot, such as ``READY 1/3``."""


def _no_unknown(_obj: JsonObject) -> list[str]:
    return []


def no_defaults(_obj: JsonObject) -> None:
    """Leave the object as it is."""


def no_changes(_new: JsonObject, _old: JsonObject | None) -> None:
    """Leave the object as it is."""


def no_warnings(_new: JsonObject) -> list[str]:
    """Warn of nothing."""
    return []


def no_causes(_new: JsonObject, _old: JsonObject | None) -> list[Cause]:
    """Find nothing wrong."""
    return []


@dataclass(frozen=True, slots=True)
class ConversionWebhook:
    """Who converts the objects of a custom kind between its versions."""

    definition: str
    """The name of the CustomResourceDefinition."""
    client_config: JsonObject
    review_versions: tuple[str, ...]
    """The versions of ConversionReview it understands, the one it likes best first."""


@dataclass(frozen=True, slots=True)
class ServedKind:
    """A kind in one version: its address, shape, and rules.

    The hooks get the new object and the stored one (None on create) and may change the new
    one in place; they are called on the main resource and on subresources alike, after
    defaulting, with the parts the request may not touch already restored.
    """

    resource: Resource
    schema: Schema
    singular: str
    list_kind: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = (
        "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch",
    )  # fmt: skip
    subresources: frozenset[str] = frozenset()
    """``status`` and ``scale`` are served generically."""
    scale_paths: tuple[str, str, str] = ("", "", "")
    """Paths of spec replicas, status replicas, label selector."""
    custom: bool = False
    """From a CRD: unknown fields are pruned, strategic merge is refused."""
    counts_generation: bool = True
    """Whether changes outside metadata and status raise ``metadata.generation``."""
    storage_version: str = ""
    """The version objects of this kind are stored and watched across; empty means this one."""
    versions: "Mapping[str, ServedKind]" = field(default_factory=dict, compare=False, repr=False)
    """Of a custom kind: every version of its definition by name, served or not."""
    conversion: ConversionWebhook | None = None
    """Converts between the versions; without one, only ``apiVersion`` changes."""
    deprecation: str = ""
    """What every answer warns of when the version is deprecated."""
    selectable_fields: tuple[str, ...] = ()
    """Field paths usable in field selectors besides metadata.name and metadata.namespace."""
    columns: tuple[PrinterColumn, ...] = field(default=())
    marks: frozenset[str] = frozenset()
    """How a built-in kind differs from others; ``builtins/kinds.ini`` explains them."""
    always_printed: str = "{}"
    """What the Go type of a built-in kind prints when nothing is set, as JSON."""
    decode: Callable[[JsonObject], list[str]] = _no_unknown
    """Bring an object into the kind's shape, in place: drop unknown fields and nulls.

    Returns the paths of unknown fields, for fieldValidation. Raises BadRequest when a value
    cannot be read at all (built-ins; custom resources report that in *validate*).
    """
    complete: Callable[[JsonObject], None] = no_defaults
    """Add defaults that depend on other fields; called after those of the schema.

    Field ownership is recorded after this and before *prepare*, as defaults belong to the
    client who left them out and the server's own parts to no manager.
    """
    admit: Callable[[JsonObject, JsonObject | None], None] = no_changes
    """Fill in what admission adds before webhooks are asked; a part of *prepare*."""
    prepare: Callable[[JsonObject, JsonObject | None], None] = no_changes
    """Fill in what the server owns: allocated IPs, status of new objects, admission."""
    validate: Callable[[JsonObject, JsonObject | None], list[Cause]] = no_causes
    """All rules of the kind: schema, names, metadata, immutable fields, cross-field, CEL."""
    warnings: Callable[[JsonObject], list[str]] = no_warnings
    """What to tell the writer of a valid object that will not do what it seems to."""


def fill_defaults(obj: JsonObject, kind: ServedKind) -> None:
    """Add the defaults of the kind, in place: those of its schema, then those that depend."""
    default(obj, kind.schema)
    kind.complete(obj)


def needs_webhook(kind: ServedKind, other: ServedKind) -> bool:
    """Return whether a webhook has to convert between two versions of a kind."""
    return kind.conversion is not None and kind.resource.version != other.resource.version
