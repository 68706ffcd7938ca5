"""Progress on standard error: a line that changes for people, lines for logs."""

import sys
from typing import TextIO

from certwright.apply import Entry, Live, ObjectRef
from certwright.cli.printing import one_line

_WIDTH = 100
_CLEAR = "\r\x1b[K"


class Progress:
    """Tells how far a command is. Pass it to the engine as *on_entry*."""

    def __init__(self, total: int, stream: TextIO | None = None, *, dry_run: bool = False) -> None:
        self._total = total
        self._done: set[ObjectRef] = set()
        self._remark = " (dry run)" if dry_run else ""
        self._stream = stream or sys.stderr
        self._moving = self._stream.isatty()
        self._last = ""

    def __call__(self, entry: Entry, live: Live | None) -> None:
        """Note that one object is done."""
        del live
        self._done.add(entry.ref)
        done = len(self._done)
        self.say(f"[{done}/{max(self._total, done)}] {entry}{self._remark}")

    def say(self, text: str) -> None:
        """Tell something, unless it is what was told last."""
        if text == self._last:
            return
        self._last = text
        if self._moving:
            self._stream.write(f"{_CLEAR}{one_line(text, _WIDTH)}")
        else:
            self._stream.write(f"{one_line(text, 1000)}\n")
        self._stream.flush()

    def end(self) -> None:
        """Make room for the result."""
        if self._moving:
            self._stream.write(_CLEAR)
            self._stream.flush()
