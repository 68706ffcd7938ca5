"""The status of a ManagedResource: how it is written, and how its conditions change over time.

A status is handled as the API has it, not as a type: fields of other versions stay as they are.
``summary`` and ``objects`` are ours. Where the definition of ManagedResource is Gardener's, the
server drops them from every write, so a status without them tells nothing new: they are sent
along when something else changed, and are no reason to write. What the definition knows need not
be found out for that, and once it is replaced by ours the next write brings them.
Unlike conditions of other kinds these have a fourth status, ``Progressing``, and two times:
``lastTransitionTime`` changes with the status, ``lastUpdateTime`` with reason, message and codes,
and not with the status alone. The texts of conditions are in `messages`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from certwright.api.managedresources import ObjectReference, ObjectStatus, ObjectSummary
from certwright.apply import Action, ChangeSet, ObjectRef
from certwright.apply.health import Health, Verdict
from certwright.client import TransportError
from certwright.client.request import Validation
from certwright.keep import SetState
from certwright.kube import ApiError, JsonObject, format_time
from certwright.kube.patches import create_merge_patch
from certwright.operators.managedresource.inventory import object_key
from certwright.runtime import Context

APPLIED: Final = "ResourcesApplied"
HEALTHY: Final = "ResourcesHealthy"
PROGRESSING: Final = "ResourcesProgressing"
READY: Final = "Ready"
"""One line for people: whether all is well, and if not, why."""

Status: TypeAlias = Literal["True", "False", "Unknown", "Progressing"]


class StatusUnwritten(Exception):
    """It could not be reported that a pass begins, so it does not; *error* is why."""

    def __init__(self, error: ApiError | TransportError) -> None:
        super().__init__(str(error))
        self.error = error


class ConditionUpdate(Struct, frozen=True, gc=False):
    """What is to be said about one aspect of a ManagedResource now."""

    type: str
    status: str
    reason: str
    message: str
    codes: tuple[str, ...] = ()


def merged(existing: Any, updates: Iterable[ConditionUpdate], now: datetime) -> list[JsonObject]:
    """Return ``status.conditions`` after updates.

    Conditions keep their places, new ones are appended, those of others are not touched, not
    even fields we do not know. The same again changes nothing.
    """
    conditions = [dict(c) for c in existing if isinstance(c, dict)] if _is_list(existing) else []
    places = {condition.get("type"): place for place, condition in enumerate(conditions)}
    instant = format_time(now)
    for update in updates:
        place = places.get(update.type)
        if place is None:
            places[update.type] = len(conditions)
            conditions.append(_condition(update, {}, instant))
        else:
            conditions[place] = _condition(update, conditions[place], instant)
    return conditions


def current(existing: Any, type_: str) -> ConditionUpdate:
    """Return what is said about an aspect; ``Unknown`` if the status lacks it."""
    for condition in existing if _is_list(existing) else ():
        if isinstance(condition, dict) and condition.get("type") == type_:
            return ConditionUpdate(
                type_,
                str(condition.get("status") or "Unknown"),
                str(condition.get("reason") or ""),
                str(condition.get("message") or ""),
                tuple(condition.get("codes") or ()),
            )
    message = "Nothing has been found out about this yet."
    return ConditionUpdate(type_, "Unknown", "ConditionInitialized", message)


def _condition(update: ConditionUpdate, before: JsonObject, instant: str) -> JsonObject:
    said: JsonObject = {
        "type": update.type,
        "status": update.status,
        "reason": update.reason or "Unspecified",
        "message": update.message or "No message given.",
    }
    if update.codes:
        said["codes"] = list(update.codes)
    same_status = before.get("status") == update.status
    same_words = all(before.get(name) == said.get(name) for name in ("reason", "message")) and (
        (before.get("codes") or []) == list(update.codes)
    )
    since = before.get("lastTransitionTime") if same_status else None
    told = before.get("lastUpdateTime") if same_words else None
    said["lastTransitionTime"] = since or instant
    said["lastUpdateTime"] = told or instant
    others = {name: value for name, value in before.items() if name != "codes"}
    return {**others, **said}


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


_OURS: Final = frozenset({"summary", "objects"})
"""What only our own definition knows."""
OUTCOME: Final = (APPLIED, HEALTHY, PROGRESSING)
"""What `Ready` sums up."""
EXPECTED: Final = (APPLIED, HEALTHY, READY)
"""What is True when all is well."""
MANY: Final = 100
"""Work on more objects than this is left to a thread."""
MOST_OBJECTS: Final = 20
"""How many objects that are not as they should be are listed."""
_LONGEST_MESSAGE: Final = 256

_AS_WANTED: Final = frozenset(
    {Action.CREATED, Action.CONFIGURED, Action.UNCHANGED, Action.RECREATED}
)
_NOT_AS_WANTED: Final = (Action.FAILED, Action.BLOCKED)
_WORST_FIRST: Final = (
    *(action.value for action in _NOT_AS_WANTED),
    Health.MISSING.value, Health.ERROR.value, Health.UNHEALTHY.value, Health.PROGRESSING.value,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Report:
    """The objects in numbers, and those that are not as they should be."""

    summary: ObjectSummary
    objects: tuple[ObjectStatus, ...] = ()

    @classmethod
    def of(cls, changes: ChangeSet, total: int) -> "Report":
        """Report what was done about *total* objects, the refused ones among the changes."""
        actions = [entry.action for entry in changes.entries]
        objects = [
            ObjectStatus(
                api_version=entry.ref.api_version,
                kind=entry.ref.kind,
                namespace=entry.ref.namespace,
                name=entry.ref.name,
                action=entry.action.value,
                message=_short(entry.reason),
                last_writer=entry.writer.manager if entry.writer else "",
            )
            for entry in changes.with_action(*_NOT_AS_WANTED)
        ]
        summary = ObjectSummary(
            total=total,
            applied=sum(action in _AS_WANTED for action in actions),
            failed=actions.count(Action.FAILED),
            blocked=actions.count(Action.BLOCKED),
        )
        return cls(summary, _worst(objects))

    @classmethod
    def recorded(cls, status: JsonObject) -> "Report":
        """Return the report in a status; an empty one if it has none of ours."""
        try:
            summary = msgspec.convert(status.get("summary") or {}, ObjectSummary)
            objects = msgspec.convert(status.get("objects") or [], list[ObjectStatus])
        except msgspec.ValidationError:
            return cls(ObjectSummary())
        return cls(summary, tuple(objects))

    def with_health(self, health: Sequence[Verdict], progress: Sequence[Verdict]) -> "Report":
        """Add how the objects are; both sequences are about the same objects."""
        bad = {v.ref.identity: v for v in (*progress, *health) if not v}
        moving = sum(v.health is Health.PROGRESSING for v in progress)
        summary = msgspec.structs.replace(
            self.summary, healthy=sum(map(bool, health)), progressing=moving
        )
        known = {_identity(item): item for item in self.objects if item.action}
        for identity, verdict in bad.items():
            known[identity] = _judged(known.get(identity), verdict)
        return Report(summary, _worst(known.values()))

    def with_health_of(self, told: "Report") -> "Report":
        """Add what an earlier report says about how the objects are."""
        summary = msgspec.structs.replace(
            self.summary, healthy=told.summary.healthy, progressing=told.summary.progressing
        )
        known = {_identity(item): item for item in told.objects if item.health and not item.action}
        known |= {_identity(item): item for item in self.objects}
        return Report(summary, _worst(known.values()))


@dataclass(frozen=True, slots=True)
class Update:
    """What a pass has to say. None leaves what is there."""

    conditions: Sequence[ConditionUpdate] = ()
    resources: Sequence[ObjectReference] | None = None
    checksum: str | None = None
    observed_generation: int | None = None
    report: Report | None = None


def updated(status: Any, update: Update, now: datetime) -> JsonObject:
    """Return a whole status after an update; an equal one if there is nothing new in it."""
    new: JsonObject = dict(status) if isinstance(status, dict) else {}
    if update.conditions:
        new["conditions"] = merged(new.get("conditions"), update.conditions, now)
    if update.resources is not None:
        _set_list(new, "resources", update.resources, ObjectReference)
    if update.checksum is not None:
        _set(new, "secretsDataChecksum", update.checksum)
    if update.observed_generation is not None:
        _set(new, "observedGeneration", update.observed_generation)
    if update.report is not None:
        _set(new, "summary", msgspec.to_builtins(update.report.summary))
        _set(new, "objects", msgspec.to_builtins(update.report.objects))
    return new


def _set(status: JsonObject, name: str, value: Any) -> None:
    """Set a field, or remove it where absence means the same."""
    if value:
        status[name] = list(value) if isinstance(value, tuple) else value
    else:
        status.pop(name, None)


def _set_list(status: JsonObject, name: str, items: Sequence[Any], kind: type[Any]) -> None:
    """Set a list, unless the one that is there says the same in other words (nil and empty)."""
    try:
        if msgspec.convert(status.get(name) or [], list[kind]) == list(items):  # type: ignore[valid-type]
            return
    except msgspec.ValidationError:
        pass  # of a wrong shape: replaced
    _set(status, name, msgspec.to_builtins(list(items)))


def _judged(item: ObjectStatus | None, verdict: Verdict) -> ObjectStatus:
    found = ObjectStatus(
        api_version=verdict.ref.api_version,
        kind=verdict.ref.kind,
        namespace=verdict.ref.namespace,
        name=verdict.ref.name,
        health=verdict.health.value,
        reason=verdict.reason,
        message=_short(verdict.message),
    )
    if item is None:
        return found
    changed = msgspec.structs.replace(item, health=found.health, reason=found.reason)
    return changed if item.message else msgspec.structs.replace(changed, message=found.message)


def _worst(objects: Iterable[ObjectStatus]) -> tuple[ObjectStatus, ...]:
    """Return the worst objects, in an order that does not depend on when they were found."""
    ordered = sorted(
        objects,
        key=lambda item: (_WORST_FIRST.index(item.action or item.health), object_key(_ref(item))),
    )
    return tuple(ordered[:MOST_OBJECTS])


def _identity(item: ObjectStatus) -> tuple[str, str, str, str]:
    return _ref(item).identity


def _ref(item: ObjectStatus) -> ObjectRef:
    return ObjectRef(item.api_version, item.kind, item.namespace, item.name)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[: _LONGEST_MESSAGE - 1]}…"


class StatusWriter:
    """Writes the status of one ManagedResource in one pass, and knows what it says by now."""

    def __init__(self, ctx: Context, obj: JsonObject, state: SetState) -> None:
        self.status: JsonObject = obj.get("status") or {}
        """The status as of the last write, or as it was read."""
        self._ctx = ctx
        self._obj = obj
        self._state = state

    def condition(self, type_: str) -> ConditionUpdate:
        """Return what a condition says."""
        return current(self.status.get("conditions"), type_)

    def other_conditions(self, updates: Iterable[ConditionUpdate]) -> list[ConditionUpdate]:
        """Return those of `OUTCOME` that are there and stay as they are."""
        updated = {update.type for update in updates}
        known = {c.get("type") for c in self.status.get("conditions") or () if isinstance(c, dict)}
        return [self.condition(t) for t in OUTCOME if t in known and t not in updated]

    async def write(self, update: Update) -> None:
        """Write the status if it changes; `Conflict` if outdated. The runtime tells of it."""
        before, now = self.status, self._ctx.clock.now()
        if len(update.resources or ()) > MANY:
            status, change = await self._ctx.cpu(changed, before, update, now)
        else:
            status, change = changed(before, update, now)
        if change:
            await self._ctx.patch(
                self._obj, {"status": change}, subresource="status", validation=Validation.IGNORE
            )
            self._state.confirmed = True
        self.status = status


def changed(before: Any, update: Update, now: datetime) -> tuple[JsonObject, JsonObject]:
    """Return a status after an update, and the merge patch that leads there.

    There is none if only fields would come that the server does not keep, as far as can be seen.
    """
    status = updated(before, update, now)
    old = before if isinstance(before, dict) else {}
    fields = [name for name in {**old, **status} if old.get(name) is not status.get(name)]
    change: JsonObject = create_merge_patch(
        {name: old[name] for name in fields if name in old},
        {name: status[name] for name in fields if name in status},
    )
    unknown = old and not _OURS & old.keys()
    return status, {} if unknown and change.keys() <= _OURS else change
