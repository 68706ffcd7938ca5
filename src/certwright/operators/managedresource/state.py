"""What is remembered about each ManagedResource, and the inputs of one pass.

Among these is as whom the target cluster is read and written. With ``spec.serviceAccountName``, or
the name that the configuration sets for all, it is that ServiceAccount of the ManagedResource's
namespace, whose roles decide.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from certwright.api.managedresources import ManagedResource, ObjectReference
from certwright.apply import ObjectRef
from certwright.keep import Confirmation, KeptSets, SetState
from certwright.keep.keptset import Actor
from certwright.kube import JsonObject, Key
from certwright.kube.names import dns_subdomain_problems
from certwright.operators.managedresource.configuration import ManagedResourceSettings
from certwright.operators.managedresource.configuration.limits import TargetLimits
from certwright.operators.managedresource.status import StatusWriter
from certwright.runtime import Backoff, Channel, Context, Entry, Outcome, Store, again

REPORT_SECONDS: Final = 60.0
"""How often it is reported for how long a deletion has been pending."""
BLOCKED_SECONDS: Final = 60.0
"""After how long an event says that a deletion does not get on."""
RECHECK_SECONDS: Final = 600.0
"""How often a ManagedResource at rest is looked at, since its account may have lost a right."""
_MOST_ACTORS: Final = 1000
"""How many accounts are remembered; others are asked about again."""
INLINE_BYTES: Final = 64 * 1024
"""Larger objects are decoded in a thread."""


@dataclass(slots=True)
class PendingReport:
    """Deletions that take their time, and when that was last reported."""

    news: frozenset[tuple[ObjectRef, str]]
    since: float
    reported: float
    announced: bool = False

    def is_news(self, news: frozenset[tuple[ObjectRef, str]], now: float) -> bool:
        """Return whether to report again: other objects, other failures, or a minute passed."""
        return news != self.news or now - self.reported >= REPORT_SECONDS


@dataclass(slots=True)
class ResourceState(SetState):
    """What is remembered about one ManagedResource."""

    failures: int = 0
    """How many passes in a row did not get where they should."""
    retry_at: float = 0.0
    """When the next attempt after a failure is due; it has a timer of its own."""
    shards: dict[str, Sequence[ObjectReference]] = field(default_factory=dict)
    """By name, the parts of the inventory that are there beside the status; they never change."""
    touched: set[str] = field(default_factory=set)
    """Which of these were deleted or changed by others, so that they are to be written again."""
    deleted: set[ObjectRef] = field(default_factory=set)
    """What is known to be deleted, while the rest takes its time."""
    user: str = ""
    """As whom the target was last read and written; empty for ourselves."""
    recheck_at: float = 0.0
    """When to look again whether that user still may, though nothing changed; 0 for never."""
    check_failures: int = 0
    """How many times in a row the health of an object could not be judged."""
    pending: PendingReport | None = None
    """Deletions that were begun and not finished by the last pass; None if there are none."""

    def act_as(self, user: str) -> None:
        """Forget what was read as another user."""
        if user != self.user:
            self.user, self.unwatched = user, None
            self.opponents.clear()

    def note_shard(self, name: str, entries: Sequence[ObjectReference], *, untouched: bool) -> None:
        """Note a part of the inventory that was read or written just now."""
        self.shards[name] = entries
        if untouched:
            self.touched.discard(name)
        else:
            self.touched.add(name)

    def drop_shard(self, name: str) -> None:
        """Forget a part of the inventory that is not needed any more."""
        self.shards.pop(name, None)
        self.touched.discard(name)

    def note_pending(self, what: frozenset[tuple[ObjectRef, str]], now: float) -> bool:
        """Note which deletions are pending, each with its failure; return whether that is news."""
        if not what:
            self.pending = None
            return True
        before = self.pending
        if before is None:
            self.pending = PendingReport(what, now, now)
            return True
        news = before.is_news(what, now)
        if news:
            before.news, before.reported = what, now
        return news

    def is_stuck(self, now: float) -> bool:
        """Return, once, that deletions have been pending for too long."""
        pending = self.pending
        if pending is None or pending.announced or now - pending.since < BLOCKED_SECONDS:
            return False
        pending.announced = True
        return True


@dataclass(frozen=True, slots=True)
class Pass:
    """The inputs of one pass over one ManagedResource."""

    ctx: Context
    entry: Entry
    resource: ManagedResource
    obj: JsonObject
    """The same as the API has it."""
    state: ResourceState
    status: StatusWriter
    confirm: Confirmation
    actor: Actor
    """As whom the target is read and written."""

    @classmethod
    async def read(
        cls,
        ctx: Context,
        entry: Entry,
        state: ResourceState,
        actor_of: Callable[[ManagedResource], Actor],
    ) -> "Pass":
        """Decode a ManagedResource; `BadObject` if it does not have the shape it should have."""
        large = len(entry.raw) > INLINE_BYTES
        resource, obj = await ctx.cpu(_decoded, entry) if large else _decoded(entry)
        actor = actor_of(resource)
        state.act_as(actor.access.user)

        async def confirm() -> None:
            await ctx.confirm(obj)

        return cls(
            ctx, entry, resource, obj, state, StatusWriter(ctx, obj, state),
            Confirmation(state, confirm), actor,
        )  # fmt: skip

    def with_inputs(self, inputs: Sequence[Callable[[], Awaitable[None]]]) -> "Pass":
        """Return the same pass, whose first write confirms these inputs as well."""
        return replace(self, confirm=self.confirm.with_inputs(inputs))

    @property
    def key(self) -> Key:
        """Which ManagedResource it is."""
        return self.entry.key

    def later(self, backoff: Backoff) -> Outcome:
        """Return when to try again, the later the more often in a row it went wrong."""
        self.state.failures += 1
        delay = backoff.delay(self.state.failures)
        self.state.retry_at = self.ctx.clock.monotonic() + delay
        return again(delay)

    @property
    def store(self) -> Store:
        """The ManagedResources of the same controller."""
        return self.ctx.store(ManagedResource)

    def unchanged(self) -> Entry | None:
        """Return the ManagedResource as it is now, if only this pass changed it since."""
        now = self.store.get(self.key)
        return now if now is self.entry or (now is not None and self.ctx.wrote(now)) else None


def _decoded(entry: Entry) -> tuple[ManagedResource, JsonObject]:
    return entry.as_(ManagedResource), entry.obj()


class Channels:
    """Wakes a controller of the namespace that a key is in."""

    def __init__(self, namespaces: Sequence[str]) -> None:
        self._channels = {namespace: Channel() for namespace in namespaces}

    def of(self, namespace: str) -> Channel:
        """Return the channel of a controller, by the namespace it is confined to."""
        return self._channels[namespace]

    def wake(self, key: Key) -> None:
        """Queue a key at the controller that cares for it, if there is one."""
        channel = self._channels.get("") or self._channels.get(key.namespace)
        if channel is not None:
            channel.send(key)


def account_of(resource: ManagedResource, default: str) -> str:
    """Return the user a ManagedResource acts as; empty for ourselves.

    Raises:
        ValueError: what it names cannot be a ServiceAccount.
    """
    name = resource.spec.service_account_name or default
    if not name:
        return ""
    if problems := dns_subdomain_problems(name):
        raise ValueError(
            f"spec.serviceAccountName is {name[:100]!r}, which cannot be the name of a "
            f"ServiceAccount: {'; '.join(problems)}"
        )
    return f"system:serviceaccount:{resource.metadata.namespace}:{name}"


class Actors:
    """Knows as whom each ManagedResource acts."""

    def __init__(self, settings: ManagedResourceSettings, kept: KeptSets[ResourceState]) -> None:
        self._default = settings.service_account_name
        self._limits = TargetLimits(settings.allowed_namespaces, settings.allowed_kinds)
        self._limited = bool(settings.allowed_namespaces or settings.allowed_kinds)
        self._kept = kept
        self._known: OrderedDict[tuple[str, str], Actor] = OrderedDict()

    def of(self, resource: ManagedResource) -> Actor:
        """Return who acts for a ManagedResource; one that names no account touches nothing."""
        own = resource.metadata.namespace
        try:
            user = account_of(resource, self._default)
        except ValueError as error:
            problem = str(error)
            return self._kept.actor(refuses=lambda _resource, _key: problem)
        if not user and not self._limited:
            return self._kept.ourselves
        known = self._known.pop((user, own), None)
        if known is None:
            refuses = partial(self._limits.refusal, own) if self._limited else None
            known = self._kept.actor(user, refuses)
        self._known[user, own] = known
        while len(self._known) > _MOST_ACTORS:
            self._known.popitem(last=False)
        return known
