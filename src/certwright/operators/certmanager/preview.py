"""What an installation would become: the plan of the operator, carried out by dry runs.

For command lines, from anywhere. Decisions are those of the operator: which version is worked
towards, what stands in the way, which objects are written and which are pruned. Only what it reads
from its stores is asked for here.
"""

from dataclasses import dataclass
from typing import TypeVar

from certwright.api.certmanagerdeployments import GROUP
from certwright.apply import Change, ChangeSet
from certwright.apply.engine.engine import OnEntry
from certwright.bundles.catalogue import Catalogue
from certwright.bundles.versions import Release
from certwright.client import Client
from certwright.clock import SYSTEM, Clock
from certwright.keep.marks import Marks
from certwright.keep.preview import KeptPreview
from certwright.kube import Object
from certwright.operators.certmanager.engine.migration import migrations
from certwright.operators.certmanager.engine.observed import Observed
from certwright.operators.certmanager.engine.plan import InstallPlan
from certwright.operators.certmanager.engine.planner import make_plan, surplus_of
from certwright.operators.certmanager.engine.port import InstallKind, Source, refs_of
from certwright.operators.certmanager.engine.secretview import PullSecretReader
from certwright.operators.certmanager.engine.steps import PREREQUISITES, UPWARDS
from certwright.operators.certmanager.engine.view import ClusterView
from certwright.operators.certmanager.operator import CLAIMANT_NAMES
from certwright.operators.certmanager.redhat.kind import FIELD_MANAGER
from certwright.operators.certmanager.request import InstallRequest

T = TypeVar("T", bound=Object)


@dataclass(frozen=True, slots=True)
class InstallPreview:
    """What would become of each object, and what is worth knowing before."""

    plan: InstallPlan
    older: str
    """The version that is installed now; empty if there is none."""
    changes: ChangeSet
    """What would be written and pruned; empty if nothing may be."""
    migrated: tuple[str, ...]
    """Definitions whose objects would be stored anew."""
    notes: tuple[tuple[str, str], ...]
    """Minor versions, and what to know before upgrading to each."""
    seen: Observed


async def preview(
    client: Client,
    resource: T,
    kind: InstallKind[T],
    request: InstallRequest,
    source: Source,
    catalogue: Catalogue,
    *,
    clock: Clock = SYSTEM,
    on_entry: OnEntry | None = None,
) -> InstallPreview:
    """Return what the next passes of the operator would do, as far as that can be told now.

    *request* is what *resource* asks for. Raises `SourceError` if its version cannot be had.
    """
    before = kind.previous(resource)
    marks = Marks.of(GROUP, FIELD_MANAGER, CLAIMANT_NAMES)
    kept = KeptPreview(client, marks, resource.key, refs_of(before.inventory))
    view = ClusterView(kept, client, clock, PullSecretReader(client))
    plan = await make_plan(source, view, resource.key, before, request)
    seen = await view.observe(plan.wanted)
    changes = ChangeSet()
    if not plan.halted:
        steps = PREREQUISITES if plan.blocked else UPWARDS
        changes = await kept.apply(plan.wanted.of(*steps), on_entry)
        surplus = surplus_of(plan.wanted, before.inventory)
        if surplus and not plan.wanted.problems and not plan.blocked:
            changes |= await kept.delete(surplus, on_entry)
    migrated = migrations(seen.definitions, plan.wanted.versions)
    older = before.installed or plan.course.older
    return InstallPreview(
        plan,
        older,
        changes,
        tuple(one.definition for one in migrated),
        _notes(catalogue, older, request.version),
        seen,
    )


def restarted(changes: ChangeSet) -> list[Change]:
    """Return the Deployments whose pods would be replaced: their template changes."""
    return [
        change
        for change in changes.entries
        if change.ref.kind == "Deployment"
        and any(field.path.startswith("spec.template") for field in change.diff.changes)
    ]


def _notes(catalogue: Catalogue, older: str, newer: str) -> tuple[tuple[str, str], ...]:
    try:
        if Release.parse(older) >= Release.parse(newer):
            return ()
        return tuple(catalogue.notes(older, newer))
    except ValueError:
        return ()  # nothing is installed, or what is installed does not tell its version
