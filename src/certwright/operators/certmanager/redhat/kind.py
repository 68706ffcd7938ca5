"""`CertManagerDeployment`, as the engine sees it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec import UnsetType, to_builtins

from certwright.api.certmanagerdeployments import NAME, CertManagerDeployment
from certwright.apply import Change
from certwright.kube import JsonObject
from certwright.operators.certmanager.engine.port import (
    InstallReport,
    Previous,
    StepProgress,
    Trouble,
)
from certwright.operators.certmanager.redhat import messages, status
from certwright.operators.certmanager.redhat.adapter import install_request
from certwright.operators.certmanager.request import InstallRequest

FIELD_MANAGER: Final = "certmanagerdeployment-operator"
CONTROLLER: Final = "certmanagerdeployment-controller"


class DeploymentEvents:
    """The events that users of cmd-operator know, and further ones."""

    def changed(self, change: Change, *, repaired: bool) -> Sequence[messages.InstallEvent]:
        """Return the events about an object that was written."""
        return messages.changed_events(change, repaired=repaired)

    def removed(self, change: Change) -> None:
        """Take no note: an event about an object that is going helps none."""

    def reported(self, before: Previous, report: InstallReport) -> Sequence[messages.InstallEvent]:
        """Return those about the installation as a whole."""
        return messages.report_events(before, report)


class DeploymentKind:
    """An `InstallKind`; *environment* is the operator's own."""

    kind = CertManagerDeployment
    events = DeploymentEvents()

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = environment or {}

    def rejected(self, obj: CertManagerDeployment) -> Trouble | None:
        """Return why an object is not acted on: it is not the one that counts."""
        if obj.metadata.name == NAME:
            return None
        text = f"only the CertManagerDeployment {NAME} is acted on; delete {obj.metadata.name}"
        return Trouble(status.REJECTED, text)

    def request(self, obj: CertManagerDeployment, default_version: str) -> InstallRequest:
        """Return what an object asks for."""
        return install_request(obj, default_version, self._environment)

    def previous(self, obj: CertManagerDeployment) -> Previous:
        """Return what its status says."""
        told, step = obj.status, obj.status.step
        progress = None
        if not isinstance(step, UnsetType) and not isinstance(step.since, UnsetType):
            progress = StepProgress(step.name, step.target_version, step.since, step.from_versions)
        return Previous(
            told.inventory, told.installed_version, progress, failed_version=told.failed_version
        )

    def status(
        self, obj: CertManagerDeployment, report: InstallReport, now: datetime
    ) -> JsonObject:
        """Return the whole status that tells a report."""
        old: JsonObject = to_builtins(obj.status)
        return status.status_of(old, report, obj.metadata.generation, now)

    def is_urgent(self, before: JsonObject, after: JsonObject) -> bool:
        """Return whether two statuses differ in more than counts."""
        return status.is_urgent(before, after)
