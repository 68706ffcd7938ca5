"""The texts of events, from the fields of decisions. No text holds a value of a source."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from certwright.kube.timestamps import format_time
from certwright.operators.rollout.decision.certificates import CertificateFlaw
from certwright.operators.rollout.decision.compare import ChangedSource
from certwright.operators.rollout.decision.restraint import RestartObstacle, RestartWait
from certwright.operators.rollout.workload import SourceRef, Workload

_MOST_NAMED: Final = 5

_FLAWS: Final = {
    CertificateFlaw.EXPIRED: "holds an expired certificate; renew it (cmctl renew), or see why its"
    " Certificate is not Ready",
    CertificateFlaw.NOT_YET_VALID: "holds a certificate that is not valid yet",
    CertificateFlaw.MISMATCH: "holds a certificate that does not fit its private key; write both"
    " together, or have the certificate issued anew",
    CertificateFlaw.UNREADABLE: "holds a tls.crt that is not a certificate; write one as PEM",
}
_REASONS: Final = {
    RestartWait.QUIET: "contents have just changed",
    RestartWait.STALE: "what is known of {about} is older than what the workload has; waiting for"
    " the watch",
    RestartWait.FIGHT: "another client undid the last restart with the same contents; let one of"
    " the two own the pod template and the annotations of the workload",
    RestartWait.STALLED: "its last restart has not completed; correct the workload or go back"
    " (kubectl rollout undo)",
    RestartWait.ROLLING: "its pods are being replaced already",
    RestartWait.INTERVAL: "it was restarted a short time ago",
    RestartWait.WINDOW: "its maintenance window is closed",
    RestartWait.BUDGET: "PodDisruptionBudget {about} allows no disruption; add replicas, or let the"
    " budget allow one",
    RestartWait.FAILED_ELSEWHERE: "{about} did not become healthy with the same contents; correct"
    " them, or restart it by hand",
    RestartWait.PAUSED: "it is paused ({about})",
    RestartWait.INVALID: "{about}",
}


def restarted(changed: Iterable[ChangedSource]) -> str:
    """Return why a workload was restarted."""
    return f"restarted, because {_changed(changed)}"


def would_restart(changed: Iterable[ChangedSource]) -> str:
    """Return why a workload would have been restarted."""
    return f"would be restarted, because {_changed(changed)}; this is a dry run"


def on_delete(changed: Iterable[ChangedSource]) -> str:
    """Return what is left to do where pods are replaced by hand."""
    return (
        f"{_changed(changed)}; its update strategy is OnDelete, so pods have the new contents once"
        " they are deleted"
    )


def failed(changed: Iterable[ChangedSource], error: str) -> str:
    """Return why a workload could not be restarted."""
    return f"not restarted although {_changed(changed)}: {error}; tried again"


def stalled(workload: Workload) -> str:
    """Return that a restart came to nothing."""
    advice = _REASONS[RestartWait.STALLED].partition("; ")[2]
    return (
        f"{workload.ref.kind} {workload.ref.key.name} has not completed its rollout after a"
        f" restart, and is not restarted again until it has; {advice}"
    )


def garbled(annotation: str) -> str:
    """Return that what was recorded cannot be read."""
    return (
        f"annotation {annotation} cannot be read; contents are recorded anew, and nothing restarts"
    )


def missing(sources: Sequence[SourceRef]) -> str:
    """Return what is consumed and does not exist."""
    shown = _shown([f"{ref.kind} {ref.name}" for ref in sources])
    return f"its pods consume what does not exist: {shown}; create it, or correct its name"


def waiting(changed: Iterable[ChangedSource], obstacle: RestartObstacle) -> str:
    """Return what a restart waits for."""
    return f"not restarted yet although {_changed(changed)}: {obstacle_text(obstacle)}"


def obstacle_text(obstacle: RestartObstacle) -> str:
    """Return what one obstacle is, and what ends it."""
    text = _text(obstacle)
    return f"{text}; until {_time(obstacle.until)}" if obstacle.until is not None else text


def _text(obstacle: RestartObstacle) -> str:
    if obstacle.flaw is not None:
        return f"{obstacle.about} {_FLAWS[obstacle.flaw]}"
    if obstacle.reason is RestartWait.LIMIT:
        where = f"in namespace {obstacle.about}" if obstacle.about else "in the cluster"
        return f"enough other workloads {where} are restarting"
    return _REASONS[obstacle.reason].format(about=obstacle.about)


def _changed(changed: Iterable[ChangedSource]) -> str:
    return f"{_shown([_source(one) for one in changed])} changed"


def _shown(parts: Sequence[str]) -> str:
    shown = ", ".join(parts[:_MOST_NAMED])
    return f"{shown} and {len(parts) - _MOST_NAMED} more" if len(parts) > _MOST_NAMED else shown


def _source(changed: ChangedSource) -> str:
    ref = changed.use.ref
    keys = f" ({', '.join(changed.keys[:_MOST_NAMED])})" if changed.keys else ""
    return f"{ref.kind} {ref.name}{keys}"


def _time(moment: datetime) -> str:
    return format_time(moment)
