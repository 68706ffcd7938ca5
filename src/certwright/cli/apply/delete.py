"""``certwright delete``: the objects of an inventory, or some of them."""

import sys

from certwright.apply import ChangeSet, PruneGuard
from certwright.apply.engine.engine import OnEntry
from certwright.cli.apply.apply import ApplyOptions
from certwright.cli.apply.inputs import ManifestFiles
from certwright.cli.apply.inventory import (
    consequences,
    listed_among,
    named_objects,
    nothing_listed,
    open_inventory,
)
from certwright.cli.apply.results import print_results
from certwright.cli.apply.wait import not_gone, until_gone
from certwright.cli.errors import UsageError
from certwright.cli.options import Target
from certwright.cli.terminal.confirm import confirm
from certwright.cli.terminal.progress import ProgressLine


async def delete_inventory(
    target: Target, inventory: str, files: ManifestFiles | None, options: ApplyOptions
) -> int:
    """Delete the objects of an inventory, or those of them that manifests name.

    A document that cannot be used names nothing: its objects stay, in the cluster and listed.
    """
    async with open_inventory(target, inventory) as opened:
        listed = await opened.objects.refs()
        only = None if files is None else await named_objects(files, opened.session)
        deletions = listed_among(listed, only)
        if not deletions:
            namespace = opened.session.namespace
            raise UsageError(nothing_listed(inventory, namespace, " to delete"))
        many = PruneGuard().is_mass_deletion(before=len(listed), removed=len(deletions))
        if many and not options.dry_run:
            kept = (
                f"{files.doubts}, so the objects in there stay\n" if files and files.doubts else ""
            )
            confirm(f"{kept}{consequences(deletions, len(listed))}", yes=options.yes)

        async def delete(on_entry: OnEntry) -> ChangeSet:
            return await opened.objects.delete(
                only=only, dry_run=options.dry_run, on_entry=on_entry
            )

        with ProgressLine(len(deletions), dry_run=options.dry_run) as progress:
            if options.wait_seconds is None or options.dry_run:
                changes = await delete(progress)
            else:
                client = opened.session.client
                changes = await until_gone(client, delete, options.wait_seconds, progress)
    code = print_results(changes, files, options.output, dry_run=options.dry_run)
    if options.wait_seconds is not None and not options.dry_run and not changes.complete:
        print(f"error: {not_gone(changes, options.wait_seconds)}", file=sys.stderr)
    return code
