"""What became of objects, as a table, JSON or YAML. Pure."""

from collections.abc import Sequence
from typing import Final

from certwright.apply import Action, ChangeSet, Entry
from certwright.cli.options import Output
from certwright.cli.printing import document, one_line, table

_QUIET: Final = frozenset({Action.UNCHANGED})


def rendered(
    changes: ChangeSet, output: Output, problems: Sequence[str] = (), *, dry_run: bool = False
) -> str:
    """Return all objects with what became of them; programs get the *problems* here, too."""
    if output is not Output.TABLE:
        whole = {**changes.to_json(), "summary": changes.summary(), "problems": [*problems]}
        return document(whole, output)
    rows = [_row(entry) for entry in changes.entries]
    remark = " (dry run: nothing was changed)" if dry_run else ""
    return f"{table(('KIND', 'NAME', 'ACTION', 'WHY'), rows)}\n{changes.summary()}{remark}"


def differences(changes: ChangeSet, output: Output, problems: Sequence[str] = ()) -> str:
    """Return the objects that differ, field by field."""
    if output is not Output.TABLE:
        return rendered(changes, output, problems)
    shown = ChangeSet.of(entry for entry in changes.entries if entry.action not in _QUIET)
    return shown.render() or "nothing differs"


def code_of_diff(changes: ChangeSet) -> int:
    """Return the exit code of a comparison: 0 the same, 1 different, 2 not to be found out."""
    if changes.with_action(Action.FAILED):
        return 2
    return 1 if changes.changed or not changes.complete else 0


def code_of_apply(changes: ChangeSet) -> int:
    """Return the exit code of a change: 0 all is as wanted, 2 something failed or waits."""
    return 0 if changes.complete else 2


def _row(entry: Entry) -> tuple[str, str, str, str]:
    writer = f" (last written by {entry.writer})" if entry.writer else ""
    return entry.ref.kind, str(entry.ref.key), entry.action, one_line(f"{entry.reason}{writer}")
