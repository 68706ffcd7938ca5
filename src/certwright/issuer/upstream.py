"""Where Go's issuer-lib behaves differently, and everything that is different there.

An app is ``compat="v1"``, which is how this library behaves, or ``compat="upstream"``, which is
issuer-lib to the letter. The rest of the library asks a `Compatibility` and knows no names.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from certwright.issuer.status import APPROVED, DENIED, READY, Phase, StatusEvent
from certwright.kube import Condition, find_condition, is_true
from certwright.runtime import Backoff

Compat: TypeAlias = Literal["v1", "upstream"]

_IN_PROGRESS = "Signing still in progress. Reason: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Compatibility:
    """What an app does where the two differ; the defaults are those of this library."""

    backoff: Backoff
    """How long failures wait, unless the author sets it."""
    initializes_requests: bool = False
    """Every request gets Ready=Unknown first; a denial counts only after an approval."""
    repeats_progress: bool = False
    """The message of a pending request repeats its beginning, and its event is a warning."""
    validates: bool = True
    """Requests are checked before ``sign``, and certificates after it."""
    extends_window: bool = True
    """The retry window begins with approval and readiness, and annotations can change it."""
    keeps_conditions: bool = True
    """The conditions of an author stay until replaced, not only until the next write."""
    skips_repeated: bool = True
    """What the status shows already is not written again, and its event not repeated."""
    checks_version: bool = True
    """Nothing is signed or overwritten on the ground of an object that has changed since."""
    writes_first: bool = True
    """The event follows the status write, instead of preceding it."""
    slows_down: bool = True
    """What changes its status again and again waits longer each time."""
    leaves_deleted: bool = True
    """Objects that are being deleted are left alone."""
    rechecks: bool = True
    """Ready issuers are checked again periodically."""
    reports_missing_approval: bool = True
    """An event names the permission that an approver probably lacks."""
    ignores_early: bool = True
    """``ignore_issuer`` is asked before anything is written to a request."""
    sleeps_through_own_writes: bool = True
    """The conditions that this library writes wake no request."""
    names_types: bool = True
    """The text of an exception that is no verb begins with its type."""
    explains_unserved: bool = True
    """An event says that a signing request names a kind which does not answer such requests."""
    bounds_annotations: bool = True
    """Annotations of a signing request get it no more than its spec, unless the app allows it."""

    def pending_text(self, text: str) -> str:
        """Return the message of a request that takes its time."""
        return f"{_IN_PROGRESS * (2 if self.repeats_progress else 1)}{text}"

    def pending_event(self, note: str, warning_reason: str) -> StatusEvent:
        """Return the event of a request that takes its time; as a warning it has its own reason."""
        if self.repeats_progress:
            return StatusEvent("Warning", warning_reason, "Synced", note)
        return StatusEvent("Normal", "Pending", "Synced", note)


V1 = Compatibility(backoff=Backoff(1.0, 300.0))
UPSTREAM = Compatibility(
    backoff=Backoff(0.005, 1000.0, jitter=0.0),
    initializes_requests=True,
    repeats_progress=True,
    validates=False,
    extends_window=False,
    keeps_conditions=False,
    skips_repeated=False,
    checks_version=False,
    writes_first=False,
    slows_down=False,
    leaves_deleted=False,
    rechecks=False,
    reports_missing_approval=False,
    ignores_early=False,
    sleeps_through_own_writes=False,
    names_types=False,
    explains_unserved=False,
    bounds_annotations=False,
)


def compatibility(compat: Compat) -> Compatibility:
    """Return how an app with this setting behaves."""
    return UPSTREAM if compat == "upstream" else V1


def upstream_phase(conditions: Sequence[Condition], *, is_final: bool) -> Phase:
    """Return the phase of a CertificateRequest as issuer-lib sees it.

    What it takes for a denial at first is the Ready condition that it writes itself.
    """
    ready = find_condition(conditions, READY)
    marked = ready is not None and ready.status == "False" and ready.reason == "Denied"
    if not is_true(conditions, APPROVED) and not marked:
        return Phase.UNAPPROVED
    if is_final:
        return Phase.CLOSED
    if is_true(conditions, DENIED):
        return Phase.DENIED
    return Phase.NEW if ready is None else Phase.APPROVED
