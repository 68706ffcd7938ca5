"""How much a stream of manifests may cost to read.

Manifests come from people, and from Secrets that strangers may write. Everything that little input
can make large is bounded before it is built: size, nesting, documents, and what aliases unfold to.
"""

from dataclasses import dataclass, field


class LimitExceeded(ValueError):
    """A stream exceeds a limit."""


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The bounds of one read: all keys of a Secret, all files of a directory.

    The defaults are far above what clusters take (an object ends at 1.5 MiB there) and low
    enough for a process with 100 MiB to spare.
    """

    size: int = 16 * 1024 * 1024
    """Bytes, after decompression."""
    unpacked: int = 16 * 1024 * 1024
    """Bytes that one compressed value may become."""
    ratio: int = 1000
    """How many times larger than its input decompressed data may be, beyond the first MiB."""
    documents: int = 10_000
    depth: int = 100
    nodes: int = 500_000
    """Values of any kind, with what aliases unfold to."""
    aliases: int = 10_000
    expansion: int = 4 * 1024 * 1024
    """Characters of text that aliases repeat."""


@dataclass(slots=True)
class Budget:
    """What is left of the limits while one stream, or several together, are read."""

    limits: ReadLimits = field(default_factory=ReadLimits)
    size: int = 0
    documents: int = 0
    nodes: int = 0
    aliases: int = 0
    expansion: int = 0

    @property
    def spent(self) -> tuple[int, ...]:
        """What was taken so far, in the order of the fields."""
        return (self.size, self.documents, self.nodes, self.aliases, self.expansion)

    def covers(self, spent: tuple[int, ...]) -> bool:
        """Return whether so much more may be taken."""
        limits = self.limits
        bounds = (limits.size, limits.documents, limits.nodes, limits.aliases, limits.expansion)
        return all(a + b <= most for a, b, most in zip(self.spent, spent, bounds, strict=True))

    def take(self, spent: tuple[int, ...]) -> None:
        """Count what was counted when the same was read before."""
        self.size, self.documents, self.nodes, self.aliases, self.expansion = (
            a + b for a, b in zip(self.spent, spent, strict=True)
        )

    def take_size(self, size: int) -> None:
        """Count bytes of input."""
        self.size += size
        if self.size > self.limits.size:
            raise LimitExceeded(f"more than {self.limits.size} bytes of manifests")

    def take_document(self) -> None:
        """Count a document."""
        self.documents += 1
        if self.documents > self.limits.documents:
            raise LimitExceeded(f"more than {self.limits.documents} documents")

    def take_nodes(self, count: int = 1) -> None:
        """Count values."""
        self.nodes += count
        if self.nodes > self.limits.nodes:
            raise LimitExceeded(f"more than {self.limits.nodes} values")

    def take_alias(self, nodes: int, characters: int) -> None:
        """Count the use of an alias and what it unfolds to."""
        self.aliases += 1
        self.expansion += characters
        if self.aliases > self.limits.aliases:
            raise LimitExceeded(f"more than {self.limits.aliases} aliases")
        if self.expansion > self.limits.expansion:
            raise LimitExceeded(f"aliases repeat more than {self.limits.expansion} characters")
        self.take_nodes(nodes)

    def check_depth(self, depth: int) -> None:
        """Refuse values nested too deeply."""
        if depth > self.limits.depth:
            raise LimitExceeded(f"nested more than {self.limits.depth} levels deep")
