"""A model of a cluster with the custom resource on it, and what goes wrong there.

What an operator asks the API server itself is answered here, too.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

import orjson
from tests.support.faults.modelcluster import (
    ModelCluster,
    ModelPage,
    Stored,
    key_in,
    page,
    pods_with,
)

from certwright.apply import ObjectRef
from certwright.client import Selection
from certwright.kube import GroupVersionKind, JsonObject, Key, NotFound, Resource
from certwright.kube.patches import apply_merge_patch


class Killed(Exception):
    """The process ended."""


class Strike(Enum):
    """What goes wrong with a write."""

    NONE = auto()
    REFUSED = auto()
    LOST = auto()
    """It is carried out, and the answer does not come."""
    KILLED = auto()
    """It is carried out, and then the process ends."""


@dataclass(frozen=True)
class Snapshot:
    """The objects of a moment."""

    objects: Mapping[ObjectRef, Stored]
    resource: JsonObject | None


@dataclass
class ModelSite:
    """A model of a cluster with the custom resource, and how dangerous it is there."""

    cluster: ModelCluster
    resource: JsonObject | None = None
    claim: JsonObject | None = None
    danger: float = 0.0
    """How many of all writes go wrong, from 0 to 1."""
    lag: float = 0.0
    """How many of all passes see an old state, from 0 to 1."""
    writes: int = 0

    def snapshot(self) -> Snapshot:
        """Return the objects of this moment."""
        return Snapshot(dict(self.cluster.objects), self.resource)

    def strike(self) -> Strike:
        """Return what becomes of the next write."""
        self.writes += 1
        rng = self.cluster.rng
        if rng.random() >= self.danger:
            return Strike.NONE
        return rng.choice([Strike.REFUSED, Strike.LOST, Strike.KILLED])

    def change(self, patch: JsonObject) -> None:
        """Merge a change into the custom resource."""
        assert self.resource is not None
        changed: JsonObject = apply_merge_patch(self.resource, patch)
        spec = changed.get("spec") != self.resource.get("spec")
        generation = self.resource["metadata"]["generation"] + spec
        version = self.cluster.next_version()
        identity = {"generation": generation, "resourceVersion": version}
        metadata = {**changed["metadata"], **identity}
        self.resource = {**changed, "metadata": metadata}
        if "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            self.resource = None


@dataclass(frozen=True)
class ModelClock:
    """The time of a model."""

    cluster: ModelCluster

    def now(self) -> datetime:
        """Return the time of day."""
        return self.cluster.time()

    def monotonic(self) -> float:
        """Return how many seconds have passed."""
        return self.cluster.now


@dataclass(frozen=True)
class ModelClient:
    """What the pass asks the API server itself."""

    site: ModelSite

    @property
    def discovery(self) -> "ModelClient":
        """What is served: everything."""
        return self

    async def resource_for(self, gvk: GroupVersionKind) -> Resource:
        """Return the resource of a kind."""
        return Resource(gvk.group, gvk.version, gvk.kind, gvk.kind.lower())

    async def get(self, resource: Resource, key: Key) -> JsonObject:
        """Return an object."""
        cluster = self.site.cluster
        if resource.kind == "Lease" and cluster.lease is not None:
            return cluster.lease
        for ref, stored in cluster.objects.items():
            if key_in(ref, resource.kind, key):
                return stored.obj()
        raise NotFound(f"{resource.kind} {key} not found")

    async def create(self, body: JsonObject, *, dry_run: bool) -> None:
        """Judge a Certificate."""
        assert dry_run
        self.site.cluster.create_certificate(sensible="dnsNames" in body["spec"])

    async def pages(
        self, resource: Resource, where: Selection | None = None, **_options: object
    ) -> AsyncIterator[ModelPage]:
        """Yield the pods of a Deployment, all Deployments, or nothing."""
        cluster = self.site.cluster
        if resource.kind == "Pod" and where is not None:
            yield page(pods_with(cluster, where.labels))
        elif resource.kind == "Deployment" and where is None:
            yield page(cluster.found("Deployment"))

    async def send(self, _request: object) -> "ModelBody":
        """Return the version of Kubernetes."""
        return ModelBody(orjson.dumps({"major": "1", "minor": "34"}))


@dataclass(frozen=True)
class ModelBody:
    """A response."""

    body: bytes
