"""The question before something is done that cannot be undone."""

import sys

from certwright.cli.errors import UsageError


def confirm(consequences: str, *, yes: bool) -> None:
    """Print what is about to happen and ask for a yes, unless *yes*; `UsageError` without one."""
    if yes:
        return
    print(consequences, file=sys.stderr)
    if not sys.stdin or not sys.stdin.isatty():
        raise UsageError("there is no terminal to ask on; add --yes if that is what you want")
    print("Type yes to go on: ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise UsageError("nothing was changed")
