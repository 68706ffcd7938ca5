"""What a CertManager contributes to the engine: a request, and a status, events and log lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from msgspec import UNSET, to_builtins

from certwright.api.certmanagers import (
    CertManagerCondition,
    CertManagerInstallation,
    CertManagerStatus,
    DeploymentSummary,
    UnfinishedStep,
)
from certwright.apply import Action, Change, ObjectRef
from certwright.kube import JsonObject
from certwright.operators.certmanager.engine.observed import ComponentState
from certwright.operators.certmanager.engine.port import (
    InstallReport,
    Previous,
    SourceError,
    StepProgress,
    Trouble,
)
from certwright.operators.certmanager.engine.preflight import Hindrance
from certwright.operators.certmanager.ibm import messages
from certwright.operators.certmanager.ibm.adapter import (
    install_request,
    is_allowed,
    refuses_webhook,
)
from certwright.operators.certmanager.ibm.logs import InstallLog
from certwright.operators.certmanager.ibm.summary import (
    NO_RULE,
    InstallEvent,
    InstallFacts,
    InstallSummary,
    events,
    summary,
)
from certwright.operators.certmanager.redhat.messages import finding_text, obstacle_text
from certwright.operators.certmanager.render import InstallStep
from certwright.operators.certmanager.request import Component, InstallRequest, Management
from certwright.operators.certmanager.v010.names import NO_VALIDATION

_NAME: Final = "NameNotAllowed"
_OF_WEBHOOK: Final = (InstallStep.CAINJECTOR, InstallStep.WEBHOOK, InstallStep.REGISTRATIONS)


@dataclass(frozen=True, slots=True)
class CertManagerBefore(Previous):
    """What the status said, all of it."""

    status: CertManagerStatus = field(default_factory=CertManagerStatus)


class CertManagerKind:
    """CertManagers, as the engine sees them; *environment* may name images."""

    kind = CertManagerInstallation

    def __init__(self, environment: Mapping[str, str], verbosity: int = 1) -> None:
        self._environment = environment
        self.log = InstallLog(verbosity)
        self.events = CertManagerEvents(self.log)

    def rejected(self, obj: CertManagerInstallation) -> Trouble | None:
        """Return why an object is not acted on: its name is not the one that counts."""
        return None if is_allowed(obj) else Trouble(_NAME, messages.NOT_ALLOWED)

    def request(self, obj: CertManagerInstallation, default_version: str) -> InstallRequest:
        """Return what an object asks for; `SourceError` if it asks for what cannot work."""
        del default_version  # without a version 0.10 is meant
        if refuses_webhook(obj):
            raise SourceError("WebhookRequired", messages.WEBHOOK_REQUIRED)
        return install_request(obj, self._environment)

    def previous(self, obj: CertManagerInstallation) -> CertManagerBefore:
        """Return what the status says."""
        status, step = obj.status, obj.status.progress
        return CertManagerBefore(
            inventory=status.inventory,
            installed=status.installed_version,
            progress=StepProgress(step.step, step.version, step.since, step.from_versions)
            if step
            else None,
            status=status,
        )

    def status(
        self, obj: CertManagerInstallation, report: InstallReport, now: datetime
    ) -> JsonObject:
        """Return the status that tells a report."""
        facts = facts_of(report)
        said, generation = summary(facts), obj.metadata.generation or 0
        step = report.progress
        status = CertManagerStatus(
            cert_manager_status=said.text,
            observed_generation=generation,
            conditions=_conditions(obj.status, said, generation, now),
            version=report.version or obj.status.version,
            installed_version=report.installed or report.was_installed,
            phase=said.phase,
            progress=UnfinishedStep(
                step=step.step,
                version=step.version,
                since=step.since,
                from_versions=list(step.left),
            )
            if step
            else UNSET,
            deployments=list(facts.deployments),
            managed_resources=len(report.inventory),
            inventory=list(report.inventory),
        )
        told: JsonObject = to_builtins(status)
        return told

    def is_urgent(self, before: JsonObject, after: JsonObject) -> bool:
        """Return whether two statuses differ in more than how many pods there are."""
        counts = {"deployments": None, "progress": None}
        return {**before, **counts} != {**after, **counts}


class CertManagerEvents:
    """The events of a CertManager, and the lines of log that go with them."""

    def __init__(self, log: InstallLog) -> None:
        self._log = log

    def changed(self, change: Change, *, repaired: bool) -> Sequence[InstallEvent]:
        """Return the events about an object; that it was deleted to change it is worth one."""
        self._log.changed(change, repaired=repaired)
        if change.action is Action.RECREATED:
            return [("Normal", "Recreated", messages.recreated(change))]
        return []

    def removed(self, change: Change) -> None:
        """Take note of an object that goes with the installation."""
        self._log.removed(change)

    def reported(self, before: Previous, report: InstallReport) -> Sequence[InstallEvent]:
        """Return those about the installation: what changed since the last time."""
        facts = facts_of(report)
        self._log.reported(facts)
        known = before.status if isinstance(before, CertManagerBefore) else CertManagerStatus()
        return list(events(known, facts))


def facts_of(report: InstallReport) -> InstallFacts:
    """Return what a report says, as a CertManager tells it."""
    if report.troubles and report.troubles[0].reason == _NAME:
        return InstallFacts(rejected=report.troubles[0].message)
    if report.management is Management.REMOVED and report.remains is not None:
        return InstallFacts(deleting=True, pending=report.remains.pending)
    request = report.request
    namespace = request.namespace if request is not None else ""
    wants_webhook = request is not None and request.component(Component.WEBHOOK).enabled
    every = (*report.components, *report.helpers)
    return InstallFacts(
        version=report.version,
        namespace=namespace,
        holder=report.holder,
        duplicates=tuple(_duplicates(report)),
        troubles=tuple(_troubles(report)),
        failed=(
            *(one for one in report.failed if one.action is Action.FAILED),
            *_terminating(report),
        ),
        unestablished=tuple(one.name for one in report.definitions if not one.established),
        pull_secret=report.pull_secret,
        pull_secret_rule=(request.pull_secret if request is not None else None) or NO_RULE,
        deployments=tuple(_deployment(one) for one in every if one.found),
        expected=len(every),
        webhook_wanted=wants_webhook,
        webhook_problem=_webhook_problem(report) if wants_webhook else "",
        left_alone=report.left_alone,
        unlabelled=_lacks_label(report.namespace_labels),
        managed=len(report.inventory),
    )


def _lacks_label(labels: Mapping[str, str] | None) -> bool:
    return labels is not None and labels.get(NO_VALIDATION) != "true"


def _duplicates(report: InstallReport) -> list[tuple[str, ObjectRef]]:
    return [
        ("cert-manager-controller", ref)
        for obstacle in report.obstacles
        if obstacle.reason is Hindrance.FOREIGN_INSTALLATION
        for ref in obstacle.refs
    ]


def _troubles(report: InstallReport) -> list[tuple[str, str]]:
    told_otherwise = {Hindrance.FOREIGN_INSTALLATION, Hindrance.NAMESPACE_TERMINATING}
    found = [(one.reason, one.message) for one in report.troubles]
    return found + [
        (str(one.reason), obstacle_text(one))
        for one in report.obstacles
        if one.reason not in told_otherwise
    ]


def _terminating(report: InstallReport) -> list[Change]:
    return [
        Change(ObjectRef("v1", "Namespace", "", name), Action.BLOCKED, messages.TERMINATING)
        for obstacle in report.obstacles
        if obstacle.reason is Hindrance.NAMESPACE_TERMINATING
        for name in obstacle.subjects
    ]


def _webhook_problem(report: InstallReport) -> str:
    found = {finding.step: finding for finding in report.findings}
    for step in _OF_WEBHOOK:
        if step not in found:
            return messages.WEBHOOK_WAITS
        if not found[step].passed:
            return finding_text(found[step])
    return ""


def _deployment(state: ComponentState) -> DeploymentSummary:
    return DeploymentSummary(
        name=state.ref.name,
        namespace=state.ref.namespace,
        ready=state.available if state.observed else 0,
        desired=state.desired,
        image=state.image,
    )


def _conditions(
    before: CertManagerStatus, said: InstallSummary, generation: int, now: datetime
) -> list[CertManagerCondition]:
    known = {one.type: one for one in before.conditions}
    told = []
    for one in said.conditions:
        old = known.get(one.type)
        since = old.last_transition_time if old and old.status == one.status else UNSET
        condition = CertManagerCondition(
            type=one.type,
            status=one.status,
            reason=one.reason,
            message=one.message,
            last_transition_time=since or now.replace(microsecond=0),
            observed_generation=generation,
        )
        told.append(condition)
    return told
