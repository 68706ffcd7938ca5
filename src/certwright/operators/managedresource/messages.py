"""What conditions say: every reason and message, word for word.

Clients match reasons always and messages sometimes, so both are part of the interface.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from certwright.apply import ObjectRef
from certwright.apply.health import Verdict, summarize_health, summarize_progress
from certwright.operators.managedresource.inventory import object_id
from certwright.operators.managedresource.status import (
    APPLIED,
    HEALTHY,
    PROGRESSING,
    READY,
    ConditionUpdate,
)

MOST_LISTED: Final = 20
"""How many errors a message lists; their number is always told."""
_LONGEST_ERROR: Final = 2000

_STICKY: Final = frozenset({"ApplyFailed", "DeletionFailed", "DeletionPending"})
"""What stays readable while a new attempt is made."""
_INVALID: Final = re.compile(r"error during apply of object .* is invalid:", re.IGNORECASE)
_CONFIGURATION_PROBLEM: Final = "ERR_CONFIGURATION_PROBLEM"

_BEING_DELETED: Final = "The resources are currently being deleted."
_IGNORED: Final = ("ManagedResourceIgnored", "ManagedResource is marked to be ignored.")


@dataclass(frozen=True, slots=True)
class Lingering:
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
    """A pass begins that will change something; the last failure stays readable."""
    message = "The resources are currently being reconciled."
    return _sticky(before, "ApplyProgressing", message)


def applied() -> ConditionUpdate:
    """All is as wanted."""
    return ConditionUpdate(APPLIED, "True", "ApplySucceeded", "All resources are applied.")


def apply_failed(errors: Sequence[str]) -> ConditionUpdate:
    """Objects could not be applied; each error is worded by `desired.apply_error`."""
    text = (
        _bounded(errors[0])
        if len(errors) == 1
        else _listed("Could not apply all new resources", errors)
    )
    codes = (_CONFIGURATION_PROBLEM,) if any(map(_INVALID.search, errors)) else ()
    return ConditionUpdate(APPLIED, "False", "ApplyFailed", text, codes)


def decoding_failed(undecodable: Sequence[str]) -> ConditionUpdate:
    """All that could be read is applied; the rest is listed."""
    listed = [*undecodable[:MOST_LISTED]]
    if len(undecodable) > MOST_LISTED:
        listed.append(f"And {len(undecodable) - MOST_LISTED} more.")
    message = f"Could not decode all new resources: [{' '.join(listed)}]"
    return ConditionUpdate(APPLIED, "False", "DecodingFailed", message)


def cannot_read_secret(error: str) -> ConditionUpdate:
    """A Secret cannot be read, so nobody knows what is wanted."""
    return ConditionUpdate(APPLIED, "False", "CannotReadSecret", _bounded(error))


def release_failed(errors: Sequence[str]) -> ConditionUpdate:
    """Objects that are to be ignored could not be released."""
    message = _listed("Could not release all orphaned resources", errors)
    return ConditionUpdate(APPLIED, "False", "ReleaseOfOrphanedResourcesFailed", message)


def together(failures: Sequence[ConditionUpdate]) -> ConditionUpdate:
    """Several things failed in one pass: the first gives the reason, the messages tell of all."""
    first, last = failures[0], failures[-1]
    message = " ".join([*(_sentence(claim.message) for claim in failures[:-1]), last.message])
    codes = tuple(dict.fromkeys(code for claim in failures for code in claim.codes))
    return ConditionUpdate(first.type, first.status, first.reason, message, codes)


def deletion_pending(lingering: Sequence[Lingering]) -> ConditionUpdate:
    """Objects that are no longer wanted are still there, or cannot be deleted."""
    message = _listed("Could not clean all old resources", [str(item) for item in lingering])
    if any(item.failed for item in lingering):
        return ConditionUpdate(APPLIED, "False", "DeletionFailed", message)
    return ConditionUpdate(APPLIED, "Progressing", "DeletionPending", message)


def prune_unconfirmed(why: str) -> ConditionUpdate:
    """Everything wanted is applied, and so much would be deleted that somebody must agree."""
    message = f"Could not clean all old resources: {why}"
    return ConditionUpdate(APPLIED, "Progressing", "DeletionPending", message)


# All conditions at once


def checks_pending() -> list[ConditionUpdate]:
    """The objects changed, so what was known about their health does not count."""
    health = "The health checks have not yet been executed for the current set of resources."
    progress = "Checks have not yet been executed for the current set of resources."
    return [
        ConditionUpdate(HEALTHY, "Unknown", "ChecksPending", health),
        ConditionUpdate(PROGRESSING, "Unknown", "ChecksPending", progress),
    ]


def judged(health: Sequence[Verdict], progress: Sequence[Verdict]) -> list[ConditionUpdate]:
    """The objects were looked at."""
    healthy, moving = summarize_health(health), summarize_progress(progress)
    return [
        ConditionUpdate(HEALTHY, healthy.status, healthy.reason, healthy.message),
        ConditionUpdate(PROGRESSING, moving.status, moving.reason, moving.message),
    ]


def being_deleted(before: ConditionUpdate, *, keep_objects: bool = False) -> list[ConditionUpdate]:
    """Deletion has begun. *before* is what `APPLIED` says, which stays if objects are kept."""
    claims = [
        ConditionUpdate(HEALTHY, "False", "DeletionPending", _BEING_DELETED),
        ConditionUpdate(PROGRESSING, "True", "DeletionPending", _BEING_DELETED),
    ]
    return claims if keep_objects else [_deleting(before), *claims]


def ignored() -> list[ConditionUpdate]:
    """Somebody wants the ManagedResource left alone."""
    reason, message = _IGNORED
    return [
        ConditionUpdate(APPLIED, "True", reason, message),
        ConditionUpdate(HEALTHY, "True", reason, message),
        ConditionUpdate(PROGRESSING, "False", reason, message),
        ConditionUpdate(READY, "True", reason, message),
    ]


# Ready


def ready(
    said: Sequence[ConditionUpdate], hindrance: ConditionUpdate | None = None
) -> ConditionUpdate:
    """Sum up what the other conditions say: True if all is well, False if somebody must act.

    ``Unknown`` is what only takes time. *hindrance* is why nothing can be done at all
    (`suspended`, `dependency_not_ready`) and comes first.
    """
    if hindrance is not None:
        return hindrance
    by_type = {claim.type: claim for claim in said}
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
    """Nothing is written because the spec says so."""
    message = "ManagedResource is suspended: nothing is written until spec.suspend is removed."
    return ConditionUpdate(READY, "False", "Suspended", message)


def dependency_not_ready(message: str, *, cyclic: bool = False) -> ConditionUpdate:
    """Something this ManagedResource depends on is not there yet, or can never be."""
    status, reason = ("False", "DependencyCycle") if cyclic else ("Unknown", "DependencyNotReady")
    return ConditionUpdate(READY, status, reason, message)


def _deleting(before: ConditionUpdate) -> ConditionUpdate:
    return _sticky(before, "DeletionPending", _BEING_DELETED, only_deletion=True)


def _sticky(
    before: ConditionUpdate, reason: str, message: str, *, only_deletion: bool = False
) -> ConditionUpdate:
    kept = _STICKY - {"ApplyFailed"} if only_deletion else _STICKY
    if before.type == APPLIED and before.reason in kept:
        reason = "DeletionPending" if only_deletion else before.reason
        return ConditionUpdate(APPLIED, "Progressing", reason, before.message, before.codes)
    return ConditionUpdate(APPLIED, "Progressing", reason, message)


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
