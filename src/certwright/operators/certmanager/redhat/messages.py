"""The words of a CertManagerDeployment: conditions and events, put together here and nowhere else.

Types and reasons of the two conditions that cmd-operator wrote, and the reasons of its events, are
its own. Everything else is ours.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from certwright.apply import Action, Change, ObjectRef
from certwright.operators.certmanager.engine.gates import Finding, GateReason
from certwright.operators.certmanager.engine.port import (
    InstallReport,
    Previous,
    Remains,
    StepProgress,
)
from certwright.operators.certmanager.engine.preflight import Hindrance, Obstacle
from certwright.operators.certmanager.request import Management
from certwright.runtime.writes.events import EventType

InstallEvent = tuple[EventType, str, str]

_KINDS: Final = {
    "CustomResourceDefinition": "CRD",
    "MutatingWebhookConfiguration": "Webhook",
    "ValidatingWebhookConfiguration": "Webhook",
}
"""How reasons of events name kinds, where that is not their own name."""
MOST_NAMED: Final = 5

_FINDINGS: Final = {
    GateReason.DEFINITIONS: "the API server does not serve {subject} yet",
    GateReason.NOT_WRITTEN: "{subject} does not exist yet",
    GateReason.ROLLOUT: "{subject} is not rolled out: {detail}",
    GateReason.CA_MISSING: "the cainjector has not written the CA into {subject} yet",
    GateReason.UNTRUSTED: "the API server does not trust the webhook: {detail}",
    GateReason.UNREACHABLE: "the API server does not reach the webhook: {detail}",
    GateReason.UNUSED: "the API server accepts a {subject} for no name at all, so it does not ask"
    " the webhook; check the namespace selectors of the webhook configurations",
    GateReason.REFUSED: "the webhook refuses a {subject} that is in order: {detail}",
    GateReason.UNKNOWN: "a {subject} could not be tried: {detail}",
    GateReason.UNAVAILABLE: "the APIService {subject} is not available: {detail}",
    GateReason.NO_LEADER: "no pod of this version holds the Lease {subject} (held by: {detail})",
}
_OBSTACLES: Final = {
    Hindrance.FORBIDDEN_NAMESPACE: "cert-manager is not installed in the namespace {subjects},"
    " which belongs to the platform; choose another in spec.namespace",
    Hindrance.NAMESPACE_TERMINATING: "the namespace {subjects} is being deleted; installation goes"
    " on when it is gone",
    Hindrance.NAMESPACE_CHANGED: "the installation is in the namespace {allowed} and cannot move to"
    " {subjects}; set spec.namespace back, or remove the installation first",
    Hindrance.FOREIGN_INSTALLATION: "these objects exist and were installed by others: {subjects};"
    " set spec.adopt to take them over, or remove them; an installation in another namespace has"
    " to be removed",
    Hindrance.KUBERNETES_VERSION: "Kubernetes {found} is older than this version supports"
    " ({allowed})",
    Hindrance.VERSIONS_SKIPPED: "{found} is installed, and no minor version may be left out;"
    " install one after the other: {subjects}; or set spec.upgrade.allowSkip",
    Hindrance.DOWNGRADE_REFUSED: "{found} is installed, and {subjects} is older; set"
    " spec.upgrade.allowDowngrade if that is meant",
    Hindrance.FLAGS_INVALID: "{found} stays, for the wanted version does not accept what is set:"
    " {subjects}",
    Hindrance.STORED_VERSIONS: "{subjects} stores objects in {found}, which the wanted version does"
    " not know (it has {allowed})",
}


def finding_text(finding: Finding) -> str:
    """Return why a step has not come to its end."""
    text = _FINDINGS.get(finding.reason, "{subject}")
    return text.format(subject=finding.subject, detail=finding.detail or "none")


def obstacle_text(obstacle: Obstacle) -> str:
    """Return what is in the way, and the way out."""
    subjects = listed(obstacle.subjects)
    return _OBSTACLES[obstacle.reason].format(
        subjects=subjects, found=obstacle.found, allowed=obstacle.allowed
    )


def failures_text(failed: Sequence[Change]) -> str:
    """Return which objects could not be written, with what the server said."""
    return listed(f"{one.ref}: {one.reason}" for one in failed)


def progress_text(progress: StepProgress, older: str) -> str:
    """Return what is under way."""
    way = f"from {older} to {progress.version}" if older else f"of {progress.version}"
    word = "Upgrade" if older and older != progress.version else "Installation"
    way = way if word == "Upgrade" else f"of {progress.version}"
    return f"{word} {way}: step {progress.step}"


def rollback_text(report: InstallReport) -> str:
    """Return what was given up, and the way out."""
    return (
        f"{report.failed_version} did not come up in time, and {report.was_installed} was restored;"
        " mend what is wrong, then set spec.version to another version and back"
    )


def remains_text(remains: Remains) -> str:
    """Return what holds up a removal."""
    parts = []
    if remains.certificates:
        lost = listed(remains.certificates)
        parts.append(
            f"deletionPolicy.crds is Delete, and these would be lost: {lost}; delete them, or set"
            " spec.deletionPolicy.force"
        )
    if remains.pending and remains.challenges:
        parts.append(f"waiting for {listed(remains.challenges)} to finish")
    elif remains.pending:
        parts.append(failures_text(remains.pending))
    return "; ".join(parts) or "all objects are removed"


def listed(names: Iterable[object]) -> str:
    """Return the first few names, and how many there are besides."""
    every = [str(name) for name in names]
    more = len(every) - MOST_NAMED
    return ", ".join(every[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


# Events


def kind_word(ref: ObjectRef) -> str:
    """Return how reasons of events name the kind of an object."""
    return _KINDS.get(ref.kind, ref.kind)


def changed_events(change: Change, *, repaired: bool) -> list[InstallEvent]:
    """Return the events about an object that was written, or could not be."""
    if change.action is Action.UNCHANGED:  # as nearly all are in nearly every pass
        return []
    word, key = kind_word(change.ref), str(change.ref.key)
    match change.action:
        case Action.CREATED | Action.RECREATED:
            events = [_normal(f"Creating{word}", f"Creating {word}: {key}")]
        case Action.CONFIGURED:
            events = [
                _normal(f"Updating{word}", f"Updating {word}: {key}"),
                _normal(f"Updated{word}", f"Updated {word}: {key}"),
            ]
        case Action.DELETED:
            return [_normal(f"Pruned{word}", f"Pruned {word}: {key}")]
        case Action.FAILED:
            verb = "Update" if change.diff else "Create"
            note = f"Failed to write {word}: {key}: {change.reason}"
            return [("Warning", f"Failed{verb}{word}", note)]
        case _:
            return []
    if repaired:
        paths = [undone.path for undone in change.undone]
        paths = paths or [field.path for field in change.diff.changes]
        what = listed(paths) or "it was deleted"
        events = [_normal("DriftCorrected", f"Restored {word} {key}: {what}"), *events]
    return events


def report_events(before: Previous, report: InstallReport) -> list[InstallEvent]:
    """Return the events about the installation as a whole, when something begins or ends."""
    events: list[InstallEvent] = []
    begun = report.progress is not None and (
        before.progress is None or before.progress.version != report.progress.version
    )
    was, wanted = report.was_installed, report.version
    if begun and was and was != wanted:
        events.append(_normal("UpgradeStarted", f"Changing cert-manager from {was} to {wanted}"))
    if was and report.installed not in {"", was}:
        events.append(_normal("UpgradeCompleted", f"cert-manager {report.installed} works"))
    if report.failed_version and not before.failed_version:
        events.append(("Warning", "UpgradeRolledBack", rollback_text(report)))
    for obstacle in report.obstacles:
        reason = "UpgradeBlocked" if obstacle.reason.concerns_version else obstacle.reason
        events.append(("Warning", str(reason), obstacle_text(obstacle)))
    for trouble in report.troubles:
        reason = _TROUBLE_EVENTS.get(trouble.reason, "InvalidOverride")
        events.append(("Warning", reason, trouble.message))
    if report.management is Management.REMOVED and report.remains and report.remains.challenges:
        note = f"Challenges under way: {listed(report.remains.challenges)}"
        events.append(("Warning", "ChallengesRunning", note))
    return events


_TROUBLE_EVENTS: Final = {
    "UnsupportedVersion": "UnsupportedVersion",
    "BundleMissing": "BundleMissing",
    "CatalogCorrupt": "CatalogCorrupt",
    "Rejected": "Rejected",
}


def _normal(reason: str, note: str) -> InstallEvent:
    return ("Normal", reason, note)
