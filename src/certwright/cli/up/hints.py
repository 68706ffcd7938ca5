"""Hints that are printed again when Enter is pressed."""

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def is_interactive() -> bool:
    """Return whether a person can press Enter here."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


@contextmanager
def on_enter(show: Callable[[], None]) -> Iterator[None]:
    """Call *show* for each line that is typed at the terminal, for the time of a context."""
    if not is_interactive():
        yield
        return
    loop, terminal = asyncio.get_running_loop(), sys.stdin.fileno()

    def read() -> None:
        # What is typed belongs to the process in the foreground; others would be stopped.
        if os.tcgetpgrp(terminal) != os.getpgrp() or not os.read(terminal, 4096):
            loop.remove_reader(terminal)
            return
        show()

    loop.add_reader(terminal, read)
    try:
        yield
    finally:
        loop.remove_reader(terminal)
