"""The operator's whole pass on a model of a cluster: it is killed, refused and misled at random.

The pass, its plan, its gates and its status are the product's own. What is modelled is below them:
the context, the kept set and the client, which act on a `ModelCluster` at once.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from msgspec import convert
from tests.support.faults.modelcluster import REGISTRATIONS, Stored, with_bundles
from tests.support.faults.modelsite import (
    Killed,
    ModelClient,
    ModelClock,
    ModelSite,
    Snapshot,
    Strike,
)

from certwright.api.certmanagerdeployments import CertManagerDeployment
from certwright.apply import Action, Change, ChangeSet, Declared, ObjectRef
from certwright.apply.engine.declared import ObjectOrigin
from certwright.apply.objectset.objectset import SetChanges
from certwright.client import Client, TransportError
from certwright.keep import Installer, KeptChanges, StatusInventory
from certwright.keep.marks import Marks
from certwright.kube import (
    Conflict,
    JsonObject,
    Key,
    Object,
    ServiceUnavailable,
)
from certwright.kube.patches import apply_merge_patch
from certwright.operators.certmanager.engine.claim import Claims
from certwright.operators.certmanager.engine.controller import InstallController
from certwright.operators.certmanager.engine.gates import Gates
from certwright.operators.certmanager.engine.port import Source
from certwright.operators.certmanager.engine.view import ClusterView
from certwright.operators.certmanager.operator import CLAIMANTS
from certwright.operators.certmanager.redhat.kind import FIELD_MANAGER, DeploymentKind
from certwright.runtime import Backoff, Context

MARKS = Marks.of("operators.redhat.io", FIELD_MANAGER)
OWNER = Key("", "cluster")
FINALIZER = "operators.redhat.io/model"


@dataclass
class ModelProcess:
    """The operator's process: what it has seen, which is lost when it is killed."""

    site: ModelSite
    source: Source
    past: Snapshot
    """What its first passes may be shown."""
    seen: dict[ObjectRef, Stored] = field(init=False)
    resource: JsonObject | None = field(init=False)
    fresh: bool = False
    controller: InstallController[CertManagerDeployment] = field(init=False)

    def __post_init__(self) -> None:
        self.controller = InstallController(
            DeploymentKind(),
            self.source,
            cast(Installer, ModelInstaller(self)),
            ClusterView(ModelInstaller(self), self.client, self.clock),
            Gates(self.client, self.clock),
            Claims(CLAIMANTS),
            Backoff(0.1, 30.0, rng=self.site.cluster.rng),
            field_manager=FIELD_MANAGER,
        )
        self.seen, self.resource = dict(self.past.objects), self.past.resource

    @property
    def clock(self) -> ModelClock:
        """The time."""
        return ModelClock(self.site.cluster)

    @property
    def client(self) -> Client:
        """What answers for the API server."""
        return cast(Client, ModelClient(self.site))

    def look(self) -> None:
        """See everything as it is."""
        self.seen, self.resource = dict(self.site.cluster.objects), self.site.resource
        self.fresh = True

    async def pass_over(self) -> bool:
        """Make a pass; return whether it came to its end."""
        if self.site.cluster.rng.random() < self.site.lag:
            self.fresh = False
        else:
            self.look()
        try:
            await self.controller.reconcile(cast(Context, ModelContext(self)), OWNER)
        except (Conflict, ServiceUnavailable, TransportError):
            self.look()
            return False
        return True

    def expect_current(self) -> None:
        """Raise `Conflict` if the custom resource has changed since it was read."""
        if self.resource is not self.site.resource:
            raise Conflict("the object has been modified")

    def write_resource(self, patch: JsonObject) -> None:
        """Merge a change into the custom resource that was read."""
        self.expect_current()
        strike = self.site.strike()
        if strike is Strike.REFUSED:
            raise ServiceUnavailable("try again")
        self.site.change(patch)
        self.resource = self.site.resource
        _answer(strike)


def _answer(strike: Strike) -> None:
    if strike is Strike.LOST:
        raise TransportError("the connection was reset")
    if strike is Strike.KILLED:
        raise Killed


@dataclass(frozen=True)
class ModelStore:
    """The store of the custom resource."""

    process: ModelProcess

    def get(self, _key: Key) -> "ModelEntry | None":
        """Return the entry of the one object."""
        found = self.process.resource
        return ModelEntry(found) if found is not None else None


@dataclass(frozen=True)
class ModelEntry:
    """An entry of a store."""

    content: JsonObject

    def obj(self) -> JsonObject:
        """Return the object."""
        return self.content

    def as_(self, kind: type[CertManagerDeployment]) -> CertManagerDeployment:
        """Return the object decoded."""
        return convert(self.content, kind)


@dataclass(frozen=True)
class ModelContext:
    """What a `Context` does for the pass."""

    process: ModelProcess

    @property
    def clock(self) -> ModelClock:
        """The time."""
        return self.process.clock

    @property
    def client(self) -> Client:
        """The client."""
        return self.process.client

    def get(self, kind: Any, _key: Key) -> Any:
        """Return the custom resource, or the claim."""
        if kind is not CertManagerDeployment:
            return self.process.site.claim
        entry = self.store(kind).get(OWNER)
        return entry.as_(kind) if entry is not None else None

    def store(self, _kind: Any) -> ModelStore:
        """Return the store of custom resources."""
        return ModelStore(self.process)

    async def status(self, _obj: Object, new: JsonObject) -> None:
        """Replace the status."""
        old = (self.process.resource or {}).get("status") or {}
        gone = {name: None for name in old if name not in new}
        self.process.write_resource({"status": {**new, **gone}})

    async def patch(self, obj: Any, change: JsonObject, *, subresource: str = "") -> None:
        """Merge a change into the custom resource, or into the claim."""
        if subresource or isinstance(obj, Object):
            self.process.write_resource(change)
        else:
            self.process.site.claim = apply_merge_patch(obj, change)

    async def create(self, obj: JsonObject) -> JsonObject:
        """Create the claim."""
        self.process.site.claim = obj
        return obj

    async def delete(self, _obj: JsonObject) -> None:
        """Delete the claim."""
        self.process.site.claim = None

    def event(self, *_args: object) -> None:
        """Drop an event."""


