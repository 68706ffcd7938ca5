"""Objects to be kept, and the ManagedResource and Secrets that declare them.

::

    wanted = Declaration(Key("shop", "web"), objects=[deployment, service], keep_objects=True)
    await deploy(client, wanted)
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from certwright.api.managedresources import ManagedResource
from certwright.kube import JsonObject, Key
from certwright.managed.references import annotate
from certwright.managed.secretdata import DATA_KEY, SECRET_BYTES, pack
from certwright.managed.unique import make_unique

SECRET_PREFIX: Final = "managedresource-"  # noqa: S105 - a name
ORIGIN: Final = "origin"
"""The label with the client that created a ManagedResource."""


@dataclass(frozen=True, kw_only=True)
class KeepOptions:
    """How objects are kept. What is not set stays out of the ManagedResource."""

    class_: str = ""
    inject_labels: Mapping[str, str] = field(default_factory=dict)
    keep_objects: bool = False
    force_overwrite_labels: bool = False
    force_overwrite_annotations: bool = False
    delete_persistent_volume_claims: bool = False
    equivalences: Sequence[Sequence[tuple[str, str]]] = ()
    """Sets of (group, kind) that are the same objects."""
    depends_on: Sequence[str] = ()
    """Names of other ManagedResources that must be healthy first."""
    service_account_name: str = ""
    """As which ServiceAccount of its namespace the ManagedResource acts."""
    suspend: bool = False

    def spec(self) -> JsonObject:
        """Return the fields of the spec, without the Secrets."""
        fields: JsonObject = {
            "class": self.class_,
            "injectLabels": dict(self.inject_labels),
            "keepObjects": self.keep_objects,
            "forceOverwriteLabels": self.force_overwrite_labels,
            "forceOverwriteAnnotations": self.force_overwrite_annotations,
            "deletePersistentVolumeClaims": self.delete_persistent_volume_claims,
            "equivalences": [
                [{"group": group, "kind": kind} for group, kind in same]
                for same in self.equivalences
            ],
            "dependsOn": [{"name": name} for name in self.depends_on],
            "serviceAccountName": self.service_account_name,
            "suspend": self.suspend,
        }
        return {name: value for name, value in fields.items() if value}


PLAIN: Final = KeepOptions()
"""The defaults."""


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """Objects that are to be kept in a cluster, under the name of a ManagedResource."""

    key: Key
    objects: Sequence[JsonObject] = field(repr=False)  # Secrets among them
    options: KeepOptions = PLAIN
    labels: Mapping[str, str] = field(default_factory=dict)
    """Of the ManagedResource; those that other clients set stay."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Of the ManagedResource; those that other clients set stay."""
    secret_labels: Mapping[str, str] = field(default_factory=dict)
    secret_annotations: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""
    """The client that declares it; becomes a label."""


@dataclass(frozen=True)
class Rendered:
    """A declaration as objects of the API."""

    managed_resource: JsonObject
    secrets: tuple[JsonObject, ...] = field(repr=False)


def render(declaration: Declaration, *, most: int = SECRET_BYTES) -> Rendered:
    """Return the ManagedResource and its immutable Secrets; `PackingError` if that cannot be."""
    parts = pack(declaration.objects, most=most)
    secrets = tuple(make_unique(_secret(declaration, part)) for part in parts)
    return Rendered(managed_resource(declaration, secrets), secrets)


def managed_resource(declaration: Declaration, secrets: Sequence[JsonObject]) -> JsonObject:
    """Return the ManagedResource that refers to these Secrets."""
    references = [{"name": secret["metadata"]["name"]} for secret in secrets]
    labels = {**declaration.labels, **({ORIGIN: declaration.origin} if declaration.origin else {})}
    metadata: JsonObject = {"namespace": declaration.key.namespace, "name": declaration.key.name}
    if labels:
        metadata["labels"] = labels
    if declaration.annotations:
        metadata["annotations"] = dict(declaration.annotations)
    return annotate(
        {
            "apiVersion": ManagedResource.resource.api_version,
            "kind": ManagedResource.resource.kind,
            "metadata": metadata,
            "spec": {"secretRefs": references, **declaration.options.spec()},
        }
    )


def _secret(declaration: Declaration, part: bytes) -> JsonObject:
    metadata: JsonObject = {
        "namespace": declaration.key.namespace,
        "name": f"{SECRET_PREFIX}{declaration.key.name}",
        "labels": dict(declaration.secret_labels),
    }
    if declaration.secret_annotations:
        metadata["annotations"] = dict(declaration.secret_annotations)
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "type": "Opaque",
        "data": {DATA_KEY: base64.b64encode(part).decode()},
    }
