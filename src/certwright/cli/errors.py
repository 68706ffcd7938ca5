"""Mistakes that a person can correct."""

import os


class UsageError(Exception):
    """A command cannot do what was typed; the message says what to type or to correct."""


def system_message(error: OSError) -> str:
    """Return the operating system's message, without the address that asyncio adds to it."""
    return os.strerror(error.errno) if error.errno is not None and error.errno > 0 else str(error)
