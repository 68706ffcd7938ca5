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
        self._choices = bytearray()
        self.length = 0

    def note(self, line: str) -> None:
        """Add a line."""
        self._lines.append(line)
        self._take_in_choices()
        self._digest.update(line.encode())
        self.length += 1

    def mix(self, choice: int) -> None:
        """Add a decision that matters for the digest and would bore a reader."""
        self._choices.append(choice & 0xFF)

    def digest(self) -> str:
        """Return the digest of everything so far, in hex."""
        self._take_in_choices()
        return self._digest.hexdigest()

    def _take_in_choices(self) -> None:
        if self._choices:
            self._digest.update(self._choices)
            self._choices.clear()

    def lines(self) -> Iterable[str]:
        """Return the last lines, oldest first."""
        return tuple(self._lines)
