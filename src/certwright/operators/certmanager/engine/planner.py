"""From what is requested and what is there to the plan of a pass, for the operator and for people.

Nothing is written here, and nothing is remembered.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from certwright.apply import ObjectRef
from certwright.kube import Key
from certwright.operators.certmanager.engine.plan import (
    InstallPlan,
    after_failure,
    with_copy,
    with_pull_secret,
)
from certwright.operators.certmanager.engine.port import Previous, Source, SourceError, refs_of
from certwright.operators.certmanager.engine.preflight import preflight
from certwright.operators.certmanager.engine.steps import StepOrder, Wanted, course
from certwright.operators.certmanager.engine.view import ClusterView
from certwright.operators.certmanager.request import InstallRequest

NEVER_PRUNED: Final = frozenset({"CustomResourceDefinition", "Namespace"})


async def make_plan(
    source: Source, view: ClusterView, owner: Key, before: Previous, request: InstallRequest
) -> InstallPlan:
    """Decide what to work towards: what is requested, or what runs if that must not change.

    *owner* is the custom resource that requests it.
    """
    secret = await view.pull_secret(owner, request)
    wish = with_pull_secret(after_failure(request, before), secret)
    plan = await _plan(source, view, before, wish)
    copied = with_copy(plan.wanted, secret)
    return replace(plan, wanted=copied, pull_secret=secret, asked=request.version)


async def _plan(
    source: Source, view: ClusterView, before: Previous, request: InstallRequest
) -> InstallPlan:
    wanted = source.wanted(request)
    around, wanted, foreign = await view.surroundings(
        request, wanted, before, source.window(request.version), source.versions
    )
    seen = await view.observe(wanted, foreign)
    way = course(wanted.version, seen.components, before.installed, before.left)
    definitions = {one.name: one for one in seen.definitions}
    around = replace(around, definitions=definitions, installed=before.installed)
    obstacles = preflight(request, wanted, way, around)
    if not obstacles:
        wanted = view.trusting(wanted.sparing_pods(seen.deployments))
        older = _older(source, request, way)
        return InstallPlan(request, wanted, way, around=around, older=older)
    halted = InstallPlan(request, wanted, way, obstacles, halted=True, around=around)
    if not way.staged or not all(one.reason.concerns_version for one in obstacles):
        return halted
    kept = replace(request, version=before.installed or way.older)
    try:
        running = source.wanted(kept)
    except SourceError:
        return halted
    _, running, _ = await view.surroundings(kept, running, before, None, ())
    unchanged = course(running.version, seen.components)
    if unchanged.staged or running.problems:
        return halted
    return InstallPlan(kept, running, unchanged, obstacles, around=around)


def _older(source: Source, request: InstallRequest, way: StepOrder) -> Wanted | None:
    """Return what is wanted of the versions that run; None if none other is known."""
    found: Wanted | None = None
    for version in way.others:
        try:
            other = source.wanted(replace(request, version=version))
        except SourceError:
            continue
        found = other if found is None else other.with_rights_of(found)
    return found


def surplus_of(wanted: Wanted, listed: Sequence[str]) -> list[ObjectRef]:
    """Return what an inventory lists and is not wanted any more, but for what is never pruned."""
    known = {one.ref.identity for one in wanted.objects}
    return [
        ref for ref in refs_of(listed) if ref.identity not in known and ref.kind not in NEVER_PRUNED
    ]