@dataclass(frozen=True)
class ModelInstaller:
    """What an `Installer` does: inventory first, then only what is not as declared."""

    process: ModelProcess
    annotation: str = MARKS.annotation
    origin: str = MARKS.origin
    field_manager: str = FIELD_MANAGER

    async def entry(self, ref: ObjectRef) -> Stored | None:
        """Return one of our objects as it is seen."""
        found = self.process.seen.get(ref)
        return found if found is not None and self.annotation in found.annotations else None

    async def install(
        self,
        _ctx: Context,
        _obj: Object,
        inventory: StatusInventory,
        objects: Iterable[Declared],
        **_options: object,
    ) -> KeptChanges:
        """Make the cluster hold objects."""
        given = tuple(objects)
        found = [self._is_as_declared(one) for one in given]
        if not all(found):
            self.process.expect_current()
        await inventory.add([one.ref for one in given])
        changes = ChangeSet.of(
            Change(one.ref, Action.UNCHANGED) if as_declared else self._apply(one)
            for one, as_declared in zip(given, found, strict=True)
        )
        return KeptChanges(SetChanges(changes))

    def _is_as_declared(self, one: Declared) -> bool:
        seen = self.process.seen.get(one.ref)
        return seen is not None and seen.applied == one.obj

    def _apply(self, one: Declared) -> Change:
        site, ref = self.process.site, one.ref
        strike = site.strike()
        if strike is Strike.REFUSED:
            return Change(ref, Action.FAILED, "try again")
        live = site.cluster.objects.get(ref)
        if live is None:
            body = one.rules.created_as(one.obj) if one.rules.created_as is not None else one.obj
        elif ref.kind in REGISTRATIONS:  # bundles are the cainjector's
            bundles = [
                hook["clientConfig"].get("caBundle") or "" for hook in live.obj()["webhooks"]
            ]
            body = {**one.obj, "webhooks": with_bundles(one.obj, bundles)}
        else:
            body = one.obj
        metadata = body["metadata"]
        ours = {self.annotation: "cluster", self.origin: ObjectOrigin.CREATED.value}
        annotations = {**(metadata.get("annotations") or {}), **ours}
        written = {**body, "metadata": {**metadata, "annotations": annotations}}
        self.process.seen[ref] = site.cluster.put(ref, written, one.obj)
        if strike is Strike.KILLED:
            raise Killed
        lost = strike is Strike.LOST
        return Change(ref, Action.FAILED if lost else Action.CONFIGURED, "reset" if lost else "")

    async def delete(
        self,
        _ctx: Context,
        _obj: Object,
        inventory: StatusInventory,
        *,
        only: Collection[ObjectRef],
        **_options: object,
    ) -> ChangeSet:
        """Delete some objects, if they are ours."""
        self.process.expect_current()
        changes = []
        for ref in only:
            strike = self.process.site.strike()
            if strike is Strike.REFUSED:
                changes.append(Change(ref, Action.FAILED, "try again"))
                continue
            live = self.process.site.cluster.objects.get(ref)
            if live is not None and self.annotation in live.annotations:
                self.process.site.cluster.delete(ref)
            self.process.seen.pop(ref, None)
            if strike is Strike.KILLED:
                raise Killed
            changes.append(Change(ref, Action.DELETED))
        await inventory.discard([one.ref for one in changes if one.action is Action.DELETED])
        return ChangeSet.of(changes)

    async def release(
        self,
        _ctx: Context,
        _obj: Object,
        inventory: StatusInventory,
        refs: Collection[ObjectRef],
    ) -> ChangeSet:
        """Take our mark off objects."""
        cluster = self.process.site.cluster
        for ref in refs:
            if (live := cluster.objects.get(ref)) is not None:
                metadata = {**live.obj()["metadata"], "annotations": {}}
                self.process.seen[ref] = cluster.put(ref, {**live.obj(), "metadata": metadata})
        await inventory.discard(refs)
        return ChangeSet.of(Change(ref, Action.CONFIGURED) for ref in refs)

    async def hold(self, _ctx: Context, obj: CertManagerDeployment) -> None:
        """Add the finalizer."""
        if not obj.metadata.finalizers:
            self.process.write_resource({"metadata": {"finalizers": [FINALIZER]}})

    async def let_go(self, _ctx: Context, _obj: CertManagerDeployment) -> None:
        """Remove the finalizer."""
        self.process.write_resource({"metadata": {"finalizers": None}})


def told(resource: JsonObject | None) -> dict[str, str]:
    """Return the conditions that a status shows, by type."""
    conditions: Sequence[JsonObject] = ((resource or {}).get("status") or {}).get(
        "conditions"
    ) or ()
    return {str(one["type"]): str(one["status"]) for one in conditions}
