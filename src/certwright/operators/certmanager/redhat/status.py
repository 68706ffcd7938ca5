"""The status of a `CertManagerDeployment`, from the report of a pass; pure.

The first two conditions, the phase and the lists of conditions are those of cmd-operator. Times
move only with what they are about, so that the same report gives the same status.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from certwright.kube import JsonObject, format_time
from certwright.operators.certmanager.engine.observed import ComponentState, DefinitionState
from certwright.operators.certmanager.engine.port import InstallReport
from certwright.operators.certmanager.redhat import messages
from certwright.operators.certmanager.request import Management

DEPLOYMENTS_READY: Final = "DeploymentsAreReady"
DEFINITIONS_READY: Final = "CRDsAreReady"
AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"
DEGRADED: Final = "Degraded"
UPGRADEABLE: Final = "Upgradeable"
REJECTED: Final = "Rejected"
AS_EXPECTED: Final = "AsExpected"
CONFLICT: Final = "Conflict"
_COUNTED: Final = frozenset({DEPLOYMENTS_READY, DEFINITIONS_READY, AVAILABLE, PROGRESSING})
"""Conditions whose messages change with every pod."""


class Assertion(NamedTuple):
    """What a condition says, without times."""

    type: str
    status: str
    reason: str = AS_EXPECTED
    message: str = ""


def status_of(old: JsonObject, report: InstallReport, generation: int, now: datetime) -> JsonObject:
    """Return the whole status; what a report does not tell stays as it was."""
    looked = report.expected_components > 0 or report.management is Management.REMOVED
    told = list(_conditions(report, looked=looked))
    conditions = _merged(old.get("conditions") or (), told, now)
    true = {one["type"] for one in conditions if one["status"] == "True"}
    ready = {DEPLOYMENTS_READY, DEFINITIONS_READY} <= true
    status: dict[str, Any] = {
        "version": report.asked or old.get("version") or "",
        "phase": "Running" if ready else "Pending",
        "conditions": conditions,
        "deploymentConditions": old.get("deploymentConditions") or [],
        "crdConditions": old.get("crdConditions") or [],
        "observedGeneration": generation,
        "installedVersion": report.installed or report.was_installed,
        "components": old.get("components") or [],
        "inventory": list(report.inventory),
        "failedVersion": report.failed_version,
    }
    if looked:
        status["deploymentConditions"] = [_workload(one) for one in report.components if one.found]
        status["crdConditions"] = [
            {"name": one.name, "conditions": list(one.conditions)}
            for one in report.definitions
            if one.found
        ]
        status["components"] = [_component(one) for one in report.components if one.found]
    if report.remains is not None and report.remains.done:
        status["installedVersion"] = ""
    if report.progress is not None:
        status["step"] = {
            "name": report.progress.step,
            "targetVersion": report.progress.version,
            "since": format_time(report.progress.since),
        }
        if report.progress.left:
            status["step"]["fromVersions"] = list(report.progress.left)
    return {name: value for name, value in status.items() if value not in ("", 0)}


def is_urgent(before: JsonObject, after: JsonObject) -> bool:
    """Return whether two statuses differ in more than counts of pods and what follows from them."""
    return _essence(before) != _essence(after)


def _essence(status: JsonObject) -> JsonObject:
    kept = {
        name: status.get(name)
        for name in ("version", "phase", "installedVersion", "failedVersion", "step", "inventory")
    }
    kept["conditions"] = [
        (one["type"], one["status"], one.get("reason"))
        + ((one.get("message"),) if one["type"] not in _COUNTED else ())
        for one in status.get("conditions") or ()
    ]
    return kept


def _conditions(report: InstallReport, *, looked: bool) -> Iterator[Assertion]:
    if report.holder:
        holder = report.holder.rpartition("/")[0]
        text = f"{holder} holds the installation; this object takes over when that one is deleted"
        yield Assertion(DEGRADED, "True", CONFLICT, text)
        return
    rejected = [one for one in report.troubles if one.reason == REJECTED]
    if rejected:
        yield Assertion(REJECTED, "True", "WrongName", rejected[0].message)
        return
    if looked:
        yield _deployments(report.components, report.expected_components)
        yield _definitions(report.definitions, report.expected_definitions)
        yield _available(report)
    yield _progressing(report)
    yield _degraded(report)
    yield _upgradeable(report)


def _deployments(components: Sequence[ComponentState], expected: int) -> Assertion:
    found = [one for one in components if one.found]
    late = [str(one.ref.key) for one in found if not (one.healthy and one.rolled_out)]
    if len(found) < expected or not expected:
        missing = [str(one.ref.key) for one in components if not one.found]
        text = f"missing: {messages.listed(missing)}" if missing else "there are none"
        return Assertion(DEPLOYMENTS_READY, "Unknown", "AllDeploymentsHealthy", text)
    text = f"not ready: {messages.listed(late)}" if late else ""
    return Assertion(DEPLOYMENTS_READY, str(not late), "AllDeploymentsHealthy", text)


def _definitions(definitions: Sequence[DefinitionState], expected: int) -> Assertion:
    found = [one for one in definitions if one.found]
    if len(found) < expected or not expected:
        return Assertion(DEFINITIONS_READY, "Unknown", "AllCRDsHealthy")
    late = [one.name for one in found if not one.established]
    text = f"not established: {messages.listed(late)}" if late else ""
    return Assertion(DEFINITIONS_READY, str(not late), "AllCRDsHealthy", text)


def _available(report: InstallReport) -> Assertion:
    if report.management is Management.REMOVED:
        return Assertion(AVAILABLE, "False", "Removed", "cert-manager is removed, as requested")
    if report.serving:
        return Assertion(AVAILABLE, "True", message="certificates can be issued by what runs")
    late = [finding for finding in report.findings if not finding.passed]
    if late:
        return Assertion(AVAILABLE, "False", late[0].reason, messages.finding_text(late[0]))
    if report.available:
        return Assertion(AVAILABLE, "True", message="certificates can be issued")
    return Assertion(AVAILABLE, "False", "Installing", "not all steps are finished")


def _progressing(report: InstallReport) -> Assertion:
    if report.remains is not None and not report.remains.done:
        return Assertion(PROGRESSING, "True", "Removing", messages.remains_text(report.remains))
    if report.progress is None:
        return Assertion(PROGRESSING, "False")
    was = report.was_installed
    reason = "Upgrading" if was not in {"", report.progress.version} else "Installing"
    return Assertion(PROGRESSING, "True", reason, messages.progress_text(report.progress, was))


def _degraded(report: InstallReport) -> Assertion:
    if report.troubles:
        text = "; ".join(one.message for one in report.troubles)
        return Assertion(DEGRADED, "True", report.troubles[0].reason, text)
    if report.obstacles:
        text = "; ".join(map(messages.obstacle_text, report.obstacles))
        return Assertion(DEGRADED, "True", report.obstacles[0].reason, text)
    if report.unmigrated:
        return Assertion(DEGRADED, "True", "MigrationFailed", messages.listed(report.unmigrated))
    if report.remains is not None and report.remains.blocked:
        text = messages.remains_text(report.remains)
        return Assertion(DEGRADED, "True", "RemovalBlocked", text)
    if report.failed:
        text = messages.failures_text(report.failed)
        return Assertion(DEGRADED, "True", "ObjectsNotWritten", text)
    if report.failed_version:
        return Assertion(DEGRADED, "True", "RolledBack", messages.rollback_text(report))
    if report.overdue and report.progress is not None:
        late = [finding for finding in report.findings if not finding.passed]
        why = f": {messages.finding_text(late[0])}" if late else ""
        text = f"step {report.progress.step} takes longer than it may{why}"
        return Assertion(DEGRADED, "True", "StepTimedOut", text)
    return Assertion(DEGRADED, "False")


def _upgradeable(report: InstallReport) -> Assertion:
    blocking = [one for one in report.obstacles if one.reason.concerns_version]
    if blocking:
        text = "; ".join(map(messages.obstacle_text, blocking))
        return Assertion(UPGRADEABLE, "False", blocking[0].reason, text)
    if report.unmigrated:
        text = (
            "objects are stored in a version that the wanted one does not know, and cannot be"
            f" stored anew: {messages.listed(report.unmigrated)}; mend or delete them"
        )
        return Assertion(UPGRADEABLE, "False", "StoredVersions", text)
    if report.progress is not None:
        return Assertion(UPGRADEABLE, "False", PROGRESSING, "a step is not finished yet")
    return Assertion(UPGRADEABLE, "True")


def _merged(
    old: Sequence[JsonObject], told: Sequence[Assertion], now: datetime
) -> list[JsonObject]:
    """Return the conditions with their times; types that are not told stay, after the others."""
    known: Mapping[str, JsonObject] = {str(one.get("type")): one for one in old}
    stamp = format_time(now)
    merged: list[JsonObject] = []
    kept = {REJECTED, CONFLICT} if len(told) > 1 else set()
    for one in told:
        before = known.get(one.type, {})
        said = (before.get("status"), before.get("reason"), before.get("message") or "")
        same_status = before.get("status") == one.status
        moved = before.get("lastTransitionTime") or stamp if same_status else stamp
        written = before.get("lastUpdateTime") or stamp if said == one[1:] else stamp
        merged.append(
            {
                "type": one.type,
                "status": one.status,
                "reason": one.reason,
                **({"message": one.message} if one.message else {}),
                "lastUpdateTime": written,
                "lastTransitionTime": moved,
            }
        )
    names = {one.type for one in told} | kept
    untold = [dict(one) for name, one in known.items() if name not in names]
    order = [DEPLOYMENTS_READY, DEFINITIONS_READY]
    return sorted([*merged, *untold], key=lambda one: _rank(one["type"], order))


def _rank(name: str, order: Sequence[str]) -> int:
    return order.index(name) if name in order else len(order)


def _workload(one: ComponentState) -> JsonObject:
    return {"namespacedName": str(one.ref.key), "conditions": list(one.conditions)}


def _component(one: ComponentState) -> JsonObject:
    counts = {
        "desiredReplicas": one.desired,
        "updatedReplicas": one.updated,
        "readyReplicas": one.ready,
        "availableReplicas": one.available,
    }
    texts = {
        "image": one.image,
        "version": one.version if one.rolled_out else "",
        "argsHash": one.args_hash,
    }
    return {
        "name": str(one.component),
        **{name: count for name, count in counts.items() if count},
        **{name: text for name, text in texts.items() if text},
    }
