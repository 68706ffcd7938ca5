"""The target cluster as a set of stores: one per kind in use, of what carries our label.

Kinds join when an inventory or a manifest first names them, and leave when their definition is
deleted. A store is complete when it is opened, or opening it raises why it cannot be; the process
is ready without, for users decide which kinds there are. What we write goes into the stores at
once and wakes no set; every other change is passed on to the `Watcher`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, Protocol

from certwright.apply import ObjectRef
from certwright.client import Client, TransportError
from certwright.kube import (
    ApiError,
    Forbidden,
    GroupVersionKind,
    JsonObject,
    Key,
    NotFound,
    Resource,
)
from certwright.kube.kinds import (
    BUILT_IN,
    CustomResourceDefinition,
    HorizontalPodAutoscaler,
    Namespace,
    Pod,
)
from certwright.runtime import Cache, Entry, KeepFields, Store, StoreHandle

_BUILT_IN: Final = frozenset(BUILT_IN)
_POD_STATE: Final = KeepFields("/status/phase", "/status/reason", "/status/conditions")
_SCALE_TARGET: Final = KeepFields("/spec/scaleTargetRef")


class Watcher(Protocol):
    """Who wants to know what others do in the target cluster. None of it may raise."""

    def changed(self, resource: Resource, old: Entry | None, new: Entry | None) -> None:
        """Take note that an object with our label changed."""
        ...

    def scaled(self, kind: str, key: Key) -> None:
        """Take note that who scales an object of this kind changed; all its groups show it."""
        ...

    def pod_changed(self, old: Entry | None, new: Entry | None) -> None:
        """Take note that a pod of one of our workloads changed."""
        ...

    def kinds_changed(self) -> None:
        """Take note that other kinds may be served than before."""
        ...

    def namespace_appeared(self, name: str) -> None:
        """Take note that a namespace exists, after `TargetStores.watch_namespaces`."""
        ...


class TargetStores:
    """The objects of the target cluster that carry *label*, in *namespaces* or everywhere."""

    def __init__(
        self, client: Client, cache: Cache, *, label: str, namespaces: Sequence[str] = ()
    ) -> None:
        self.client = client
        self.watcher: Watcher | None = None
        self.unknown: set[GroupVersionKind] = set()
        """Kinds that were asked for and are not served, as far as is known."""
        self._cache = cache
        self._label = label
        self._mark = label.partition("=")
        self._namespaces = tuple(namespaces)
        self._shares: dict[tuple[Resource, str], StoreHandle] = {}
        self._definitions: StoreHandle | None = None
        self._all_namespaces: StoreHandle | None = None
        self._autoscalers: list[StoreHandle] = []
        self._pods: list[StoreHandle] = []

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Return whether an object with these labels is in the stores."""
        name, _, value = self._mark
        return labels.get(name) == value

    # Kinds

    async def resource(self, gvk: GroupVersionKind) -> Resource:
        """Return how the target serves a kind; definitions are watched once one is not built in.

        Raises:
            NotFound: the target does not serve it (yet).
        """
        known = self.client.discovery.known(gvk)
        if known is not None and known in _BUILT_IN:
            return known
        await self._watch_definitions()
        try:
            return known or await self.client.discovery.resource_for(gvk)
        except NotFound:
            self.unknown.add(gvk)
            raise

    async def _watch_definitions(self) -> None:
        """Watch which kinds are defined, and know all before a store of one of them is opened.

        A definition deleted before they are known would be missed, and with it that the store's
        objects are gone. Where definitions cannot be watched, kinds are watched without.
        """
        if self._definitions is None:
            self._definitions = self._cache.store(
                CustomResourceDefinition, metadata_only=True, required=False
            )
            self._definitions.listen(self._definition_changed)
        if not self._definitions.store.synced:
            with suppress(ApiError, TransportError):
                await self._definitions.ready()

    def _definition_changed(self, old: Entry | None, new: Entry | None) -> None:
        """Learn kinds anew; stop watching those whose definition is gone."""
        changed = new or old
        if changed is None or self._definitions is None or not self._definitions.store.synced:
            return
        self.client.discovery.invalidate()
        self.unknown.clear()
        for (resource, namespace), share in list(self._shares.items()):
            if f"{resource.plural}.{resource.group}" != changed.key.name:
                continue
            if new is None:
                del self._shares[resource, namespace]
                self._all_gone(share)
                share.release()
            else:
                share.watch.poke()
        if self.watcher is not None:
            self.watcher.kinds_changed()

    def _all_gone(self, share: StoreHandle) -> None:
        """Tell that objects went with their definition; no watch is left to say so."""
        for entry in share.store.items():
            if self.watcher is not None:
                self.watcher.changed(share.view.resource, entry, None)

    def watch_namespaces(self) -> None:
        """Report to the watcher which namespaces appear, and those that are there by now."""
        if self._all_namespaces is None:
            self._all_namespaces = self._cache.store(Namespace, metadata_only=True, required=False)
            self._all_namespaces.listen(self._namespace_changed)

    def _namespace_changed(self, old: Entry | None, new: Entry | None) -> None:
        if old is None and new is not None and not new.meta.deleting and self.watcher is not None:
            self.watcher.namespace_appeared(new.key.name)

    # Objects

    async def open(self, resource: Resource, namespace: str) -> Store:
        """Return the store that holds our objects of a kind in a namespace, complete.

        Raises:
            NotFound: the target does not serve the kind.
            Forbidden: it may not be watched, or the namespace is none of ours.
            ConnectFailed: the target cannot be reached.
        """
        place = self._place(resource, namespace)
        share = self._shares.get(place)
        if share is None:
            share = self._cache.store(
                resource,
                namespace=place[1],
                labels=self._label,
                required=False,
                foreign_fields=True,
            )
            self._shares[place] = share
            share.listen(self._listener(share), own_writes=False)
        if not share.store.synced:
            await share.ready()
        return share.store

    def get(self, resource: Resource, key: Key) -> Entry | None:
        """Return one of our objects from a store that is open."""
        place = self._place(resource, key.namespace)
        share = self._shares.get(place)
        return None if share is None else share.store.get(key)

    def held(self, refs: Iterable[ObjectRef]) -> Iterator[tuple[ObjectRef, Store, Entry]]:
        """Yield what the stores hold of some objects, and which store it is."""
        for ref in refs:
            resource = self.client.discovery.known(ref.gvk)
            if resource is None:
                continue
            share = self._shares.get((resource, ref.namespace if self._confines(resource) else ""))
            entry = share.store.get(ref.key) if share is not None else None
            if share is not None and entry is not None:
                yield ref, share.store, entry

    def siblings(self, resource: Resource, namespace: str) -> list[Entry]:
        """Return our objects of a kind in a namespace, as far as a store of them is open."""
        share = self._shares.get((resource, namespace if self._namespaces else ""))
        return [] if share is None else share.store.by_namespace(namespace)

    def _confines(self, resource: Resource) -> bool:
        return bool(self._namespaces) and resource.namespaced

    def _place(self, resource: Resource, namespace: str) -> tuple[Resource, str]:
        if not self._confines(resource):
            return resource, ""
        if namespace not in self._namespaces:
            raise Forbidden(
                f"{resource.kind} in namespace {namespace!r}: this instance is confined to the "
                f"namespaces {', '.join(self._namespaces)} of the target cluster"
            )
        return resource, namespace

    def _listener(self, share: StoreHandle) -> Callable[[Entry | None, Entry | None], None]:
        store, resource = share.store, share.view.resource

        def on_change(old: Entry | None, new: Entry | None) -> None:
            if store.synced and self.watcher is not None:
                self.watcher.changed(resource, old, new)

        return on_change

    # What others do with them

    async def autoscalers(self, namespaces: Iterable[str]) -> list[JsonObject]:
        """Return the autoscalers in namespaces; none where there is no such API."""
        if not self._autoscalers:
            self._autoscalers = [
                self._cache.store(
                    HorizontalPodAutoscaler,
                    namespace=namespace,
                    transform=_SCALE_TARGET,
                    required=False,
                )
                for namespace in self._namespaces or ("",)
            ]
            for share in self._autoscalers:
                share.listen(self._scaler_changed)
        for share in self._autoscalers:
            with suppress(NotFound):
                await share.ready()
        return [
            autoscaler.obj()
            for namespace in sorted(namespaces)
            for share in self._autoscalers
            for autoscaler in share.store.by_namespace(namespace)
        ]

    def _scaler_changed(self, old: Entry | None, new: Entry | None) -> None:
        before, after = (scale_target(entry) if entry else None for entry in (old, new))
        for target in (before, after) if before != after else ():
            if target is not None and self.watcher is not None:
                self.watcher.scaled(*target)

    async def pods(self, namespace: str) -> list[Entry]:
        """Return the pods of our workloads in a namespace, with nothing but their state."""
        if not self._pods:
            self._pods = [
                self._cache.store(
                    Pod,
                    namespace=confined,
                    labels=self._label,
                    transform=_POD_STATE,
                    required=False,
                )
                for confined in self._namespaces or ("",)
            ]
            for share in self._pods:
                share.listen(self._pod_changed)
        for share in self._pods:
            await share.ready()
        return [pod for share in self._pods for pod in share.store.by_namespace(namespace)]

    def _pod_changed(self, old: Entry | None, new: Entry | None) -> None:
        if self.watcher is not None:
            self.watcher.pod_changed(old, new)

    # Own writes

    def note_write(self, resource: Resource, raw: bytes) -> None:
        """Let every reader see what we wrote, and wake no set."""
        self._cache.note_write(resource, raw)

    def note_delete(self, resource: Resource, key: Key, uid: str) -> None:
        """Let no reader see any more what we deleted, and wake no set."""
        self._cache.note_delete(resource, key, uid)


def scale_target(entry: Entry) -> tuple[str, Key]:
    """Return what an autoscaler scales: kind and place."""
    target = (entry.obj().get("spec") or {}).get("scaleTargetRef") or {}
    place = Key(entry.key.namespace, str(target.get("name") or ""))
    return str(target.get("kind") or ""), place
