"""Object sets kept in one target cluster: each pass over one of them, and what it leaves.

The objects are applied and pruned as an `ObjectSet`. Besides, what another writer keeps changing
is put off, what had to be restored is counted, and how the stores were when all was well is
remembered, so that nothing is looked at again before something changes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import orjson

from certwright.apply import (
    Action,
    Change,
    Declared,
    Engine,
    InventoryPort,
    Live,
    Memory,
    ObjectRef,
    ObjectSet,
    Owner,
    PruneOptions,
    Rules,
    SetChanges,
)
from certwright.apply.changeset import LastWriter, UndoneField, last_foreign_writer
from certwright.apply.engine.apply import BeforeWrite
from certwright.apply.engine.engine import OnEntry
from certwright.apply.objectset.prune import NO_PRUNE
from certwright.clock import Clock
from certwright.keep.cluster import Access, Refuses, WatchedCluster
from certwright.keep.health import OBJECTS_PER_TURN, HealthChecks
from certwright.keep.state import Fights, Fingerprint, Identity, SetState, SetStates
from certwright.keep.stores import TargetStores
from certwright.kube import Conflict, Forbidden, Key, NotFound
from certwright.runtime import Entry as Stored
from certwright.runtime import Store

_WRITTEN: Final = frozenset({Action.CREATED, Action.CONFIGURED, Action.RECREATED})
LARGE: Final = 100
"""From how many objects on a set is repaired object by object."""
_POSTPONED: Final = "another writer keeps changing it; repairs are put off"

S = TypeVar("S", bound=SetState)
Check = Callable[[], Awaitable[None]]


class OutOfDate(Exception):
    """What a pass rests on is an old state; nothing was written, and the pass is to be repeated."""


class Confirmation:
    """Makes sure, once in a process, that what a pass rests on is no old state.

    A process that has just started may be shown the past. An owner that is long gone would leave
    behind what is created for it now, and objects that a later state wants again must not be
    deleted. So the servers are asked before the first write about a set: *owner* asks about the
    object that wants the set, *inputs* about what its wishes are read from.
    """

    def __init__(
        self, state: SetState, owner: Check, inputs: Sequence[Check] | None = None
    ) -> None:
        self._state = state
        self._owner = owner
        self._inputs = inputs
        self._asking = asyncio.Lock()

    def with_inputs(self, inputs: Sequence[Check]) -> "Confirmation":
        """Return the same for a pass whose result depends on these inputs as well."""
        return Confirmation(self._state, self._owner, inputs)

    async def __call__(self) -> None:
        """Ask, unless that was done before.

        Raises:
            OutOfDate: something changed. The engine would take a `Conflict` for one of its objects.
        """
        state = self._state
        if state.confirmed and (state.input_confirmed or self._inputs is None):
            return
        async with self._asking:
            try:
                if not state.confirmed:
                    await self._owner()
                    state.confirmed = True
                if not state.input_confirmed and self._inputs is not None:
                    for check in self._inputs:
                        await check()
                    state.input_confirmed = True
            except Conflict as error:
                raise OutOfDate(str(error)) from error


@dataclass(frozen=True, slots=True)
class DeclaredSet:
    """What a pass is to bring to the target."""

    objects: Sequence[Declared]
    owner: Owner
    options: PruneOptions = NO_PRUNE
    known: Sequence[Change] = ()
    """Declared objects that cannot be applied, with the reason for each."""
    unchanged: bool = False
    """Whether the same was declared before: whatever is written restores what others changed."""
    always: bool = False
    """Whether to write also what does not differ."""
    actor: "Actor | None" = None
    """Who writes it; None for ourselves."""


@dataclass(frozen=True, slots=True)
class Opponent:
    """Another client that keeps changing an object."""

    ref: ObjectRef
    writer: LastWriter | None
    """Who it is; None if that is not known."""
    fields: tuple[UndoneField, ...] = ()
    """What had to be repaired last."""


@dataclass(frozen=True, slots=True)
class KeptChanges:
    """What one pass did about a kept set."""

    done: SetChanges
    repaired: tuple[ObjectRef, ...] = ()
    """What was written though nothing else is declared than before."""
    fights: int = 0
    """How many of these repairs turned into a fight."""
    opponents: tuple["Opponent", ...] = ()
    """Who changes the objects that are put off from now on."""
    postponed: frozenset[ObjectRef] = frozenset()
    """Objects that another writer keeps changing."""
    postponed_seconds: float = 0.0
    """When the first of them may be repaired again."""
    unwatched: Mapping[ObjectRef, Live] | None = None
    """Objects that carry no label of ours, as they were left."""
    versions: Mapping[ObjectRef, str] | None = None
    """The resourceVersions of all others, as they were left."""
    declared: Mapping[Identity, tuple[bytes, Rules]] | None = None
    """Of a large set, what is declared for each object."""

    @property
    def repairs(self) -> list[Change]:
        """What became of the repaired objects."""
        refs = set(self.repaired)
        return [entry for entry in self.done.applied.entries if entry.ref in refs]

    @property
    def failed(self) -> bool:
        """Whether something has to be tried again that no event announces."""
        done = self.done
        return any(
            entry.action is Action.FAILED
            for changes in (done.applied, done.released, done.pruned)
            for entry in changes.entries
        )

    @property
    def missing_namespaces(self) -> frozenset[str]:
        """Namespaces that have to appear before objects can be created in them."""
        entries = self.done.applied.entries
        return frozenset(entry.ref.namespace for entry in entries if entry.awaits_namespace)

    @property
    def gets_on(self) -> bool:
        """Whether the time was up while objects were written: the next pass goes on with them."""
        entries = self.done.applied.entries
        return self.done.applied.changed and any(entry.unreached for entry in entries)

    @property
    def waiting(self) -> bool:
        """Whether an object cannot be applied yet; not every reason is told by an event."""
        blocked = self.done.applied.with_action(Action.BLOCKED)
        return any(entry.ref not in self.postponed for entry in blocked)


@dataclass(frozen=True, slots=True)
class Actor:
    """As whom the target is read and written for a set."""

    access: Access
    cluster: WatchedCluster
    engine: Engine
    health: HealthChecks


class KeptSets(Generic[S]):
    """The object sets that one operator keeps in one target cluster."""

    def __init__(
        self,
        stores: TargetStores,
        states: SetStates[S],
        *,
        field_manager: str,
        clock: Clock,
        health_seconds: float = 60.0,
        step_seconds: float | None = None,
    ) -> None:
        self.stores = stores
        self.states = states
        self.memory = Memory()
        self._field_manager = field_manager
        self._clock = clock
        self._health_seconds = health_seconds
        self.step_seconds = step_seconds
        """How long each step of a pass may take: what is not done by then is left to the next."""
        self.fights: Fights[tuple[str, str, str, str]] = Fights()
        self.ourselves = self.actor()
        self.engine = self.ourselves.engine

    def actor(self, user: str = "", refuses: Refuses | None = None) -> Actor:
        """Return who acts as *user*, or as ourselves if empty, on what is not refused."""
        clock, stores = self._clock, self.stores
        access = Access(stores.client, clock, user, refuses)
        cluster = WatchedCluster(stores, self._field_manager, access)
        engine = Engine(cluster, self.memory, clock=clock, seconds=self.step_seconds, replaces=True)
        health = HealthChecks(stores, clock, self._health_seconds, access)
        return Actor(access, cluster, engine, health)

    async def apply(
        self,
        key: Key,
        declared: DeclaredSet,
        inventory: InventoryPort,
        *,
        on_entry: OnEntry | None = None,
        before_write: BeforeWrite | None = None,
    ) -> KeptChanges:
        """Make the target hold a set; see `ObjectSet.apply`."""
        now, state = self._clock.monotonic(), self.states.of(key)
        actor = declared.actor or self.ourselves
        due, postponed, opponents, wait = [], [], [], 0.0
        for one in declared.objects:
            seconds = self.fights.wait(one.ref.identity, now)
            if not seconds:
                due.append(one)
                continue
            wait = min(wait or seconds, seconds)
            if one.ref not in state.opponents:
                state.opponents[one.ref] = await self._opponent(actor, one.ref)
                fields = state.contested.get(one.ref, ())
                opponents.append(Opponent(one.ref, state.opponents[one.ref], fields))
            writer = state.opponents[one.ref]
            postponed.append(Change(one.ref, Action.BLOCKED, _POSTPONED, writer=writer))
        await asyncio.sleep(0)  # between steps that may go over thousands of objects
        unwatched: dict[ObjectRef, Live] = {}
        versions: dict[ObjectRef, str] = {}
        ours = {one.ref for one in due}

        def note(entry: Change, live: Live | None) -> None:
            if live is not None and entry.ref in ours:
                if self.stores.selects(live.labels):
                    versions[entry.ref] = live.resource_version
                else:
                    unwatched[entry.ref] = live
            if on_entry is not None:
                on_entry(entry, live)

        done = await ObjectSet(actor.engine, inventory, declared.owner).apply(
            due,
            options=declared.options,
            known=(*declared.known, *postponed),
            always=declared.always,
            on_entry=note,
            before_write=before_write,
        )
        repairs = _repairs(done) if declared.unchanged else ()
        return KeptChanges(
            done,
            tuple(entry.ref for entry in repairs),
            self.count_repairs(key, repairs),
            tuple(opponents),
            frozenset(entry.ref for entry in postponed),
            wait,
            unwatched,
            versions,
            await _packed(due) if len(due) >= LARGE and actor is self.ourselves else None,
        )

    def may_repair(self, ref: ObjectRef) -> bool:
        """Return whether a pass would repair an object now; in a fight each repair is put off."""
        return not self.fights.wait(ref.identity, self._clock.monotonic())

    def settle(
        self,
        key: Key,
        sources: Iterable[tuple[Store, Stored]],
        refs: Collection[ObjectRef],
        changes: KeptChanges,
    ) -> None:
        """Remember that all is well as long as these sources and objects stay as they are.

        What is remembered as settled is not looked at again, so nothing is remembered if an
        object was touched since the pass did, or is put off.
        """
        state = self.states.of(key)
        held, touched = self._held(refs, changes)
        quiet = not (state.disturbed or changes.postponed or touched)
        state.settled = Fingerprint((*sources, *held)) if quiet else None
        state.declared = changes.declared if quiet else None

    def _held(
        self, refs: Iterable[ObjectRef], changes: KeptChanges
    ) -> tuple[list[tuple[Store, Stored]], bool]:
        """Return what the stores hold, and whether any of it is not as the pass left it."""
        left = dict(changes.versions or {})
        held: list[tuple[Store, Stored]] = []
        for ref, store, entry in self.stores.held(refs):
            held.append((store, entry))
            if left.pop(ref, entry.meta.resource_version) != entry.meta.resource_version:
                return held, True
        return held, bool(left)

    def count_repairs(self, key: Key, repairs: Iterable[Change]) -> int:
        """Count repairs of objects; return how many have just turned into a fight."""
        now, state = self._clock.monotonic(), self.states.of(key)
        return sum(self._note_repair(state, entry, now) for entry in repairs)

    def let_go(self, refs: Iterable[ObjectRef]) -> None:
        """Forget objects that stay in the cluster and are not ours to keep any more."""
        for ref in refs:
            if (resource := self.stores.client.discovery.known(ref.gvk)) is not None:
                self.memory.forget(resource, ref.key)

    def _note_repair(self, state: SetState, entry: Change, now: float) -> bool:
        """Count a repair; return whether it has just turned into a fight."""
        began = self.fights.repaired(entry.ref.identity, now)
        if began:
            state.opponents.pop(entry.ref, None)  # of an earlier fight
            state.contested[entry.ref] = entry.undone
        return began

    async def _opponent(self, actor: Actor, ref: ObjectRef) -> LastWriter | None:
        """Return who else writes to an object, as its managedFields show."""
        try:
            resource = await actor.cluster.resource(ref.gvk)
            live = await actor.cluster.read(resource, ref.key, fresh=True)
        except (Forbidden, NotFound):  # a kind that is not served must not stop the others
            return None
        if live is None:
            return None
        fields = {"metadata": {"managedFields": list(live.managed)}}
        return last_foreign_writer(fields, {self._field_manager})


async def _packed(declared: Sequence[Declared]) -> dict[Identity, tuple[bytes, Rules]]:
    """Return what is declared for each object, in a tenth of the room."""
    packed = {}
    for number, one in enumerate(declared, start=1):
        packed[one.ref.identity] = (orjson.dumps(one.obj), one.rules)
        if not number % OBJECTS_PER_TURN:
            await asyncio.sleep(0)
    return packed


def _repairs(done: SetChanges) -> list[Change]:
    before = {ref.identity for ref in done.recorded}
    written = done.applied.with_action(*_WRITTEN)
    return [entry for entry in written if entry.ref.identity in before]
