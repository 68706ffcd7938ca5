"""Kept sets for an operator of a custom kind whose status holds the inventory.

::

    installer = Installer(host, "packages", domain="demo.certwright.dev")
    …
    changes = await installer.install(ctx, package, package.status.inventory, objects)
    return installer.outcome(key, changes)

`examples/kept.py` is a whole operator.
"""

import operator
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from certwright.apply import Action, ChangeSet, Declared, ObjectRef, ObjectSet, PruneOptions
from certwright.apply.engine.deleterules import KEEP_NOTHING, DeleteRules
from certwright.apply.engine.engine import OnEntry
from certwright.apply.engine.memory import digest_of
from certwright.client import Client
from certwright.keep.drift import Drift
from certwright.keep.keptset import Confirmation, DeclaredSet, KeptChanges, KeptSets, OutOfDate
from certwright.keep.marks import Marks
from certwright.keep.retry import Retries
from certwright.keep.state import Fingerprint, SetState, SetStates
from certwright.keep.stores import TargetStores
from certwright.kube import Conflict, JsonObject, Key, NotFound, Object, key_of
from certwright.runtime import (
    DONE,
    Backoff,
    Cache,
    Channel,
    Context,
    Entry,
    OperatorHost,
    Outcome,
    again,
)

PENDING_SECONDS: Final = 5.0
"""How often objects that are being deleted are looked at, should no event come."""
RETRY_SECONDS: Final = (0.1, 300.0)
"""How long to wait before what failed is tried again: at first, and at most."""
CONFIRMED: Final = PruneOptions(prune=True, confirmed=True, despite_failures=True)
"""Delete whatever is not declared any more, however much it is: a spec is no broken template."""


class StatusInventory:
    """An inventory in ``status.inventory``, a list of texts: an `InventoryPort`.

    With the first objects that are entered, those that come *later* are entered as well.
    """

    def __init__(
        self, ctx: Context, obj: Object, listed: Sequence[str], later: Collection[ObjectRef] = ()
    ) -> None:
        self._ctx = ctx
        self._obj = obj
        self._refs = [ObjectRef.parse(text) for text in listed]
        self._later = later

    @property
    def listed(self) -> list[str]:
        """What the status lists by now."""
        return [ref.id for ref in self._refs]

    async def load(self) -> Sequence[ObjectRef]:
        """Return what the status lists."""
        return self._refs

    def lists(self, changes: KeptChanges) -> bool:
        """Return whether all objects that were applied are entered."""
        known = {ref.identity for ref in self._refs}
        return all(entry.ref.identity in known for entry in changes.done.applied.entries)

    async def add(self, refs: Collection[ObjectRef]) -> None:
        """Enter objects that are about to be created; no call if all are known."""
        known = {ref.identity: ref for ref in self._refs}
        entered = {ref.identity: ref for ref in (*refs, *self._later)}
        await self._write([*{**known, **entered}.values()])

    async def discard(self, refs: Collection[ObjectRef]) -> None:
        """Strike off objects that are gone."""
        gone = {ref.identity for ref in refs}
        await self._write([ref for ref in self._refs if ref.identity not in gone])

    async def _write(self, refs: list[ObjectRef]) -> None:
        if refs != self._refs:
            status = {"inventory": [ref.id for ref in refs]}
            await self._ctx.patch(self._obj, {"status": status}, subresource="status")
            self._refs = refs


@dataclass(frozen=True, slots=True)
class _Found:
    """A part that was found as declared."""

    given: tuple[JsonObject | Declared, ...]
    """What was declared."""
    seen: Fingerprint
    changes: KeptChanges
    """What is said of it: nothing was to be done."""

    def is_of(self, given: tuple[JsonObject | Declared, ...]) -> bool:
        """Return whether the very same is declared."""
        return _are_same(self.given, given)


@dataclass(slots=True)
class _Installed(SetState):
    digests: dict[str, bytes] = field(default_factory=dict)
    """Of what was declared in the last pass, by part."""
    found: dict[str, _Found] = field(default_factory=dict)
    """The parts that need no second look."""

    def follow(self, old: Entry, new: Entry | None) -> None:
        """Note a change of what is settled that needs no pass; None if others made it."""
        SetState.follow(self, old, new)
        if new is not None:
            self.found = {
                part: replace(one, seen=one.seen.with_change(old, new))
                for part, one in self.found.items()
            }

    def unsettle(self) -> None:
        """Note that something changed which no store shows."""
        SetState.unsettle(self)
        self.found.clear()


