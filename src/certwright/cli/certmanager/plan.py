"""``certwright cert-manager plan``: what would change, before anything does."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

from msgspec import structs

from certwright.api.certmanagerdeployments import GROUP
from certwright.apply import Action, ChangeSet
from certwright.apply.diff import FieldChange
from certwright.cli.apply.results import code_of_diff, differences, results_document
from certwright.cli.certmanager.inputs import published, read_either, source_of
from certwright.cli.connection import connected
from certwright.cli.options import Output, Target
from certwright.cli.terminal.notice import QUIET_SECONDS
from certwright.cli.terminal.output import document
from certwright.cli.terminal.progress import ProgressLine
from certwright.operators.certmanager.ibm.messages import pull_secret
from certwright.operators.certmanager.preview import InstallPreview, restarted
from certwright.operators.certmanager.redhat.messages import listed, obstacle_text

_DIGEST: Final = f'metadata.annotations["{GROUP}/digest"]'


async def plan(target: Target, path: str, folder: Path, output: Output) -> int:
    """Print what would change; 1 if something does, 2 if something stands in the way."""
    async with connected(target) as session:
        asked = await read_either(session.client, path)
        source = source_of(folder, await published(session.client))
        request = asked.request(source)
        with ExitStack() as stack:
            progress = ProgressLine(None, dry_run=True, quiet_seconds=QUIET_SECONDS)
            shown = stack.enter_context(progress)
            found = await asked.preview(session.client, request, source, on_entry=shown)
    problems, notes = list(problem_lines(found)), list(note_lines(found))
    if output is Output.TABLE:
        print(headline(found))
        shown_changes = without_digests(found.changes)
        if not found.older:
            shown_changes = without_contents(shown_changes)
            notes.append(
                "the new objects as a whole are printed by: certwright cert-manager render"
            )
        print(differences(shown_changes, output), flush=True)
    else:
        whole = results_document(found.changes, problems, dry_run=True)
        print(document({**whole, "headline": headline(found), "notes": notes}, output), flush=True)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 2 if problems else code_of_diff(found.changes)


def without_digests(changes: ChangeSet) -> ChangeSet:
    """Return changes for people: that the digest of each object differs follows from the rest."""
    return ChangeSet.of(
        structs.replace(one, diff=replace(one.diff, changes=_others(one.diff.changes)))
        for one in changes.entries
    )


def without_contents(changes: ChangeSet) -> ChangeSet:
    """Return changes without the fields of new objects: a first installation has thousands."""
    return ChangeSet.of(
        structs.replace(one, diff=replace(one.diff, changes=()))
        if one.action is Action.CREATED
        else one
        for one in changes.entries
    )


def _others(changes: Iterable[FieldChange]) -> tuple[FieldChange, ...]:
    return tuple(one for one in changes if one.path != _DIGEST)


def headline(found: InstallPreview) -> str:
    """Return in one line what would be done."""
    older, newer = found.older, found.plan.wanted.version
    if found.plan.halted:
        return f"nothing would be changed: cert-manager {newer} cannot be installed as it is asked"
    if found.plan.obstacles:
        return f"cert-manager {newer} stays: what is asked for cannot be installed"
    if not older:
        return f"cert-manager {newer} would be installed in {found.plan.request.namespace}"
    if not found.plan.course.staged:
        return f"cert-manager {newer} stays"
    return f"cert-manager would be changed from {older} to {newer}, step by step"


def problem_lines(found: InstallPreview) -> Iterator[str]:
    """Yield what stands in the way, and what of the request cannot be followed."""
    for obstacle in found.plan.obstacles:
        yield f"{obstacle.reason}: {obstacle_text(obstacle)}"
    named = {line for one in found.plan.obstacles for line in one.subjects}
    for problem in found.plan.wanted.problems:
        if problem.message not in named:
            yield f"{problem.reason}: {problem.message}"
    secret, rule = found.plan.pull_secret, found.plan.request.pull_secret
    if secret is not None and rule is not None and found.plan.blocked:
        yield f"{secret.state}: {pull_secret(secret, rule, found.plan.request.namespace)}"


def note_lines(found: InstallPreview) -> Iterator[str]:
    """Yield what a person should know before."""
    pods = [change.ref.name for change in restarted(found.changes)]
    if pods:
        yield f"pods are replaced of: {listed(pods)}"
    if found.migrated and not found.plan.halted:
        yield f"objects are stored anew first, for their version goes: {listed(found.migrated)}"
    for one in found.plan.wanted.structural:
        yield (
            f"--{one.flag} of the {one.component} concerns other objects as well: Services, probes,"
            " roles and registrations follow it"
        )
    for minor, note in found.notes:
        yield f"{minor}: {note}"
