"""What ends a stream because its client does not keep to the protocol."""

from typing import Final

MOST_TYPES: Final = 64
"""So many types may be asked for on one stream; there are some twenty."""

MOST_NAMES: Final = 100_000
"""So many resources of a type may be subscribed to by name on one stream."""


class ProtocolViolation(Exception):
    """A request that cannot be served; the stream ends with these words."""
