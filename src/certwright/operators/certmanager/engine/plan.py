"""What one pass is to do, and the report of what it saw; pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from certwright.apply import Declared, Rules
from certwright.kube import JsonObject
from certwright.operators.certmanager.engine.observed import Observed
from certwright.operators.certmanager.engine.port import (
    InstallReport,
    Previous,
    StepProgress,
    Trouble,
)
from certwright.operators.certmanager.engine.preflight import Obstacle, Surroundings
from certwright.operators.certmanager.engine.pullsecret import PullSecretDecision
from certwright.operators.certmanager.engine.steps import DOWNWARDS, StepOrder, Wanted
from certwright.operators.certmanager.render import InstallStep
from certwright.operators.certmanager.request import InstallRequest, Naming

NOTHING_AROUND: Final = Surroundings()


@dataclass(frozen=True, slots=True)
class InstallPlan:
    """What one pass is to do."""

    request: InstallRequest
    wanted: Wanted
    course: StepOrder
    obstacles: tuple[Obstacle, ...] = ()
    halted: bool = False
    """Whether nothing may be written."""
    asked: str = ""
    """The version that is requested, if another one is installed."""
    around: Surroundings = NOTHING_AROUND
    pull_secret: PullSecretDecision | None = None
    older: Wanted | None = None
    """What is wanted of the other versions that run, which may be newer; None if none does."""

    @property
    def meanwhile(self) -> Wanted:
        """What is wanted until all pods are those of the wanted version."""
        return self.wanted if self.older is None else self.wanted.with_rights_of(self.older)

    @property
    def beforehand(self) -> Wanted | None:
        """What is wanted before the first pods of an older version run; None if nothing else.

        Roles change after the pods on the way back, and these pods may need more than the newer.
        """
        if self.older is None or self.course.steps != DOWNWARDS:
            return None
        return self.older.with_rights_of(self.wanted)

    @property
    def cautious(self) -> bool:
        """Whether nothing runs before all that it needs is there, as users of 0.10 know it."""
        return self.request.naming is Naming.V0_10

    @property
    def blocked(self) -> bool:
        """Whether nothing may run yet, for want of a Secret."""
        return self.pull_secret is not None and self.pull_secret.blocks


def after_failure(request: InstallRequest, before: Previous) -> InstallRequest:
    """Return what to install: the last version that worked, if the requested one did not come up.

    That counts until another version is requested, or no roll-back any more.
    """
    failed = before.failed_version == request.version and bool(before.installed)
    if not failed or not request.upgrade.rollback:
        return request
    return replace(request, version=before.installed)


def failed_version(before: Previous, plan: InstallPlan, *, overdue: bool) -> str:
    """Return the version that is given up, or was before; empty if there is none."""
    upgrade = plan.course.staged and before.installed not in {"", plan.wanted.version}
    if overdue and upgrade and plan.request.upgrade.rollback:
        return plan.wanted.version
    return before.failed_version if before.failed_version == plan.asked else ""


def with_pull_secret(request: InstallRequest, secret: PullSecretDecision | None) -> InstallRequest:
    """Return a request whose pods name the Secret with which their images are pulled."""
    if secret is None or not secret.name:
        return request
    names = (*request.images.pull_secrets, secret.name)
    return replace(request, images=replace(request.images, pull_secrets=names))


def with_copy(wanted: Wanted, secret: PullSecretDecision | None) -> Wanted:
    """Return what is wanted with the copy of the Secret with which images are pulled."""
    if secret is None or secret.copy is None:
        return wanted
    # The type of a Secret cannot be changed.
    return wanted.with_objects(InstallStep.ROLES, Declared(secret.copy, Rules(recreate=True)))


def labels_of(namespace: JsonObject | None) -> Mapping[str, str] | None:
    """Return the labels of a namespace that others provide; None if there is no such."""
    return None if namespace is None else namespace["metadata"].get("labels") or {}


def seen_report(
    before: Previous, plan: InstallPlan, seen: Observed, step: InstallStep | None, now: datetime
) -> InstallReport:
    """Return a report about what is seen, with the step that is under way and since when."""
    known = before.progress
    progress = known if plan.halted else None
    if step is not None and not plan.halted:
        same = known is not None and (known.step, known.version) == (step, plan.wanted.version)
        since = known.since if known is not None and same else now.replace(microsecond=0)
        progress = StepProgress(step, plan.wanted.version, since, plan.course.others)
    seconds = (now - progress.since).total_seconds() if progress is not None else 0.0
    overdue = not plan.halted and seconds > plan.request.upgrade.step_seconds
    return InstallReport(
        request=plan.request,
        version=plan.wanted.version,
        installed=seen.installed_version if step is None else "",
        was_installed=before.installed,
        management=plan.request.management,
        components=seen.components,
        helpers=seen.helpers,
        definitions=seen.definitions,
        expected_components=len(plan.wanted.deployments),
        expected_definitions=len(plan.wanted.definitions),
        progress=progress,
        overdue=overdue,
        failed_version=failed_version(before, plan, overdue=overdue),
    )


def unread(before: Previous, trouble: Trouble) -> InstallReport:
    """Return a report of a pass that could not look at anything."""
    return InstallReport(
        troubles=(trouble,),
        inventory=before.inventory,
        installed=before.installed,
        was_installed=before.installed,
        progress=before.progress,
    )
