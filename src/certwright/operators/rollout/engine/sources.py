"""The Secrets and ConfigMaps that workloads consume, watched as digests.

All Secrets of a cluster pass by, and those that a workload consumes stay. Workloads are known
before the first Secret arrives. What a workload names later is read once, and watched from then on
like the rest. What the Secrets Store CSI driver mounts is known by `ProviderClasses`.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from certwright.client import Client, Selection, TransportError, request
from certwright.kube import ApiError, NotFound, Resource, kinds
from certwright.operators.rollout.decision.compare import (
    Counted,
    SourceChange,
    SourceContents,
    change_of,
    counted,
)
from certwright.operators.rollout.decision.digest import DigestKey
from certwright.operators.rollout.engine.contents import (
    COMPRESSION,
    DigestedContents,
    read_contents,
)
from certwright.operators.rollout.engine.keysecret import KeySecret
from certwright.operators.rollout.engine.providerclasses import ProviderClasses
from certwright.operators.rollout.policy import RolloutPolicy, SourceCondition
from certwright.operators.rollout.workload import SourceKind, SourceRef, SourceUse, UsePath
from certwright.runtime import Backoff, Cache, Entry, StoreHandle

SOURCE_RESOURCES: Final[dict[SourceKind, Resource]] = {
    SourceKind.SECRET: kinds.Secret,
    SourceKind.CONFIG_MAP: kinds.ConfigMap,
}
ANY_NAME: Final = "*"
"""The name in a reference that stands for what matches a pattern."""


class SourceStores:
    """Digests of what workloads consume.

    *namespace* is where they are watched, everywhere if empty; *wanted* says whether a workload
    consumes a source, *changed* is called when one changes.
    """

    def __init__(
        self,
        client: Client,
        cache: Cache,
        key_secret: KeySecret,
        backoff: Backoff,
        *,
        namespace: str,
        wanted: Callable[[SourceRef], bool],
        changed: Callable[[SourceRef, SourceContents | None, SourceChange], None],
    ) -> None:
        self._client = client
        self._cache = cache
        self._key_secret = key_secret
        self._backoff = backoff
        self._namespace = namespace
        self._wanted = wanted
        self._changed = changed
        self._stores: dict[SourceKind, StoreHandle] = {}
        self._classes: ProviderClasses | None = None
        self._absent: set[SourceRef] = set()
        """What workloads name and is known not to exist. What is in no store and not here was not
        kept when it passed by, and has to be read."""
        self._listed: set[tuple[SourceKind, str]] = set()
        """Kinds and namespaces of which everything is kept, because a pattern may match it."""
        self._ready = asyncio.Event()
        self._key: DigestKey | None = None
        self._lost = asyncio.Event()

    @property
    def key(self) -> DigestKey:
        """The key of all digests, once `ready` has returned."""
        assert self._key is not None
        return self._key

    @property
    def is_ready(self) -> bool:
        """Whether everything that workloads consume is known: no pass has begun before."""
        return self._ready.is_set()

    async def ready(self) -> None:
        """Return as soon as everything that workloads consume is known."""
        await self._ready.wait()

    async def open(self, wanted: frozenset[SourceKind], consumed: Iterable[SourceRef]) -> None:
        """Read or make the key, and watch kinds; *consumed* is what workloads consume now."""
        failures = 0
        while self._key is None:
            try:
                self._key = await self._key_secret.load()
            except (ApiError, TransportError):
                failures += 1
                await asyncio.sleep(self._backoff.delay(failures))
        known = set(consumed)  # which is kept when it passes by
        if SourceKind.PROVIDER_CLASS in wanted:  # not waited for: no contents are no change
            self._classes = ProviderClasses(
                self._cache,
                self._namespace,
                self._key,
                lambda ref, contents: self._changed(ref, contents, SourceChange.STANDING),
            )
        for kind in sorted(wanted & SOURCE_RESOURCES.keys()):
            self._stores[kind] = self._open(kind, self._key)
        for handle in self._stores.values():
            await handle.synced()
        self._listed.update((ref.kind, ref.namespace) for ref in known if ref.name == ANY_NAME)
        self._absent.update(
            ref
            for ref in known
            if ref.kind in self._stores and ref.key not in self._stores[ref.kind].store
        )
        self._watch_key()
        self._ready.set()

    def _open(self, kind: SourceKind, key: DigestKey) -> StoreHandle:
        def is_wanted(entry: Entry) -> bool:
            return self._wanted(SourceRef(kind, *entry.key))

        def on_change(old: Entry | None, new: Entry | None) -> None:
            entry = new or old
            assert entry is not None
            ref = SourceRef(kind, *entry.key)
            if new is not None:
                self._absent.discard(ref)
            elif (kind, ref.namespace) not in self._listed:  # else it may match a pattern only
                self._absent.add(ref)
            before, after = (None if one is None else read_contents(ref, one) for one in (old, new))
            self._changed(ref, after, change_of(before, after))

        handle = self._cache.store(
            SOURCE_RESOURCES[kind],
            namespace=self._namespace,
            transform=DigestedContents(kind, key, self._wanted),
            keep=is_wanted,
            compression=COMPRESSION,
        )
        handle.store.keep_no_refused()
        handle.listen(on_change, own_writes=False)
        return handle

    # Reading

    async def present(self, policy: RolloutPolicy) -> list[Counted]:
        """Return the sources of a policy with their contents, those that match patterns last."""
        found = {
            candidate.use.ref: await self._counted(candidate.use, candidate.conditions)
            for candidate in policy.candidates
            if self._is_watched(candidate.use.ref.kind)
        }
        for pattern in policy.patterns:
            for name in await self._names(pattern.kind, pattern.namespace):
                ref = SourceRef(pattern.kind, pattern.namespace, name)
                if ref not in found and pattern.matches(name):
                    use = SourceUse(ref, None, frozenset({UsePath.NAMED}))
                    found[ref] = await self._counted(use, pattern.conditions)
        return list(found.values())

    def _is_watched(self, kind: SourceKind) -> bool:
        return kind in self._stores or (
            kind is SourceKind.PROVIDER_CLASS and self._classes is not None
        )

    async def _names(self, kind: SourceKind, namespace: str) -> list[str]:
        """Return the names of all sources of a kind in a namespace."""
        if kind is SourceKind.PROVIDER_CLASS:
            return sorted(self._classes.names(namespace)) if self._classes is not None else []
        if kind not in self._stores:
            return []
        await self._list(kind, namespace)
        return [entry.key.name for entry in self._stores[kind].store.by_namespace(namespace)]

    async def _counted(self, use: SourceUse, conditions: Iterable[SourceCondition]) -> Counted:
        if use.ref.kind is SourceKind.PROVIDER_CLASS:
            assert self._classes is not None
            return counted(use, self._classes.contents(use.ref), *conditions)
        store = self._stores[use.ref.kind].store
        if use.ref.key not in store and use.ref not in self._absent:
            await self._read(use.ref)
        entry = store.get(use.ref.key)
        if entry is None:
            return Counted(use, None)
        contents = read_contents(use.ref, entry)
        return (
            Counted(use, None, excluded=True)
            if contents is None
            else counted(use, contents, *conditions)
        )

    async def _read(self, ref: SourceRef) -> None:
        """Read a source that no workload consumed when it passed by."""
        resource, store = SOURCE_RESOURCES[ref.kind], self._stores[ref.kind].store
        try:
            answer = await self._client.send(request.get(resource, ref.key))
        except NotFound:
            pass
        else:
            store.upsert(store.decoder.entry(answer.body), own=True)
        if ref.key not in store:
            self._absent.add(ref)

    async def _list(self, kind: SourceKind, namespace: str) -> None:
        """Read the sources of a namespace that passed by before a pattern named some of them."""
        if (kind, namespace) in self._listed:
            return
        store = self._stores[kind].store
        async for page in self._client.pages(SOURCE_RESOURCES[kind], Selection(namespace)):
            for item in page.items:
                store.upsert(store.decoder.entry(bytes(item)), own=True)
        self._listed.add((kind, namespace))

    async def confirm(self, ref: SourceRef, resource_version: str) -> None:
        """Ask the server whether a source is as it is known here; `Conflict` if not."""
        resource = SOURCE_RESOURCES[ref.kind]
        entry = self._stores[ref.kind].store.get(ref.key)
        uid = entry.uid if entry is not None else ""
        await self._cache.confirm(resource, ref.key, uid=uid, version=resource_version)

    def forget(self, refs: Iterable[SourceRef]) -> None:
        """Drop what no workload consumes any more."""
        for ref in refs:
            if not self._wanted(ref):
                self._absent.discard(ref)
                if ref.name == ANY_NAME:
                    self._listed.discard((ref.kind, ref.namespace))
                elif ref.kind in self._stores:
                    self._stores[ref.kind].store.discard(ref.key)

    # The key

    def _watch_key(self) -> None:
        """Watch the Secret of the key, to make it again when it is deleted."""
        home = self._key_secret.home
        handle = self._cache.store(
            kinds.Secret,
            namespace=home.namespace,
            fields=f"metadata.name={home.name}",
            metadata_only=True,
            required=False,
        )

        def on_change(_old: Entry | None, new: Entry | None) -> None:
            if new is None:
                self._lost.set()

        handle.listen(on_change)

    async def run(self) -> None:
        """Make the Secret of the key again whenever it is deleted."""
        failures = 0
        while True:
            await self._lost.wait()
            self._lost.clear()
            try:
                await self._key_secret.restore()
                failures = 0
            except (ApiError, TransportError):
                failures += 1
                await asyncio.sleep(self._backoff.delay(failures))
                self._lost.set()
