"""How the garbage collector is set up."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from certwright.kube import Key, Resource

DEFAULT_PERIOD: Final = timedelta(hours=1)
DEFAULT_LIFETIME: Final = timedelta(minutes=10)
DEFAULT_HOME: Final = Key("kube-system", "certwright-garbage-collector")


@dataclass(frozen=True, kw_only=True)
class CollectorSettings:
    """What is collected, how often, and how carefully."""

    enabled: bool = False
    """While it is, other controllers do not delete collectable objects."""
    period: timedelta = DEFAULT_PERIOD
    """The time between two passes, restarts or not."""
    minimum_lifetime: timedelta = DEFAULT_LIFETIME
    """How old an object must be, and for how long nothing may have used it. Zero means that
    one pass suffices to delete it."""
    namespaces: tuple[str, ...] = ()
    """Where to collect; everywhere if empty."""
    further_kinds: tuple[Resource, ...] = ()
    """Kinds whose objects use ConfigMaps and Secrets, besides those that are known."""
    dry_run: bool = False
    """Report what would be deleted; delete and annotate nothing."""
    home: Key = DEFAULT_HOME
    """The Lease that remembers the last pass."""

    def __post_init__(self) -> None:
        if self.period <= timedelta():
            raise ValueError("the period of the garbage collector must be positive")
        if self.minimum_lifetime < timedelta():
            raise ValueError("the minimum lifetime must not be negative")
