"""What the command line refuses."""

import os


class UsageError(Exception):
    """What was typed cannot be done; the message says what to type instead."""


def told(error: OSError) -> str:
    """Return what the system says about a failure; asyncio puts the address around it again."""
    return os.strerror(error.errno) if error.errno is not None and error.errno > 0 else str(error)
