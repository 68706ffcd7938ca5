"""What the command line refuses."""


class UsageError(Exception):
    """What was typed cannot be done; the message says what to type instead."""
