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
    def since(self) -> str:
        """The first minor version that has it; empty if 1.0 does."""

    @property
    def removed(self) -> str:
        """The first minor version that refuses it; empty if none does."""


class FlagTables(Protocol):
    """The tables of all versions."""

    def flags(self, component: str, version: str) -> Mapping[str, KnownFlag]:
        """Return the flags that a component has in a version, by name."""

    def all_flags(self, component: str) -> Sequence[KnownFlag]:
        """Return the flags that a component has or had in any version."""

    def feature_gates(self, component: str, version: str) -> Collection[str]:
        """Return the names of the feature gates of a component; empty if they are not known."""