class Installer:
    """The sets of one operator, which is called *name*, in one cluster.

    *domain* is the prefix of the label, the annotations and the finalizer it uses, unless that is
    given. Yield `cache`
    from the operator, and name `channel` in its controller: drift is sent there, and with
    *statuses* also what changes nothing but the status of an object. An object of the set says
    whether we created or adopted it, see `ObjectOrigin`. *aliases* are names of other owners that
    hand their objects over to ours.
    """

    def __init__(
        self,
        host: OperatorHost,
        name: str,
        *,
        domain: str,
        target: Client | None = None,
        statuses: bool = False,
        finalizer: str = "",
        aliases: Collection[str] = (),
    ) -> None:
        client = target or host.client
        self.channel = Channel()
        self.cache = Cache(client, field_managers=[name], rng=host.rng)
        self.field_manager = name
        self._marks = Marks.of(domain, name, aliases)
        self.annotation, self.origin = self._marks.annotation, self._marks.origin
        self._finalizer = finalizer or f"{domain}/{name}"
        self._clock = host.clock
        self._retries = Retries[Key](Backoff(*RETRY_SECONDS, rng=host.rng))
        states = SetStates(_Installed)
        stores = TargetStores(client, self.cache, label=f"{self._marks.label}={name}")
        wake = self.channel.send
        judge = wake if statuses else _ignore
        stores.watcher = Drift(stores, states, self._owner_of, repair=wake, judge=judge)
        self._kept = KeptSets(stores, states, field_manager=name, clock=host.clock)

    def is_settled(self, key: Key) -> bool:
        """Return whether nothing has changed since all was well."""
        return self._kept.states.is_settled(key)

    async def entry(self, ref: ObjectRef) -> Entry | None:
        """Return one of our objects as its store has it; None if there is none.

        Raises `ApiError` or `TransportError` if its kind cannot be watched.
        """
        try:
            resource = await self._kept.stores.resource(ref.gvk)
            store = await self._kept.stores.open(resource, ref.namespace)
        except NotFound:
            return None
        return store.get(ref.key)

    async def install(
        self,
        ctx: Context,
        obj: Object,
        listed: Sequence[str] | StatusInventory,
        objects: Iterable[JsonObject | Declared],
        *,
        options: PruneOptions = CONFIRMED,
        part: str = "",
        on_entry: OnEntry | None = None,
    ) -> KeptChanges:
        """Make the cluster hold the objects that *obj* wants, and no others of it.

        *listed* is its ``status.inventory``, as it was read. Who brings a set to the cluster in
        several parts names each *part*, shares one `StatusInventory` that knows what comes later,
        and prunes with the last. A part of the very same objects as before is not looked at again
        until one of them changes. Raises `Conflict` if *obj* is not as it was read; the runtime
        repeats the reconcile.
        """
        key, store = key_of(obj), ctx.store(type(obj))
        state, before = self._kept.states.of(key), store.get(key)
        state.disturbed = False
        await self.hold(ctx, obj)
        given, inventory = tuple(objects), _inventory(ctx, obj, listed)
        found = state.found.pop(part, None) if not options.prune else None
        same = found is not None and found.is_of(given)
        if found is not None and same and found.seen.still() and inventory.lists(found.changes):
            state.found[part] = found
            return found.changes
        declared = [self._marks.declared(one) for one in given]
        known = state.digests.get(part)
        # The digest of large objects takes long, and the very same objects have the same.
        digest = (same and known) or digest_of({one.ref.id: one.obj for one in declared})
        unchanged = digest == known
        wanted = DeclaredSet(declared, self._marks.owner(key), options, unchanged=unchanged)
        with _conflicts():
            changes = await self._kept.apply(
                key,
                wanted,
                inventory,
                on_entry=on_entry,
                before_write=Confirmation(state, partial(ctx.confirm, obj)),
            )
        state.digests[part], state.awaits_kinds = digest, changes.waiting
        now = store.get(key)
        state.settled = None
        if changes.done.all.complete and now is not None and (now is before or ctx.wrote(now)):
            self._kept.settle(key, [(store, now)], [one.ref for one in declared], changes)
        if part and not options.prune and self.is_settled(key) and _is_idle(changes):
            entries = self._kept.stores.held(one.ref for one in declared)
            held = Fingerprint(tuple((store, entry) for _, store, entry in entries))
            state.found[part] = _Found(given, held, changes)
        return changes

    def outcome(self, key: Key, changes: KeptChanges) -> Outcome:
        """Return when to look again: at the next event, or earlier if one may not come."""
        now = self._clock.monotonic()
        if changes.failed:
            return again(self._retries.failed(key, now))
        if changes.waiting:
            return again(self._retries.waits(key, now))
        self._retries.forget(key)
        waits = [changes.postponed_seconds] if changes.postponed else []
        waits += [] if changes.done.pruned.complete else [PENDING_SECONDS]
        return again(min(waits)) if waits else DONE

    async def delete(
        self,
        ctx: Context,
        obj: Object,
        listed: Sequence[str] | StatusInventory,
        *,
        only: Collection[ObjectRef] | None = None,
        rules: DeleteRules = KEEP_NOTHING,
    ) -> ChangeSet:
        """Delete all objects of *obj*, or *only* some; `Conflict` as for `install`."""
        key, inventory = key_of(obj), _inventory(ctx, obj, listed)
        confirm = Confirmation(self._kept.states.of(key), partial(ctx.confirm, obj))
        with _conflicts():
            return await ObjectSet(self._kept.engine, inventory, self._marks.owner(key)).delete(
                only=only, rules=rules, before_write=confirm
            )

    async def release(
        self,
        ctx: Context,
        obj: Object,
        listed: Sequence[str] | StatusInventory,
        refs: Collection[ObjectRef],
    ) -> ChangeSet:
        """Take our mark off objects that stay, and strike them off the inventory."""
        changes = await self._kept.engine.release(refs, owner=self._marks.owner(key_of(obj)))
        self._kept.let_go(refs)
        if changes.complete:
            await _inventory(ctx, obj, listed).discard(refs)
        return changes

    async def hold(self, ctx: Context, obj: Object) -> None:
        """Add the finalizer to *obj*, as `install` does."""
        await ctx.hold(obj, self._finalizer)

    async def let_go(self, ctx: Context, obj: Object) -> None:
        """Release the finalizer of *obj*, and forget it."""
        await ctx.release(obj, self._finalizer)
        self._kept.states.forget(key_of(obj))
        self._retries.forget(key_of(obj))

    async def uninstall(self, ctx: Context, obj: Object, listed: Sequence[str]) -> Outcome:
        """Delete all objects of *obj*, then release the finalizer; `Conflict` as for `install`."""
        changes = await self.delete(ctx, obj, listed)
        if not changes.complete:
            return again(PENDING_SECONDS)
        await self.let_go(ctx, obj)
        return DONE

    def _owner_of(self, annotations: JsonObject) -> Key | None:
        named = annotations.get(self.annotation)
        try:
            return Key.parse(named) if isinstance(named, str) else None
        except ValueError:
            return None


def _inventory(
    ctx: Context, obj: Object, listed: Sequence[str] | StatusInventory
) -> StatusInventory:
    return listed if isinstance(listed, StatusInventory) else StatusInventory(ctx, obj, listed)


def _are_same(
    before: Sequence[JsonObject | Declared], now: Sequence[JsonObject | Declared]
) -> bool:
    return len(before) == len(now) and all(map(operator.is_, before, now))


def _is_idle(changes: KeptChanges) -> bool:
    """Return whether all objects were found as declared, and stores show what becomes of them."""
    entries = changes.done.applied.entries
    return not changes.unwatched and all(entry.action is Action.UNCHANGED for entry in entries)


@contextmanager
def _conflicts() -> Iterator[None]:
    """Raise what was decided on an old state as a `Conflict`, which the runtime repeats."""
    try:
        yield
    except OutOfDate as error:
        raise Conflict(str(error)) from error


def _ignore(_key: Key) -> None:
    """Do nothing about a change of a status."""
