"""What has to be known of the flags of a component at a version; the catalogue knows it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol


class KnownFlag(Protocol):
    """One flag."""

    @property
    def name(self) -> str:
        """Without dashes."""

    @property
    def type(self) -> str:
        """One letter: s string, b bool, i int, f float, d duration, l list, m map."""

    @property
    def style(self) -> str:
        """How a list is written: ``comma`` in one argument, or ``repeat`` for one per item."""

    @property
    def default(self) -> str | None:
        """The value without the flag; None if that is not known."""


class FlagTables(Protocol):
    """The tables of all versions."""

    @property
    def versions(self) -> Sequence[str]:
        """All versions, the newest last."""

    def flags(self, component: str, version: str) -> Mapping[str, KnownFlag]:
        """Return the flags of a component, by name."""

    def feature_gates(self, component: str, version: str) -> Collection[str]:
        """Return the names of the feature gates of a component; empty if they are not known."""
