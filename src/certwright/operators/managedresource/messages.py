"""What conditions and events say: reasons and messages, word for word.

Clients match reasons always and messages sometimes, so both are part of the interface. Parts of
messages come from elsewhere: what is wrong with an object from `declared.apply_error` and
`certwright.apply.health`, what a ManagedResource waits for from `managed.dependencies`, a missing
Secret from `input`, and the text of a condition without a message from `status`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from certwright.api import resourcekeys as keys
from certwright.apply import Action, Change, ChangeSet, ObjectRef, SetChanges
from certwright.apply.changeset import UndoneField
from certwright.apply.health import Verdict, summarize_health, summarize_progress
from certwright.apply.objectset.prune import Held
from certwright.keep.keptset import Opponent
from certwright.kube import Key
from certwright.operators.managedresource.input import Facts
from certwright.operators.managedresource.inventory import object_id
from certwright.operators.managedresource.status import (
    APPLIED,
    HEALTHY,
    PROGRESSING,
    READY,
    ConditionUpdate,
    StatusWriter,
)

MOST_LISTED: Final = 20
"""How many errors a message lists; their number is always told."""
_NAMED: Final = 5
"""How many objects an event names."""
_REMARKS: Final = 10
"""How many remarks on one input are told."""
_LONGEST_ERROR: Final = 2000

_STICKY: Final = frozenset({"ApplyFailed", "DeletionFailed", "DeletionPending"})
"""What stays readable while a new attempt is made."""
_INVALID: Final = re.compile(r"error during apply of object .* is invalid:", re.IGNORECASE)
_CONFIGURATION_PROBLEM: Final = "ERR_CONFIGURATION_PROBLEM"

_BEING_DELETED: Final = "The resources are currently being deleted."
RELEASED: Final = "its mode is Ignore now: it is released"
_IGNORED: Final = ("ManagedResourceIgnored", "ManagedResource is marked to be ignored.")


@dataclass(frozen=True, slots=True)
class PendingDeletion:
    """An object that is to be deleted and still there."""

    ref: ObjectRef
    error: str = ""
    """What holds it, or what went wrong."""
    failed: bool = False
    """Whether deleting it was refused, so that waiting alone will not help."""

    @property
    def news(self) -> tuple[ObjectRef, str]:
        """What is worth telling at once: which object, and the failure; not what time changes."""
        return self.ref, self.error if self.failed else ""

    def __str__(self) -> str:
        text = f'deletion of old resource "{object_id(self.ref)}" is still pending'
        return f"{text}: {_bounded(self.error)}" if self.error else text


# ResourcesApplied


def apply_progressing(before: ConditionUpdate) -> ConditionUpdate:
    """Report that a pass begins that will change something; the last failure stays readable."""
    if before.type == APPLIED and before.reason in _STICKY:
        return replace(before, status="Progressing")
    message = "The resources are currently being reconciled."
    return ConditionUpdate(APPLIED, "Progressing", "ApplyProgressing", message)


def applied() -> ConditionUpdate:
    """Report that all is as wanted."""
    return ConditionUpdate(APPLIED, "True", "ApplySucceeded", "All resources are applied.")


def apply_failed(errors: Sequence[str]) -> ConditionUpdate:
    """Report that objects could not be applied; each error is worded by `declared.apply_error`."""
    text = (
        _bounded(errors[0])
        if len(errors) == 1
        else _listed("Could not apply all new resources", errors)
    )
    codes = (_CONFIGURATION_PROBLEM,) if any(map(_INVALID.search, errors)) else ()
    return ConditionUpdate(APPLIED, "False", "ApplyFailed", text, codes)


def decoding_failed(undecodable: Sequence[str]) -> ConditionUpdate:
    """Report what could not be read; all that could be is applied."""
    listed = [*undecodable[:MOST_LISTED]]
    if len(undecodable) > MOST_LISTED:
        listed.append(f"And {len(undecodable) - MOST_LISTED} more.")
    message = f"Could not decode all new resources: [{' '.join(listed)}]"
    return ConditionUpdate(APPLIED, "False", "DecodingFailed", message)


def cannot_read_secret(error: str) -> ConditionUpdate:
    """Report that a Secret cannot be read, so what is wanted is not known."""
    return ConditionUpdate(APPLIED, "False", "CannotReadSecret", _bounded(error))


def release_failed(errors: Sequence[str]) -> ConditionUpdate:
    """Report that objects that are to be ignored could not be released."""
    message = _listed("Could not release all orphaned resources", errors)
    return ConditionUpdate(APPLIED, "False", "ReleaseOfOrphanedResourcesFailed", message)


def together(failures: Sequence[ConditionUpdate]) -> ConditionUpdate:
    """Report all failures of one pass: the first gives the reason, the messages tell of all."""
    first, last = failures[0], failures[-1]
    message = " ".join([*(_sentence(update.message) for update in failures[:-1]), last.message])
    codes = tuple(dict.fromkeys(code for update in failures for code in update.codes))
    return ConditionUpdate(first.type, first.status, first.reason, message, codes)


def pending_deletions(pruned: ChangeSet) -> list[PendingDeletion]:
    """Return what a deletion left, and why."""
    return [
        PendingDeletion(entry.ref, entry.reason, failed=entry.action is Action.FAILED)
        for entry in pruned.with_action(Action.BLOCKED, Action.FAILED)
    ]


def failures(facts: Facts, done: SetChanges) -> list[ConditionUpdate]:
    """Report what went wrong in a pass, the worst first."""
    found = []
    if errors := [entry.reason for entry in done.applied.with_action(Action.FAILED)]:
        found.append(apply_failed(errors))
    if unreleased := done.released.with_action(Action.FAILED):
        found.append(release_failed([f'"{object_id(e.ref)}": {e.reason}' for e in unreleased]))
    if facts.declared.undecodable:
        found.append(decoding_failed(facts.declared.undecodable))
    return found


def objection(held: Held | None, percent: int) -> str:
    """Return why nothing is deleted before that is confirmed; empty if there is no such reason."""
    if held is None or held.doubts:
        return ""
    return (
        f"{held.removed} of {held.before} objects are no longer wanted, which is more than "
        f"{percent} %; if that is right, annotate the ManagedResource with "
        f"{keys.CONFIRM_PRUNE}={held.removed}"
    )


def deletion_pending(pending: Sequence[PendingDeletion]) -> ConditionUpdate:
    """Report objects that are no longer wanted and still there, or cannot be deleted."""
    message = _listed("Could not clean all old resources", [str(item) for item in pending])
    if any(item.failed for item in pending):
        return ConditionUpdate(APPLIED, "False", "DeletionFailed", message)
    return ConditionUpdate(APPLIED, "Progressing", "DeletionPending", message)


def deletion_failed(error: str) -> ConditionUpdate:
    """Report that the inventory cannot be read, so what to delete is not known."""
    return ConditionUpdate(APPLIED, "False", "DeletionFailed", error)


def prune_unconfirmed(why: str) -> ConditionUpdate:
    """Report that everything wanted is applied, and the deletion of the rest must be confirmed."""
    message = f"Could not clean all old resources: {why}"
    return ConditionUpdate(APPLIED, "Progressing", "DeletionPending", message)


# All conditions at once


def checks_pending() -> list[ConditionUpdate]:
    """Report that the objects changed, so what was known about their health does not count."""
    health = "The health checks have not yet been executed for the current set of resources."
    progress = "Checks have not yet been executed for the current set of resources."
    return [
        ConditionUpdate(HEALTHY, "Unknown", "ChecksPending", health),
        ConditionUpdate(PROGRESSING, "Unknown", "ChecksPending", progress),
    ]


def promises(status: StatusWriter) -> bool:
    """Return whether conditions say how the objects are; while these change, that is not known."""
    return status.condition(APPLIED).status == "True" or any(
        status.condition(type_).status in {"True", "False"} for type_ in (HEALTHY, PROGRESSING)
    )


def begun(status: StatusWriter) -> list[ConditionUpdate]:
    """Report that objects are about to change: nothing that was known about them counts."""
    before = status.condition(APPLIED)
    return with_summary(status, [apply_progressing(before), *checks_pending()])


def judged(health: Sequence[Verdict], progress: Sequence[Verdict]) -> list[ConditionUpdate]:
    """Report how the objects were found."""
    healthy, moving = summarize_health(health), summarize_progress(progress)
    return [
        ConditionUpdate(HEALTHY, healthy.status, healthy.reason, healthy.message),
        ConditionUpdate(PROGRESSING, moving.status, moving.reason, moving.message),
    ]


def being_deleted(
    before: ConditionUpdate | None = None, *, keep_objects: bool = False
) -> list[ConditionUpdate]:
    """Report that deletion has begun.

    What `APPLIED` says stays if objects are kept. *before* is what it says so far: news about a
    deletion stay readable.
    """
    updates = [
        ConditionUpdate(HEALTHY, "False", "DeletionPending", _BEING_DELETED),
        ConditionUpdate(PROGRESSING, "True", "DeletionPending", _BEING_DELETED),
    ]
    if keep_objects:
        return updates
    applied = ConditionUpdate(APPLIED, "Progressing", "DeletionPending", _BEING_DELETED)
    if before is not None and before.reason in _STICKY - {"ApplyFailed"}:
        applied = replace(applied, message=before.message, codes=before.codes)
    return [applied, *updates]


def is_being_deleted(status: StatusWriter) -> bool:
    """Return whether the conditions say that deletion has begun."""
    return status.condition(HEALTHY).reason == "DeletionPending"


def ignored() -> list[ConditionUpdate]:
    """Report that the ManagedResource is to be left alone."""
    reason, message = _IGNORED
    return [
        ConditionUpdate(APPLIED, "True", reason, message),
        ConditionUpdate(HEALTHY, "True", reason, message),
        ConditionUpdate(PROGRESSING, "False", reason, message),
        ConditionUpdate(READY, "True", reason, message),
    ]


# Ready


def with_summary(
    status: StatusWriter,
    updates: Sequence[ConditionUpdate] = (),
    hindrance: ConditionUpdate | None = None,
) -> list[ConditionUpdate]:
    """Return updates and what `Ready` says with them; what is not updated stays as it is."""
    return [*updates, ready([*updates, *status.other_conditions(updates)], hindrance)]


def ready(
    said: Sequence[ConditionUpdate], hindrance: ConditionUpdate | None = None
) -> ConditionUpdate:
    """Sum up what the other conditions say: True if all is well, False if action is needed.

    ``Unknown`` is what only takes time. *hindrance* is why nothing can be done at all
    (`suspended`, `dependency_not_ready`) and comes first.
    """
    if hindrance is not None:
        return hindrance
    by_type = {update.type: update for update in said}
    apply, health = by_type.get(APPLIED), by_type.get(HEALTHY)
    if apply is None:
        return ConditionUpdate(READY, "Unknown", "ChecksPending", "Nothing has been applied yet.")
    if apply.status != "True":
        status = "False" if apply.status == "False" else "Unknown"
        suffix = " Health is judged once everything is applied." if status == "False" else ""
        return ConditionUpdate(READY, status, apply.reason, f"{_sentence(apply.message)}{suffix}")
    if health is None:
        return ConditionUpdate(READY, "Unknown", "ChecksPending", "Health has not been judged yet.")
    if health.status != "True":
        text, _, _events = health.message.partition("\n\n")
        return ConditionUpdate(READY, health.status, health.reason, text)
    moving = by_type.get(PROGRESSING)
    if moving is not None and moving.status != "False":
        return ConditionUpdate(READY, "Unknown", moving.reason, moving.message)
    return ConditionUpdate(READY, "True", health.reason, "All resources are applied and healthy.")


def suspended() -> ConditionUpdate:
    """Report that nothing is written because the spec says so."""
    message = (
        "ManagedResource is suspended: nothing is written until spec.suspend, or its annotation"
        f" {keys.SUSPEND}, is removed."
    )
    return ConditionUpdate(READY, "False", "Suspended", message)


def dependency_not_ready(message: str, *, cyclic: bool = False) -> ConditionUpdate:
    """Report that what this ManagedResource depends on is not there yet, or can never be."""
    status, reason = ("False", "DependencyCycle") if cyclic else ("Unknown", "DependencyNotReady")
    return ConditionUpdate(READY, status, reason, message)


# Events


def remarks(facts: Facts, applied: ChangeSet) -> list[str]:
    """Return what was accepted and is probably a mistake."""
    ignored = [f"{entry.ref}: {entry.reason}" for entry in applied.entries if entry.ignored]
    return [*facts.declared.remarks, *facts.warnings, *ignored][:_REMARKS]


def restored(repairs: Sequence[Change]) -> str:
    """Return which objects were repaired, and which fields had been changed by whom."""
    more = f" and {len(repairs) - _NAMED} more" if len(repairs) > _NAMED else ""
    told = [f"{one.ref}{_undone(one.undone)}" for one in repairs[:_NAMED]]
    return f"Restored {', '.join(told)}{more}"


def left_behind(refs: Sequence[ObjectRef]) -> str:
    """Return which objects are left because the account lost its rights with its namespace."""
    more = f" and {len(refs) - MOST_LISTED} more" if len(refs) > MOST_LISTED else ""
    named = ", ".join(map(str, refs[:MOST_LISTED]))
    return f"The account may not delete any more, and its namespace goes: {named}{more} stay"


def fight_detected(opponent: Opponent, field_manager: str) -> str:
    """Return that an object is not repaired for a while, what is fought about, and by whom."""
    name = opponent.writer.manager if opponent.writer else "an unknown writer"
    return (
        f"{opponent.ref}{_undone(opponent.fields)} is changed again and again by {name}, and "
        f"restored by {field_manager}; it is repaired less often now. If {name} may have these "
        f"fields, list them in the annotation {keys.IGNORE_FIELDS}"
    )


def _undone(fields: Sequence[UndoneField]) -> str:
    if not fields:
        return ""
    more = f" and {len(fields) - _NAMED} more" if len(fields) > _NAMED else ""
    return f" ({'; '.join(map(str, fields[:_NAMED]))}{more})"


# Errors


def inventory_lost(problem: str, shard: str) -> str:
    """Return what to do about a part of the inventory that cannot be read."""
    return (
        f"{problem}; restore it, or annotate the ManagedResource with "
        f"{keys.FORGET_INVENTORY}={shard}: objects that are not wanted any more and were listed "
        "only there then stay"
    )


def shard_unwritten(key: Key, problem: str) -> str:
    """Return that a part of the inventory cannot be written."""
    return f"the ConfigMap {key} with a part of the inventory cannot be written: {problem}"


def _listed(introduction: str, errors: Sequence[str]) -> str:
    if len(errors) == 1:
        return f"{introduction}: 1 error occurred: {_bounded(errors[0])}"
    shown = [_bounded(error) for error in errors[:MOST_LISTED]]
    if len(errors) > MOST_LISTED:
        shown.append(f"and {len(errors) - MOST_LISTED} more")
    return f"{introduction}: {len(errors)} errors occurred: [{', '.join(shown)}]"


def _bounded(text: str) -> str:
    return text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]}…"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
