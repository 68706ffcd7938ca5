"""What can be wrong with manifests.

::

    ValueError
    └── ManifestError      a document cannot be read; knows its source, index and line
"""

from dataclasses import dataclass
from typing import Final

LONGEST_PROBLEM: Final = 500
"""Problems quote what was written, and that may be megabytes."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a manifest was written: a file or key, the document in it, and the line.

    Documents are counted from 0, blank ones included, as they stand in the stream; lines
    from 1; 0 stands for the source as a whole. *item* is the place in a ``List``, if the
    manifest came from one.
    """

    source: str
    index: int = 0
    line: int = 1
    item: int | None = None

    def __str__(self) -> str:
        if not self.line:
            return self.source
        item = "" if self.item is None else f", item {self.item + 1}"
        return f"{self.source}: document {self.index + 1} (line {self.line}{item})"


class ManifestError(ValueError):
    """A document that cannot be read.

    *problem* says what is wrong with it, *origin* where; the text of the error is both.
    """

    def __init__(self, origin: Origin, problem: str) -> None:
        if len(problem) > LONGEST_PROBLEM:
            problem = f"{problem[:LONGEST_PROBLEM]}…"
        super().__init__(f"{origin}: {problem}")
        self.origin = origin
        self.problem = problem
