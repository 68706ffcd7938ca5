"""``certwright apply`` and ``certwright diff``: the same pass, for real or as a dry run."""

from collections.abc import Sequence
from dataclasses import dataclass

from certwright.apply import (
    Adopt,
    Change,
    Declared,
    Live,
    Manifest,
    ObjectRef,
    ObjectSet,
    PruneOptions,
    Rules,
)
from certwright.apply.objectset.prune import plan_pruning
from certwright.cli.apply.inputs import ManifestFiles
from certwright.cli.apply.inventory import consequences, open_inventory
from certwright.cli.apply.namespaces import placed
from certwright.cli.apply.results import code_of_diff, differences, print_results
from certwright.cli.apply.wait import until_healthy
from certwright.cli.connection import Session
from certwright.cli.options import Output, Target
from certwright.cli.terminal.confirm import confirm
from certwright.cli.terminal.notice import QUIET_SECONDS
from certwright.cli.terminal.progress import ProgressLine


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """How to apply, or to delete."""

    output: Output = Output.TABLE
    dry_run: bool = False
    prune: bool = False
    recreate: bool = False
    take_over: bool = False
    adopt: bool = True
    yes: bool = False
    wait_seconds: float | None = None
    """None: do not wait."""


async def apply_manifests(
    target: Target, inventory: str, files: ManifestFiles, options: ApplyOptions
) -> int:
    """Apply; with *prune* also delete what was applied before and is no longer in the files.

    A document that cannot be used does not keep others from being applied, but nothing is pruned.
    """
    async with open_inventory(target, inventory) as opened:
        wanted = await _wanted(opened.session, files.manifests, options)
        if options.prune and not options.dry_run and not files.problems:
            await _confirm_pruning(opened.objects, wanted, yes=options.yes)
        states: dict[ObjectRef, Live | None] = {one.ref: None for one in wanted}
        with ProgressLine(len(wanted), dry_run=options.dry_run) as progress:

            def note(entry: Change, live: Live | None) -> None:
                if entry.ref in states:
                    states[entry.ref] = live
                progress(entry, live)

            done = await opened.objects.apply(
                wanted, options=_pruning(files, options), dry_run=options.dry_run, on_entry=note
            )
            progress.end()
            code = print_results(done.all, files, options.output, dry_run=options.dry_run)
            if code == 0 and options.wait_seconds is not None and not options.dry_run:
                client, namespace = opened.session.client, opened.session.namespace
                more = f"certwright tree -i {inventory} -n {namespace}"
                await until_healthy(client, states, options.wait_seconds, progress, look_with=more)
    return code


async def diff_manifests(
    target: Target, inventory: str, files: ManifestFiles, options: ApplyOptions
) -> int:
    """Compare with the cluster by a dry run; return 0 if nothing differs, 1 if something does."""
    async with open_inventory(target, inventory) as opened:
        wanted = await _wanted(opened.session, files.manifests, options)
        with ProgressLine(len(wanted), dry_run=True, quiet_seconds=QUIET_SECONDS) as progress:
            done = await opened.objects.apply(
                wanted, options=_pruning(files, options), dry_run=True, on_entry=progress
            )
    print(differences(done.all, options.output, files.problems), flush=True)
    files.print_problems()
    return 2 if files.problems else code_of_diff(done.all)


async def _wanted(
    session: Session, manifests: Sequence[Manifest], options: ApplyOptions
) -> list[Declared]:
    adopt = Adopt.ALWAYS if options.adopt else Adopt.NEVER
    rules = Rules(recreate=options.recreate, take_over=options.take_over, adopt=adopt)
    return [Declared(obj, rules) for obj in await placed(session, manifests)]


def _pruning(files: ManifestFiles, options: ApplyOptions) -> PruneOptions:
    """Return what may be pruned: nothing, while an object may be missing by mistake."""
    return PruneOptions(prune=options.prune, doubts=files.doubts, confirmed=True)


async def _confirm_pruning(objects: ObjectSet, wanted: Sequence[Declared], *, yes: bool) -> None:
    """Ask before most objects of an inventory are deleted at once: often that is a mistake."""
    listed = await objects.refs()
    plan = plan_pruning(listed, [one.ref for one in wanted])
    if plan.held:
        confirm(consequences(plan.unwanted, len(listed)), yes=yes)
