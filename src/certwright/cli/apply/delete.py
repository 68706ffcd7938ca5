"""``certwright delete``: the objects of an inventory, or some of them."""

import sys
from collections.abc import Sequence

from certwright.apply import Change, ChangeSet, ObjectRef, PruneGuard
from certwright.apply.engine.engine import OnEntry
from certwright.apply.ordering import in_delete_order
from certwright.cli.apply.apply import ApplyOptions
from certwright.cli.apply.inputs import ManifestFiles
from certwright.cli.apply.inventory import (
    OpenInventory,
    deletion_plan,
    listed_among,
    named_objects,
    nothing_listed,
    open_inventory,
)
from certwright.cli.apply.protection import protection, split
from certwright.cli.apply.results import print_results
from certwright.cli.apply.wait import not_gone, until_gone
from certwright.cli.options import Target
from certwright.cli.terminal.confirm import confirm
from certwright.cli.terminal.progress import ProgressLine


async def delete_inventory(
    target: Target, inventory: str, files: ManifestFiles | None, options: ApplyOptions
) -> int:
    """Delete the objects of an inventory, or those of them that manifests name.

    A document that cannot be used names nothing: its objects stay, in the cluster and listed.
    Protected objects stay, too, unless the options name their kind.
    """
    async with open_inventory(target, inventory) as opened:
        listed = await opened.objects.refs()
        only = None if files is None else await named_objects(files, opened.session)
        chosen = in_delete_order(listed_among(listed, only))
        deletions, kept = split(chosen, protection(options.protected))
        if not chosen:
            print(nothing_listed(inventory, opened.session.namespace), file=sys.stderr)
        changes = ChangeSet()
        if deletions:
            _announce(deletions, kept, len(listed), files, options)
            changes = await _delete(opened, deletions, options)
    nothing = "" if deletions else "nothing to delete"
    done = changes | ChangeSet.of(kept)
    code = print_results(done, files, options.output, dry_run=options.dry_run, summary=nothing)
    if options.waits_for_deletion and not changes.complete:
        print(f"error: {not_gone(changes, options.seconds)}", file=sys.stderr)
    return code


def _announce(
    deletions: Sequence[ObjectRef],
    kept: Sequence[Change],
    listed: int,
    files: ManifestFiles | None,
    options: ApplyOptions,
) -> None:
    """Show what is about to be deleted; ask if it is most of many objects."""
    if options.dry_run:
        return  # the result is the plan
    unread = f"{files.doubts}, so the objects in there stay\n" if files and files.doubts else ""
    print(f"{unread}{deletion_plan(deletions, kept, listed)}", file=sys.stderr)
    if PruneGuard().is_mass_deletion(before=listed, removed=len(deletions)):
        confirm(yes=options.yes)


async def _delete(
    opened: OpenInventory, refs: Sequence[ObjectRef], options: ApplyOptions
) -> ChangeSet:
    async def delete(on_entry: OnEntry) -> ChangeSet:
        return await opened.objects.delete(only=refs, dry_run=options.dry_run, on_entry=on_entry)

    with ProgressLine(len(refs), dry_run=options.dry_run) as progress:
        if not options.waits_for_deletion:
            return await delete(progress)
        return await until_gone(opened.session.client, delete, options.seconds, progress)
