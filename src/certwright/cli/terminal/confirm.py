"""The question before something is done that cannot be undone."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from certwright.cli.errors import UsageError


def confirm(consequences: str = "", *, yes: bool) -> None:
    """Print what is about to happen and ask for a yes, unless *yes*; `UsageError` without one."""
    if yes:
        return
    if consequences:
        print(consequences, file=sys.stderr)
    if not sys.stdin or not sys.stdin.isatty():
        raise UsageError("there is no terminal to ask on; add --yes if that is what you want")
    try:
        with _signals_end_at_once():
            print("Type yes to go on: ", end="", file=sys.stderr, flush=True)
            answer = sys.stdin.readline()
    except KeyboardInterrupt:
        print("\nnothing was changed", file=sys.stderr)
        raise
    if answer.strip().lower() not in {"y", "yes"}:
        raise UsageError("nothing was changed")


@contextmanager
def _signals_end_at_once() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the process while it reads: no event loop sees them meanwhile."""
    interrupted = signal.signal(signal.SIGINT, signal.default_int_handler)
    terminated = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, interrupted)
        signal.signal(signal.SIGTERM, terminated)
