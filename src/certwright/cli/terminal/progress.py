"""Progress on standard error: one line that moves on a terminal, many lines in a log."""

import sys
from typing import Final, TextIO

from certwright.apply import Change, Live, ObjectRef
from certwright.cli.apply.results import named_once
from certwright.cli.terminal.notice import CLEAR_LINE
from certwright.cli.terminal.output import one_line
from certwright.clock import SYSTEM, Clock

_WIDTH: Final = 100


class ProgressLine:
    """Shows how far a command is, as a context that cleans up; the engine calls it (*on_entry*)."""

    def __init__(
        self,
        total: int | None,
        stream: TextIO | None = None,
        *,
        dry_run: bool = False,
        quiet_seconds: float = 0.0,
        clock: Clock = SYSTEM,
    ) -> None:
        """Show nothing in the first *quiet_seconds*: for commands that only read and are quick.

        Where *total* is None, it is not known beforehand, and a log gets one line instead of one
        for each object: the result lists them all.
        """
        self._total = total
        self._done: set[ObjectRef] = set()
        self._dry_run = dry_run
        self._stream = stream or sys.stderr
        self._moving = self._stream.isatty()
        self._last: object = ""
        self._clock = clock
        self._quiet_until = clock.monotonic() + quiet_seconds

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def __call__(self, entry: Change, live: Live | None) -> None:
        """Show that one object is done."""
        del live
        self.done(entry.ref, named_once(entry).told(planned=self._dry_run))

    def done(self, ref: ObjectRef, text: str) -> None:
        """Show that one object is done, and what was done."""
        self._done.add(ref)
        done = len(self._done)
        if self._total is not None:
            self.show(f"[{done}/{max(self._total, done)}] {text}")
        elif self._moving:
            self.show(f"[{done}] {text}")
        else:
            self.show("comparing each object with the cluster")

    def show(self, text: str, topic: object = None) -> None:
        """Show a text, unless it is the one shown last.

        Where lines are not overwritten, only the first text on a *topic* is shown.
        """
        known = text if topic is None or self._moving else topic
        if known == self._last or self._clock.monotonic() < self._quiet_until:
            return
        self._last = known
        if self._moving:
            self._stream.write(f"{CLEAR_LINE}{one_line(text, _WIDTH)}")
        else:
            self._stream.write(f"{one_line(text, 1000)}\n")
        self._stream.flush()

    def end(self) -> None:
        """Clear the line, to make room for the result."""
        if self._moving and self._last:
            self._stream.write(CLEAR_LINE)
            self._stream.flush()
