"""What was done to objects, as a table, JSON or YAML, and as an exit code."""

import sys
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

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
_CONFLICT_HELP: Final = (
    "objects are not written while other field managers hold fields that differ from the"
    " manifests; to leave a field to its manager, remove it from the manifest or give it its"
    " current value; to take these fields, add --force-conflicts"
)


def print_results(
    changes: ChangeSet,
    files: ManifestFiles | None,
    output: Output,
    *,
    dry_run: bool,
    summary: str = "",
) -> int:
    """Print what was done, and which documents could not be used; return the exit code."""
    problems = files.problems if files else []
    print(rendered(changes, output, problems, dry_run=dry_run, summary=summary), flush=True)
    if files:
        files.print_problems()
    print_conflicts(changes)
    return 2 if problems else code_of_apply(changes)


def print_conflicts(changes: ChangeSet) -> None:
    """Print on standard error what to do about fields that other managers hold."""
    if any(entry.conflicts for entry in changes.entries):
        print(f"error: {_CONFLICT_HELP}", file=sys.stderr)


def rendered(
    changes: ChangeSet,
    output: Output,
    problems: Sequence[str] = (),
    *,
    dry_run: bool = False,
    summary: str = "",
) -> str:
    """Return what was done to each object; JSON and YAML hold the *problems*, too.

    *summary* stands in for the counts of what was done.
    """
    if output is not Output.TABLE:
        whole = results_document(changes, problems, dry_run=dry_run, summary=summary)
        return document(whole, output)
    summary = summary or summarized(changes, dry_run=dry_run)
    remark = " (dry run: nothing was changed)" if dry_run else ""
    if not changes.entries:
        return f"{summary}{remark}"
    rows = [_row(entry, planned=dry_run) for entry in changes.entries]
    lines = table(("KIND", "NAME", "ACTION", "WHY"), rows)
    return f"{fitted(lines, terminal_width())}\n{summary}{remark}"


def results_document(
    changes: ChangeSet, problems: Sequence[str] = (), *, dry_run: bool = False, summary: str = ""
) -> JsonObject:
    """Return what was done to objects, for programs."""
    summary = summary or summarized(changes, dry_run=dry_run)
    return {**changes.to_json(), "dryRun": dry_run, "summary": summary, "problems": [*problems]}


def summarized(changes: ChangeSet, *, dry_run: bool = False) -> str:
    """Return how often what was done, and how many fields other managers hold."""
    held = [entry.conflicts for entry in changes.entries if entry.conflicts]
    if not held:
        return changes.summary(planned=dry_run)
    fields, objects = _number(sum(map(len, held)), "field"), _number(len(held), "object")
    return f"{changes.summary(planned=dry_run)}; other managers hold {fields} of {objects}"


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


def _number(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _row(entry: Change, *, planned: bool) -> tuple[str, str, str, str]:
    writer = f" (last written by {entry.writer})" if entry.writer else ""
    why = one_line(f"{named_once(entry).reason}{writer}", _LONGEST_REASON)
    return entry.ref.kind, str(entry.ref.key), entry.action.told(planned=planned), why
