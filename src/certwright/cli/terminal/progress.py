"""Progress on standard error: a line that changes for people, lines for logs."""

import sys
from typing import Final, TextIO

from certwright.apply import Entry, Live, ObjectRef
from certwright.cli.apply.results import named_once
from certwright.cli.terminal.output import one_line
from certwright.cli.terminal.patience import CLEAR_LINE
from certwright.clock import SYSTEM, Clock

_WIDTH: Final = 100


class Progress:
    """Tells how far a command is. Pass it to the engine as *on_entry*.

    Use it as a context: whatever happens inside, the terminal is left clean.
    """

    def __init__(
        self,
        total: int,
        stream: TextIO | None = None,
        *,
        dry_run: bool = False,
        quiet_seconds: float = 0.0,
        clock: Clock = SYSTEM,
    ) -> None:
        """Say nothing in the first *quiet_seconds*: for what changes nothing and is quick."""
        self._total = total
        self._done: set[ObjectRef] = set()
        self._dry_run = dry_run
        self._stream = stream or sys.stderr
        self._moving = self._stream.isatty()
        self._last: object = ""
        self._clock = clock
        self._quiet_until = clock.monotonic() + quiet_seconds

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def __call__(self, entry: Entry, live: Live | None) -> None:
        """Note that one object is done."""
        del live
        self.done(entry.ref, named_once(entry).told(planned=self._dry_run))

    def done(self, ref: ObjectRef, text: str) -> None:
        """Note that one object is done, in so many words."""
        self._done.add(ref)
        done = len(self._done)
        self.say(f"[{done}/{max(self._total, done)}] {text}")

    def say(self, text: str, topic: object = None) -> None:
        """Tell something, unless it is what was told last.

        A log gets the first word on a *topic* only: what follows is the same, some time later.
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
        """Make room for the result."""
        if self._moving and self._last:
            self._stream.write(CLEAR_LINE)
            self._stream.flush()
