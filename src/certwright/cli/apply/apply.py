"""``certwright apply`` and ``certwright diff``: the same pass, for real or as a dry run."""

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from certwright.apply import (
    Adopt,
    Change,
    ChangeSet,
    Declared,
    Live,
    Manifest,
    ObjectRef,
    PruneOptions,
    Rules,
    SetChanges,
)
from certwright.apply.engine.declared import CLIENT_SIDE_APPLY, HELM, LAST_APPLIED
from certwright.apply.engine.engine import OnEntry
from certwright.apply.objectset.prune import plan_pruning
from certwright.apply.ordering import in_delete_order
from certwright.cli.apply.inputs import ManifestFiles
from certwright.cli.apply.inventory import OpenInventory, deletion_plan, open_inventory
from certwright.cli.apply.namespaces import placed
from certwright.cli.apply.protection import protection, split
from certwright.cli.apply.results import (
    code_of_diff,
    differences,
    print_conflicts,
    print_results,
)
from certwright.cli.apply.wait import not_gone, until_gone, until_healthy
from certwright.cli.connection import Session
from certwright.cli.options import Output, Protected, Target
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
    force: bool = False
    yes: bool = False
    protected: Collection[Protected] = ()
    """Protected kinds that may be deleted."""
    wait: bool | None = None
    """Whether to wait until all is healthy and what was deleted is gone; None: only the latter."""
    seconds: float = 300.0
    """How long."""

    @property
    def waits_for_health(self) -> bool:
        """Whether to wait until what was applied is healthy."""
        return self.wait is True and not self.dry_run

    @property
    def waits_for_deletion(self) -> bool:
        """Whether to wait until what was deleted is gone."""
        return self.wait is not False and not self.dry_run


async def apply_manifests(
    target: Target, inventory: str, files: ManifestFiles, options: ApplyOptions
) -> int:
    """Apply; with *prune* also delete what was applied before and is no longer in the files.

    A document that cannot be used does not keep others from being applied, but nothing is pruned.
    """
    async with open_inventory(target, inventory) as opened:
        wanted = await _wanted(opened.session, files.manifests, options)
        if options.prune and not options.dry_run and not files.problems:
            await _announce_pruning(opened, wanted, options)
        states: dict[ObjectRef, Live | None] = {one.ref: None for one in wanted}
        with ProgressLine(len(wanted), dry_run=options.dry_run) as progress:

            def note(entry: Change, live: Live | None) -> None:
                if entry.ref in states:
                    states[entry.ref] = live
                progress(entry, live)

            done = await opened.objects.apply(
                wanted, options=_pruning(files, options), dry_run=options.dry_run, on_entry=note
            )
            if not options.dry_run:
                await opened.objects.discard_missing(done)
            if options.waits_for_deletion and not done.pruned.complete:
                done = replace(done, pruned=await _pruned(opened, done, options, progress))
            progress.end()
            code = print_results(done.all, files, options.output, dry_run=options.dry_run)
            if options.waits_for_deletion and not done.pruned.complete:
                print(f"error: {not_gone(done.pruned, options.seconds)}", file=sys.stderr)
            if code == 0 and options.waits_for_health:
                client, namespace = opened.session.client, opened.session.namespace
                more = f"certwright tree -i {inventory} -n {namespace}"
                await until_healthy(client, states, options.seconds, progress, look_with=more)
                progress.end()
                print("all objects are healthy", file=sys.stderr)
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
    print_conflicts(done.all)
    return 2 if files.problems else code_of_diff(done.all)


async def _wanted(
    session: Session, manifests: Sequence[Manifest], options: ApplyOptions
) -> list[Declared]:
    rules = Rules(
        adopt=Adopt.ALWAYS if options.adopt else Adopt.NEVER,
        take_over=options.take_over,
        take_over_from=(CLIENT_SIDE_APPLY, HELM),
        force=options.force,
        drop_annotations=(LAST_APPLIED,),
    )
    again = replace(rules, recreate=options.recreate)
    is_protected = protection(options.protected)
    return [
        Declared(obj, rules if is_protected(ObjectRef.of(obj)) else again)
        for obj in await placed(session, manifests)
    ]


def _pruning(files: ManifestFiles, options: ApplyOptions) -> PruneOptions:
    """Return what may be pruned: nothing, while an object may be missing by mistake."""
    protected = protection(options.protected)
    return PruneOptions(
        prune=options.prune, doubts=files.doubts, confirmed=True, protected=protected
    )


async def _announce_pruning(
    opened: OpenInventory, wanted: Sequence[Declared], options: ApplyOptions
) -> None:
    """Show what is about to be pruned; ask if it is most of many objects: often a mistake."""
    listed, protected = await opened.objects.refs(), protection(options.protected)
    refs = [one.ref for one in wanted]
    plan = plan_pruning(listed, refs, PruneOptions(protected=protected))
    if plan.unwanted:
        _, kept = split(plan.protected, protected)
        print(deletion_plan(in_delete_order(plan.unwanted), kept, len(listed)), file=sys.stderr)
    if plan.held:
        confirm(yes=options.yes)


async def _pruned(
    opened: OpenInventory, done: SetChanges, options: ApplyOptions, progress: ProgressLine
) -> ChangeSet:
    """Wait until what is pruned is gone; return what became of it."""
    refs = [entry.ref for entry in done.pruned.entries]

    async def delete(on_entry: OnEntry) -> ChangeSet:
        return await opened.objects.delete(only=refs, on_entry=on_entry)

    client = opened.session.client
    return await until_gone(client, delete, options.seconds, progress, begun=done.pruned)
