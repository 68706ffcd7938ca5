"""A controller: what it watches, and the function that reconciles one key.

`Controller` is a declaration: a value without state, defined once at module level and run by
any number of managers. `certwright.runtime.queue.workers` runs it. What it must be allowed to do
is derived from it, so a generated role cannot fall behind the code.
"""

import re
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias

from msgspec import Struct

from certwright.kube import JsonObject, Key, Object, Resource, resource_of
from certwright.kube.kinds import Event, Lease
from certwright.runtime.context import Context
from certwright.runtime.outcome import Outcome
from certwright.runtime.triggers import (
    Channel,
    Predicate,
    Source,
    Trigger,
    Watchable,
    Watched,
    own,
    owned,
    watched_of,
)
from certwright.runtime.writes.events import BURST

Reconcile: TypeAlias = Callable[[Context, Key], Coroutine[Any, Any, Outcome]]

_READ = ("get", "list", "watch")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_BETWEEN_WORDS = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"


class PolicyRule(Struct, frozen=True, order=True):
    """Verbs on one resource, which may be a subresource; if *names* are given, on those only."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Controller:
    """Keeps every object of one kind as it should be.

    ::

        controller = Controller(Greeting, reconcile, owns=[ConfigMap])

    *reconcile* is called with a key whenever the object at it, an object it owns, or a mapped
    object changed, never twice at the same time for one key, and again after a failure. It
    learns nothing about what happened: it looks at the stores and makes things right.

    The name (by default the kind's, ``kebab-case``) is also the source of events, the label of
    metrics and, unless another is given, the field manager.
    """

    kind: Watchable
    reconcile: Reconcile
    name: str = ""
    field_manager: str = ""
    """The owner of the written fields, as managedFields shows it."""
    owns: Sequence[Watchable] = ()
    """Kinds created with ``ctx.apply(…, owner=…)``: their changes wake the owner."""
    watches: Sequence[Trigger] = ()
    """Other kinds, see `mapped`."""
    reads: Sequence[Watchable] = ()
    """Kinds that are read; their changes wake no key."""
    sources: Sequence[Source] = ()
    """Async generator functions that yield keys."""
    channels: Sequence[Channel] = ()
    """Through which others wake this controller."""
    predicate: Predicate | None = None
    """Which changes of the own kind count; all of them if None."""
    workers: int = 4
    deadline: timedelta = timedelta(minutes=1)
    """How long one reconcile may take."""
    resync: timedelta | None = None
    """How often to look at every object though nothing changed; never if None."""
    rbac: Sequence[PolicyRule] = ()
    """What the reconcile function needs beyond what the declaration implies."""
    conditions: Sequence[str] = ("Ready",)
    """The conditions that are True when all is well, the most important one first."""
    condition_events: bool = False
    """Whether events tell when one of `conditions` fails or recovers; the log does anyway."""
    event_burst: int = BURST
    """How many new events an object gets at once; then one every few minutes."""

    def __post_init__(self) -> None:
        if not self.name:
            words = re.sub(_BETWEEN_WORDS, "-", self.resource.kind)
            object.__setattr__(self, "name", words.lower())
        if not self.field_manager:
            object.__setattr__(self, "field_manager", self.name)
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"controller name {self.name!r} is not kebab-case of 63 characters")
        if self.workers < 1:
            raise ValueError(f"controller {self.name}: workers must be at least 1")
        if self.deadline <= timedelta() or (self.resync and self.resync <= timedelta()):
            raise ValueError(f"controller {self.name}: deadline and resync must be positive")
        seen: dict[Resource, Watched] = {}
        for watched in self.watched:
            if seen.setdefault(watched.resource, watched) != watched:
                raise ValueError(
                    f"controller {self.name} watches {watched.resource} with two different"
                    " selections; a kind has one store per controller"
                )

    @property
    def resource(self) -> Resource:
        """The kind the keys belong to."""
        return watched_of(self.kind).resource

    @property
    def triggers(self) -> tuple[Trigger, ...]:
        """Everything that wakes the controller, its own kind first."""
        return (
            own(self.kind, self.predicate),
            *(owned(kind, self.resource) for kind in self.owns),
            *self.watches,
        )

    @property
    def watched(self) -> tuple[Watched, ...]:
        """Everything that is kept in stores."""
        return (*(t.watched for t in self.triggers), *map(watched_of, self.reads))


def allow(kind: type[Object] | Resource, *verbs: str, subresource: str = "") -> PolicyRule:
    """Return the rule that allows *verbs* on a kind."""
    resource = resource_of(kind)
    name = f"{resource.plural}/{subresource}" if subresource else resource.plural
    return PolicyRule(resource.group, name, verbs)


def policy_rules(controllers: Iterable[Controller]) -> list[JsonObject]:
    """Return the rules of a ClusterRole that lets these controllers work, in a stable order."""
    merged: dict[tuple[str, str, tuple[str, ...]], set[str]] = {}
    for controller in controllers:
        for rule in _rules(controller):
            merged.setdefault((rule.group, rule.resource, rule.names), set()).update(rule.verbs)
    return [
        {"apiGroups": [group], "resources": [resource], "verbs": sorted(verbs)}
        | ({"resourceNames": list(names)} if names else {})
        for (group, resource, names), verbs in sorted(merged.items())
    ]


def _rules(controller: Controller) -> Iterable[PolicyRule]:
    for watched in controller.watched:
        yield allow(watched.resource, *_READ)
    yield allow(controller.resource, "patch")  # finalizers
    yield allow(controller.resource, "patch", subresource="status")
    yield allow(controller.resource, "update", subresource="finalizers")  # blockOwnerDeletion
    for trigger in controller.triggers[1 : 1 + len(controller.owns)]:
        yield allow(trigger.watched.resource, "create", "patch", "delete")
    yield allow(Event, "create", "patch")
    yield allow(Lease, "get", "create", "patch")
    yield from controller.rbac
