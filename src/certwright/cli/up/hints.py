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
        if _is_in_foreground(terminal) and os.read(terminal, 4096):
            show()
        else:
            loop.remove_reader(terminal)

    loop.add_reader(terminal, read)
    try:
        yield
    finally:
        loop.remove_reader(terminal)


def _is_in_foreground(terminal: int) -> bool:
    """Return whether what is typed is for this process; reading it otherwise would stop it."""
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:  # not the terminal that controls this process
        return False
