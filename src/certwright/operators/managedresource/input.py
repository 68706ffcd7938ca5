"""The input of a pass: the Secrets, what they declare, and what follows from it.

All Secrets of a cluster are watched, and only those are kept that a ManagedResource refers to.
That is known by the time the watch begins, because it begins after the ManagedResources are
complete. A Secret that was there before its ManagedResource is still at hand, or else read once.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import Struct

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import ManagedResource, ObjectReference
from certwright.apply import Action, ObjectRef, PruneGuard, PruneOptions, SetChanges
from certwright.client import Client, request
from certwright.kube import (
    Forbidden,
    GroupVersionKind,
    JsonObject,
    Key,
    NotFound,
    Resource,
    ServiceUnavailable,
)
from certwright.kube.kinds import Secret
from certwright.operators.managedresource.configuration.settings import PruneGuardSettings
from certwright.operators.managedresource.declared import Cpu, DecodedSecret, Input, combined_input
from certwright.operators.managedresource.inventory import (
    Changes,
    Equivalences,
    afterwards,
    compare,
    in_order,
    ref_of,
)
from certwright.operators.managedresource.ownership import Origin
from certwright.operators.managedresource.policy import (
    SCALED_KINDS,
    ApplyPlan,
    Scaled,
    confirmation,
    delete_rules,
    plan,
    refusing,
    scale_targets,
    without_workloads,
)
from certwright.operators.managedresource.status import MANY
from certwright.runtime import Cache, Entry, Store, StoreHandle

SECRETS = "secrets"
"""The index that finds ManagedResources by the Secrets they refer to."""


class _Reference(Struct):
    name: str = ""


class _Spec(Struct, rename="camel"):
    secret_refs: list[_Reference] = []


class _Referring(Struct):
    spec: _Spec


_DECODER = msgspec.json.Decoder(_Referring)


@lru_cache(maxsize=256)
def referenced_secrets(entry: Entry) -> tuple[Key, ...]:
    """Return the Secrets a ManagedResource refers to; each change asks four times."""
    namespace = entry.key.namespace
    refs = _DECODER.decode(entry.raw).spec.secret_refs
    return tuple(dict.fromkeys(Key(namespace, ref.name) for ref in refs))


class Secrets:
    """Finds Secrets by name, and tells whose Secret has changed."""

    def __init__(
        self,
        client: Client,
        cache: Cache,
        *,
        namespaces: Sequence[str] = (),
        wake: Callable[[Key], None],
    ) -> None:
        self._client = client
        self._cache = cache
        self._namespaces = tuple(namespaces) or ("",)
        self._wake = wake
        self._resources: list[Store] = []
        self._shares: dict[str, StoreHandle] = {}
        self._absent: set[Key] = set()  # the server said so, and no event since says otherwise

    def serve(self, resources: Store) -> None:
        """Keep the Secrets that the ManagedResources of a complete store refer to."""
        if any(resources is known for known in self._resources):
            return
        self._resources.append(resources)
        resources.listen(self._reference_changed)

    async def ready(self) -> None:
        """Return when the Secrets are complete; the first who asks starts the watch.

        Raises:
            Forbidden: Secrets may not be watched.
            ConnectFailed: the source cluster cannot be reached.
        """
        for namespace in self._namespaces:
            share = self._shares.get(namespace)
            if share is None:
                share = self._cache.store(Secret, namespace=namespace, keep=self._is_wanted)
                self._shares[namespace] = share
                share.listen(self._secret_changed, own_writes=False)
            await share.ready()

    async def read(self, resources: Store, resource: ManagedResource) -> list[Entry]:
        """Return the Secrets in the order they are referred to, each as often as it is.

        Raises:
            NotFound: one does not exist.
            ApiError, TransportError: one cannot be read.
        """
        self.serve(resources)
        await self.ready()
        namespace = resource.metadata.namespace
        return [await self.get(Key(namespace, ref.name)) for ref in resource.spec.secret_refs]

    async def get(self, key: Key) -> Entry:
        """Return a Secret that a ManagedResource refers to.

        Raises:
            NotFound: there is none.
            ApiError: it cannot be read.
            TransportError: the source cluster does not answer.
        """
        store = self.store(key)
        entry = store.get(key) or store.admit(key)
        if entry is not None:
            return entry
        if key in self._absent:
            raise NotFound(_missing(key))
        return await self._read(store, key)

    async def _read(self, store: Store, key: Key) -> Entry:
        try:
            answer = await self._client.send(request.get(Secret, key))
        except NotFound:
            if (seen := store.get(key) or store.admit(key)) is not None:
                return seen  # it was created while we asked
            self._absent.add(key)
            raise NotFound(_missing(key)) from None
        entry = store.decoder.entry(answer.body)
        store.upsert(entry, own=True)  # it was asked for, so it wakes nothing
        return store.get(key) or entry

    def checks(self, seen: Sequence[Entry]) -> list[Callable[[], Awaitable[None]]]:
        """Return, for Secrets that were read, what makes sure that they are still the same.

        That they are those the status tells of proves nothing: a predecessor that had seen later
        ones may have changed the objects, and not lived to report it.
        """
        return [
            partial(
                self._cache.confirm,
                Secret,
                entry.key,
                uid=entry.uid,
                version=entry.meta.resource_version,
            )
            for entry in seen
        ]

    def store(self, key: Key) -> Store:
        """Return the store that holds a Secret; only once the Secrets are `ready`."""
        share = self._shares.get(key.namespace) or self._shares[""]
        return share.store

    def _is_wanted(self, entry: Entry) -> bool:
        self._absent.discard(entry.key)
        return any(store.by_index(SECRETS, entry.key) for store in self._resources)

    def _secret_changed(self, old: Entry | None, new: Entry | None) -> None:
        changed = new or old
        if changed is None:
            return
        if new is None:
            self._absent.add(changed.key)
        for store in self._resources:
            for resource in store.by_index(SECRETS, changed.key):
                self._wake(resource.key)

    def _reference_changed(self, old: Entry | None, new: Entry | None) -> None:
        """Keep Secrets that are referred to from now on, let go of those that are not any more.

        A Secret often arrives just before its ManagedResource. It is taken in at once: until the
        first pass, others may have pushed it out of the store's memory of refused ones.
        """
        before = set(referenced_secrets(old)) if old is not None else set()
        after = set(referenced_secrets(new)) if new is not None else set()
        for key in after - before:
            if (share := self._share(key)) is not None:
                share.store.admit(key)
        for key in before - after:
            if any(store.by_index(SECRETS, key) for store in self._resources):
                continue
            self._absent.discard(key)
            if (share := self._share(key)) is not None:
                share.store.discard(key)

    def _share(self, key: Key) -> StoreHandle | None:
        return self._shares.get(key.namespace) or self._shares.get("")


def _missing(key: Key) -> str:
    return f'secrets "{key.name}" not found'


R = TypeVar("R")


# The facts of a pass


class TargetReader(Protocol):
    """What has to be known of the target before anything is decided."""

    async def resource(self, gvk: GroupVersionKind) -> Resource:
        """Return how the target serves a kind; `NotFound` if it does not."""
        ...

    async def autoscalers(self, namespaces: Iterable[str]) -> list[JsonObject]:
        """Return the HorizontalPodAutoscalers of namespaces."""
        ...

    async def forbidden(self, refs: Iterable[ObjectRef]) -> Mapping[ObjectRef, str]:
        """Return which objects must not be touched, each with the reason."""
        ...


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that a pass decides on."""

    declared: Input
    plan: ApplyPlan
    inventory: Sequence[ObjectReference]
    """What belonged to the ManagedResource before this pass."""
    changes: Changes
    equivalences: Equivalences
    warnings: tuple[str, ...] = ()

    @property
    def refs(self) -> list[ObjectRef]:
        """The objects to keep, in the order of the inventory."""
        return [ref_of(entry) for entry in in_order(self.plan.inventory)]

    def unchanged_input(self, resource: ManagedResource) -> bool:
        """Return whether the status of the ManagedResource reports this very input."""
        return (
            resource.status.observed_generation == resource.metadata.generation
            and resource.status.secrets_data_checksum == self.declared.checksum
        )

    def left(self, done: SetChanges) -> list[ObjectReference]:
        """Return what is no longer declared and stays in the inventory after a pass."""
        same = self.equivalences.canonical
        remaining = {same(ref) for ref in done.remaining}
        return [entry for entry in self.changes.marked() if same(ref_of(entry)) in remaining]

    def inventory_after(self, done: SetChanges) -> list[ObjectReference]:
        """Return what belongs to the ManagedResource after a pass, with the labels it got."""
        left, wanted = self.left(done), self.plan.inventory
        missed = done.applied.with_action(Action.FAILED, Action.BLOCKED)
        if not missed and not left:
            return in_order(wanted)
        before = {ref_of(entry).identity: entry for entry in self.inventory}
        unwritten = {entry.ref.identity for entry in missed}
        kept = [
            before.get(identity, entry)
            if (identity := ref_of(entry).identity) in unwritten
            else entry
            for entry in wanted
        ]
        return afterwards(kept, left)

    def prune_options(
        self,
        resource: ManagedResource,
        guard: PruneGuardSettings,
        *,
        garbage_collected: bool,
    ) -> PruneOptions:
        """Return what may be pruned."""
        doubtful = self.declared.in_doubt or self.plan.refused
        return PruneOptions(
            prune=True,
            doubts="documents or objects of the input cannot be used" if doubtful else "",
            confirmed=confirmation(resource.metadata.annotations.get(keys.CONFIRM_PRUNE)),
            guard=PruneGuard(guard.objects, guard.percent),
            before=self.changes.objects_before,
            despite_failures=True,
            released=self.declared.released,
            same=self.equivalences.canonical,
            rules=delete_rules(resource, self.changes.removed, garbage_collected=garbage_collected),
        )


