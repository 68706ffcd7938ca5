"""What conditions say: every reason and message, word for word.

Clients match reasons always and messages sometimes, so both are part of the interface.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from certwright.apply import ObjectRef
from certwright.apply.health import Verdict, summarize_health, summarize_progress
from certwright.operators.managedresource.conditions import (
    APPLIED,
    HEALTHY,
    PROGRESSING,
    READY,
    Claim,
)
from certwright.operators.managedresource.inventory import object_id

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


def apply_progressing(before: Claim) -> Claim:
    """A pass begins that will change something; the last failure stays readable."""
    message = "The resources are currently being reconciled."
    return _sticky(before, "ApplyProgressing", message)


def applied() -> Claim:
    """All is as wanted."""
    return Claim(APPLIED, "True", "ApplySucceeded", "All resources are applied.")


def apply_failed(errors: Sequence[str]) -> Claim:
    """Objects could not be applied; each error is worded by `desired.apply_error`."""
    text = (
        _bounded(errors[0])
        if len(errors) == 1
        else _listed("Could not apply all new resources", errors)
    )
    codes = (_CONFIGURATION_PROBLEM,) if any(map(_INVALID.search, errors)) else ()
    return Claim(APPLIED, "False", "ApplyFailed", text, codes)


def decoding_failed(undecodable: Sequence[str]) -> Claim:
    """All that could be read is applied; the rest is listed."""
    listed = [*undecodable[:MOST_LISTED]]
    if len(undecodable) > MOST_LISTED:
        listed.append(f"And {len(undecodable) - MOST_LISTED} more.")
    message = f"Could not decode all new resources: [{' '.join(listed)}]"
    return Claim(APPLIED, "False", "DecodingFailed", message)


def cannot_read_secret(error: str) -> Claim:
    """A Secret cannot be read, so nobody knows what is wanted."""
    return Claim(APPLIED, "False", "CannotReadSecret", _bounded(error))


def release_failed(errors: Sequence[str]) -> Claim:
    """Objects that are to be ignored could not be released."""
    message = _listed("Could not release all orphaned resources", errors)
    return Claim(APPLIED, "False", "ReleaseOfOrphanedResourcesFailed", message)


def together(failures: Sequence[Claim]) -> Claim:
    """Several things failed in one pass: the first gives the reason, the messages tell of all."""
    first, last = failures[0], failures[-1]
    message = " ".join([*(_sentence(claim.message) for claim in failures[:-1]), last.message])
    codes = tuple(dict.fromkeys(code for claim in failures for code in claim.codes))
    return Claim(first.type, first.status, first.reason, message, codes)


def deletion_pending(lingering: Sequence[Lingering]) -> Claim:
    """Objects that are no longer wanted are still there, or cannot be deleted."""
    message = _listed("Could not clean all old resources", [str(item) for item in lingering])
    if any(item.failed for item in lingering):
        return Claim(APPLIED, "False", "DeletionFailed", message)
    return Claim(APPLIED, "Progressing", "DeletionPending", message)


def prune_unconfirmed(why: str) -> Claim:
    """Everything wanted is applied, and so much would be deleted that somebody must agree."""
    message = f"Could not clean all old resources: {why}"
    return Claim(APPLIED, "Progressing", "DeletionPending", message)


# All conditions at once


def checks_pending() -> list[Claim]:
    """The objects changed, so what was known about their health does not count."""
    health = "The health checks have not yet been executed for the current set of resources."
    progress = "Checks have not yet been executed for the current set of resources."
    return [
        Claim(HEALTHY, "Unknown", "ChecksPending", health),
        Claim(PROGRESSING, "Unknown", "ChecksPending", progress),
    ]


def judged(health: Sequence[Verdict], progress: Sequence[Verdict]) -> list[Claim]:
    """The objects were looked at."""
    healthy, moving = summarize_health(health), summarize_progress(progress)
    return [
        Claim(HEALTHY, healthy.status, healthy.reason, healthy.message),
        Claim(PROGRESSING, moving.status, moving.reason, moving.message),
    ]


def being_deleted(before: Claim, *, keep_objects: bool = False) -> list[Claim]:
    """Deletion has begun. *before* is what `APPLIED` says, which stays if objects are kept."""
    claims = [
        Claim(HEALTHY, "False", "DeletionPending", _BEING_DELETED),
        Claim(PROGRESSING, "True", "DeletionPending", _BEING_DELETED),
    ]
    return claims if keep_objects else [_deleting(before), *claims]


def ignored() -> list[Claim]:
    """Somebody wants the ManagedResource left alone."""
    reason, message = _IGNORED
    return [
        Claim(APPLIED, "True", reason, message),
        Claim(HEALTHY, "True", reason, message),
        Claim(PROGRESSING, "False", reason, message),
        Claim(READY, "True", reason, message),
    ]


# Ready


def ready(said: Sequence[Claim], hindrance: Claim | None = None) -> Claim:
    """Sum up what the other conditions say: True if all is well, False if somebody must act.

    ``Unknown`` is what only takes time. *hindrance* is why nothing can be done at all
    (`suspended`, `dependency_not_ready`) and comes first.
    """
    if hindrance is not None:
        return hindrance
    by_type = {claim.type: claim for claim in said}
    apply, health = by_type.get(APPLIED), by_type.get(HEALTHY)
    if apply is None:
        return Claim(READY, "Unknown", "ChecksPending", "Nothing has been applied yet.")
    if apply.status != "True":
        status = "False" if apply.status == "False" else "Unknown"
        suffix = " Health is judged once everything is applied." if status == "False" else ""
        return Claim(READY, status, apply.reason, f"{_sentence(apply.message)}{suffix}")
    if health is None:
        return Claim(READY, "Unknown", "ChecksPending", "Health has not been judged yet.")
    if health.status != "True":
        text, _, _events = health.message.partition("\n\n")
        return Claim(READY, health.status, health.reason, text)
    moving = by_type.get(PROGRESSING)
    if moving is not None and moving.status != "False":
        return Claim(READY, "Unknown", moving.reason, moving.message)
    return Claim(READY, "True", health.reason, "All resources are applied and healthy.")


def suspended() -> Claim:
    """Nothing is written because the spec says so."""
    message = "ManagedResource is suspended: nothing is written until spec.suspend is removed."
    return Claim(READY, "False", "Suspended", message)


def dependency_not_ready(message: str, *, cyclic: bool = False) -> Claim:
    """Something this ManagedResource depends on is not there yet, or can never be."""
    status, reason = ("False", "DependencyCycle") if cyclic else ("Unknown", "DependencyNotReady")
    return Claim(READY, status, reason, message)


def _deleting(before: Claim) -> Claim:
    return _sticky(before, "DeletionPending", _BEING_DELETED, only_deletion=True)


def _sticky(before: Claim, reason: str, message: str, *, only_deletion: bool = False) -> Claim:
    kept = _STICKY - {"ApplyFailed"} if only_deletion else _STICKY
    if before.type == APPLIED and before.reason in kept:
        reason = "DeletionPending" if only_deletion else before.reason
        return Claim(APPLIED, "Progressing", reason, before.message, before.codes)
    return Claim(APPLIED, "Progressing", reason, message)


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
