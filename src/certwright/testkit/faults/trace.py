"""What happened in a simulated run, short enough to keep and exact enough to compare."""

from collections import deque
from collections.abc import Iterable
from hashlib import blake2b


class Trace:
    """The last lines of a run, and a digest over everything in it.

    Two runs with the same digest took the same decisions in the same order.
    """

    def __init__(self, limit: int = 2000) -> None:
        self._lines: deque[str] = deque(maxlen=limit)
        self._digest = blake2b(digest_size=8)
        self.length = 0

    def note(self, line: str) -> None:
        """Add a line."""
        self._lines.append(line)
        self._digest.update(line.encode())
        self.length += 1

    def mix(self, choice: int) -> None:
        """Add a decision that matters for the digest and would bore a reader."""
        self._digest.update(choice.to_bytes(4, "big"))

    def digest(self) -> str:
        """Return the digest of everything so far, in hex."""
        return self._digest.hexdigest()

    def lines(self) -> Iterable[str]:
        """Return the last lines, oldest first."""
        return tuple(self._lines)