async def gather(
    resource: ManagedResource,
    decoded: Sequence[DecodedSecret],
    inventory: Sequence[ObjectReference],
    target: TargetReader,
    *,
    origin: Origin,
    managed_by: str,
    cpu: Cpu,
) -> Facts:
    """Derive what is to be applied and what is no longer, from stores wherever possible.

    Raises:
        ApiError, TransportError: the target does not answer as it should.
    """
    equivalences = Equivalences.of(resource.spec.equivalences)
    scopes = await _scopes(target, decoded)
    many = sum(len(secret.manifests) for secret in decoded) > MANY
    run = cpu if many else inline
    declared = await run(combined_input, decoded, scopes.get)
    if problems := await target.forbidden(item.ref for item in declared.objects):
        declared = refusing(declared, problems)
    try:
        scaled = await _scaled(target, declared, equivalences)
    except Forbidden as error:
        declared = without_workloads(declared, str(error))
        scaled = Scaled(frozenset(), (), equivalences)
    planned = await run(plan, resource, declared, origin, managed_by, scaled)
    changes = await run(compare, inventory, planned.inventory, equivalences)
    return Facts(declared, planned, inventory, changes, equivalences, scaled.warnings)


async def inline(fn: Callable[..., R], *args: Any) -> R:
    """Run a function here and now: a `Cpu` for what is quick."""
    return fn(*args)


