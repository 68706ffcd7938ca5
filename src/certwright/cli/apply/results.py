"""What was done to objects, as a table, JSON or YAML, and as an exit code."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from certwright.apply import Action, Change, ChangeSet
from certwright.cli.apply.inputs import ManifestFiles
from certwright.cli.options import Output
from certwright.cli.terminal.output import (
    document,
    fitted,
    one_line,
    table,
    terminal_width,
    unnamed,
)
from certwright.kube import JsonObject

_QUIET: Final = frozenset({Action.UNCHANGED})
_LONGEST_REASON: Final = 1000


def print_results(
    changes: ChangeSet, files: ManifestFiles | None, output: Output, *, dry_run: bool
) -> int:
    """Print what was done, and which documents could not be used; return the exit code."""
    problems = files.problems if files else []
    print(rendered(changes, output, problems, dry_run=dry_run), flush=True)
    if files:
        files.print_problems()
    return 2 if problems else code_of_apply(changes)


def rendered(
    changes: ChangeSet, output: Output, problems: Sequence[str] = (), *, dry_run: bool = False
) -> str:
    """Return what was done to each object; JSON and YAML hold the *problems*, too."""
    if output is not Output.TABLE:
        return document(results_document(changes, problems, dry_run=dry_run), output)
    rows = [_row(entry, planned=dry_run) for entry in changes.entries]
    remark = " (dry run: nothing was changed)" if dry_run else ""
    lines = table(("KIND", "NAME", "ACTION", "WHY"), rows)
    return f"{fitted(lines, terminal_width())}\n{changes.summary(planned=dry_run)}{remark}"


def results_document(
    changes: ChangeSet, problems: Sequence[str] = (), *, dry_run: bool = False
) -> JsonObject:
    """Return what was done to objects, for programs."""
    summary = changes.summary(planned=dry_run)
    return {**changes.to_json(), "dryRun": dry_run, "summary": summary, "problems": [*problems]}


def differences(changes: ChangeSet, output: Output, problems: Sequence[str] = ()) -> str:
    """Return the objects that would change, field by field."""
    if output is not Output.TABLE:
        return rendered(changes, output, problems, dry_run=True)
    shown = ChangeSet.of(
        named_once(entry) for entry in changes.entries if entry.action not in _QUIET
    )
    return shown.render(planned=True) or "nothing differs"


def named_once(entry: Change) -> Change:
    """Return an entry whose reason does not name the object again."""
    return replace(entry, reason=unnamed(entry.reason))


def code_of_diff(changes: ChangeSet) -> int:
    """Return the exit code of a comparison: 0 the same, 1 different, 2 unknown."""
    if changes.with_action(Action.FAILED):
        return 2
    return 1 if changes.changed or not changes.complete else 0


def code_of_apply(changes: ChangeSet) -> int:
    """Return the exit code of a change: 0 all is as wanted, 2 something failed or waits."""
    return 0 if changes.complete else 2


def _row(entry: Change, *, planned: bool) -> tuple[str, str, str, str]:
    writer = f" (last written by {entry.writer})" if entry.writer else ""
    why = one_line(f"{named_once(entry).reason}{writer}", _LONGEST_REASON)
    return entry.ref.kind, str(entry.ref.key), entry.action.told(planned=planned), why
