"""Kept sets for an operator of a custom kind whose status holds the inventory.

::

    installer = Installer(host, "packages", domain="demo.certwright.dev")
    …
    changes = await installer.install(ctx, package, package.status.inventory, objects)
    return installer.outcome(key, changes)

`examples/kept.py` is a whole operator.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from certwright.apply import Declared, ObjectRef, ObjectSet, Owner, PruneOptions
from certwright.apply.engine.memory import digest_of
from certwright.client import Client
from certwright.keep.drift import Drift
from certwright.keep.keptset import Confirmation, DeclaredSet, KeptChanges, KeptSets, OutOfDate
from certwright.keep.state import SetState, SetStates
from certwright.keep.stores import TargetStores
from certwright.kube import Conflict, JsonObject, Key, Object, key_of
from certwright.runtime import DONE, Backoff, Cache, Channel, Context, OperatorHost, Outcome, again

PENDING_SECONDS: Final = 5.0
"""How often objects that are being deleted are looked at, should no event come."""
CONFIRMED: Final = PruneOptions(prune=True, confirmed=True, despite_failures=True)
"""Delete whatever is not declared any more, however much it is: a spec is no broken template."""


class StatusInventory:
    """An inventory in ``status.inventory``, a list of texts: an `InventoryPort`."""

    def __init__(self, ctx: Context, obj: Object, listed: Sequence[str]) -> None:
        self._ctx = ctx
        self._obj = obj
        self._refs = [ObjectRef.parse(text) for text in listed]

    async def load(self) -> Sequence[ObjectRef]:
        """Return what the status lists."""
        return self._refs

    async def add(self, refs: Collection[ObjectRef]) -> None:
        """Enter objects that are about to be created; no call if all are known."""
        known = {ref.identity: ref for ref in self._refs}
        await self._write([*{**known, **{ref.identity: ref for ref in refs}}.values()])

    async def discard(self, refs: Collection[ObjectRef]) -> None:
        """Strike off objects that are gone."""
        gone = {ref.identity for ref in refs}
        await self._write([ref for ref in self._refs if ref.identity not in gone])

    async def _write(self, refs: list[ObjectRef]) -> None:
        if refs != self._refs:
            status = {"inventory": [ref.id for ref in refs]}
            await self._ctx.patch(self._obj, {"status": status}, subresource="status")
            self._refs = refs


@dataclass(slots=True)
class _Installed(SetState):
    digest: bytes = b""
    """Of what was declared in the last pass."""
    failures: int = 0


class Installer:
    """The sets of one operator, which is called *name*, in one cluster.

    *domain* is the prefix of the label, the annotation and the finalizer it uses. Yield `cache`
    from the operator, and name `channel` in its controller: drift is sent there.
    """

    def __init__(
        self, host: OperatorHost, name: str, *, domain: str, target: Client | None = None
    ) -> None:
        client = target or host.client
        self.channel = Channel()
        self.cache = Cache(client, field_managers=[name], rng=host.rng)
        self._label, self._name = f"{domain}/kept-by", name
        self._annotation, self._digest = f"{domain}/owner", f"{domain}/digest"
        self._finalizer = f"{domain}/{name}"
        self._backoff = Backoff(0.1, 300.0, rng=host.rng)
        states = SetStates(_Installed)
        stores = TargetStores(client, self.cache, label=f"{self._label}={name}")
        wake = self.channel.send
        stores.watcher = Drift(stores, states, self._owner_of, repair=wake, judge=lambda _: None)
        self._kept = KeptSets(stores, states, field_manager=name, clock=host.clock)

    def is_settled(self, key: Key) -> bool:
        """Return whether nothing has changed since all was well."""
        return self._kept.states.is_settled(key)

    async def install(
        self,
        ctx: Context,
        obj: Object,
        listed: Sequence[str],
        objects: Iterable[JsonObject],
        *,
        options: PruneOptions = CONFIRMED,
    ) -> KeptChanges:
        """Make the cluster hold the objects that *obj* wants, and no others of it.

        *listed* is its ``status.inventory``, as it was read. Raises `Conflict` if *obj* is not as
        it was read; the runtime repeats the reconcile.
        """
        key, store = key_of(obj), ctx.store(type(obj))
        state, before = self._kept.states.of(key), store.get(key)
        state.disturbed = False
        await ctx.hold(obj, self._finalizer)
        declared = [Declared(self._labelled(one)) for one in objects]
        digest = digest_of({one.ref.id: one.obj for one in declared})
        wanted = DeclaredSet(declared, self._owner(key), options, unchanged=digest == state.digest)
        try:
            changes = await self._kept.apply(
                key,
                wanted,
                StatusInventory(ctx, obj, listed),
                before_write=Confirmation(state, partial(ctx.confirm, obj)),
            )
        except OutOfDate as error:
            raise Conflict(str(error)) from error
        state.digest, state.awaits_kinds = digest, changes.waiting
        now = store.get(key)
        state.settled = None
        if changes.done.all.complete and now is not None and (now is before or ctx.wrote(now)):
            self._kept.settle(key, [(store, now)], [one.ref for one in declared], changes)
        return changes

    def outcome(self, key: Key, changes: KeptChanges) -> Outcome:
        """Return when to look again: at the next event, or earlier if one may not come."""
        state = self._kept.states.of(key)
        if changes.failed or changes.waiting:
            state.failures += 1
            return again(self._backoff.delay(state.failures))
        state.failures = 0
        waits = [changes.postponed_seconds] if changes.postponed else []
        waits += [] if changes.done.pruned.complete else [PENDING_SECONDS]
        return again(min(waits)) if waits else DONE

    async def uninstall(self, ctx: Context, obj: Object, listed: Sequence[str]) -> Outcome:
        """Delete all objects of *obj*, then release the finalizer; `Conflict` as for `install`."""
        key = key_of(obj)
        objects = ObjectSet(self._kept.engine, StatusInventory(ctx, obj, listed), self._owner(key))
        confirm = Confirmation(self._kept.states.of(key), partial(ctx.confirm, obj))
        try:
            changes = await objects.delete(before_write=confirm)
        except OutOfDate as error:
            raise Conflict(str(error)) from error
        if not changes.complete:
            return again(PENDING_SECONDS)
        await ctx.release(obj, self._finalizer)
        self._kept.states.forget(key)
        return DONE

    def _owner(self, key: Key) -> Owner:
        return Owner(self._annotation, str(key), (self._digest,), digest=self._digest)

    def _owner_of(self, annotations: JsonObject) -> Key | None:
        namespace, slash, name = str(annotations.get(self._annotation) or "").partition("/")
        return Key(namespace, name) if slash else None

    def _labelled(self, obj: JsonObject) -> JsonObject:
        labels = {**(obj["metadata"].get("labels") or {}), self._label: self._name}
        return {**obj, "metadata": {**obj["metadata"], "labels": labels}}
