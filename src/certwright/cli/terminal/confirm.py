"""Asking before something is done that cannot be undone."""

import sys

from certwright.cli.errors import UsageError


def confirm(consequences: str, *, yes: bool) -> None:
    """Tell what is about to happen and ask for a yes, unless it was given already.

    Raises:
        UsageError: the answer was no, or nobody is there to answer.
    """
    if yes:
        return
    print(consequences, file=sys.stderr)
    if not sys.stdin or not sys.stdin.isatty():
        raise UsageError("nobody can be asked here; if that is what you want, add --yes")
    print("Type yes to go on: ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise UsageError("nothing was changed")