async def _scopes(
    target: TargetReader, decoded: Iterable[DecodedSecret]
) -> dict[GroupVersionKind, bool]:
    """Return which of the kinds in manifests are namespaced, as far as the target knows them."""
    kinds: dict[GroupVersionKind, None] = {}  # in the order of the manifests
    for secret in decoded:
        for manifest in secret.manifests:
            try:
                gvk = GroupVersionKind.parse(manifest.obj["apiVersion"], manifest.obj["kind"])
            except (KeyError, ValueError, AttributeError, TypeError):
                continue  # what is no object is refused later
            kinds[gvk] = None
    await asyncio.sleep(0)  # there may be thousands of manifests
    scopes: dict[GroupVersionKind, bool] = {}
    for gvk in kinds:
        try:
            scopes[gvk] = (await target.resource(gvk)).namespaced
        except (NotFound, ServiceUnavailable):
            continue  # applying it tells
    return scopes


async def _scaled(target: TargetReader, declared: Input, equivalences: Equivalences) -> Scaled:
    workloads = (item.ref for item in declared.objects if item.ref.kind in SCALED_KINDS)
    namespaces = {ref.namespace for ref in workloads}
    autoscalers = await target.autoscalers(namespaces) if namespaces else []
    return scale_targets(autoscalers, equivalences)
