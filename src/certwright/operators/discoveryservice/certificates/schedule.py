"""When a certificate is due for renewal, and when to look at it next; pure.

The window is the last fifth of the life of the actual certificate, in whole seconds. Renewals of
certificates that were made together are spread over its first part.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from certwright.pki import Validity
from certwright.pki.renewal import stable_jitter

SPREAD: Final = 0.05
"""Over which part of the window renewals are spread."""
SHORTEST_SLEEP: Final = timedelta(seconds=1)
AFTER_EXPIRY: Final = timedelta(seconds=1)
"""How long after it expired a certificate is looked at that is not renewed."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a certificate is renewed, for those that are; *identity* decides its place."""

    validity: Validity
    identity: str = ""
    spread: float = SPREAD

    @property
    def window(self) -> timedelta:
        """How long before its end the certificate is due."""
        return timedelta(seconds=self.validity.lifetime // timedelta(seconds=1) // 5)

    @property
    def due(self) -> datetime:
        """The instant after which the certificate is renewed."""
        shift = self.window * self.spread * stable_jitter(self.identity)
        return self.validity.not_after - self.window + shift

    def is_due(self, now: datetime) -> bool:
        """Return whether the certificate is to be renewed: strictly after the instant."""
        return now > self.due

    def is_in_window(self, now: datetime) -> bool:
        """Return whether less of its life remains than the window."""
        return self.validity.not_after - now < self.window

    def sleep(self, now: datetime, *, renewed: bool) -> timedelta | None:
        """Return when to look again; None for a certificate that expired and is not renewed."""
        if renewed:
            return max(SHORTEST_SLEEP, self.due - now)
        if now > self.validity.not_after:
            return None
        begins, ends = self.validity.not_after - self.window, self.validity.not_after + AFTER_EXPIRY
        return max(SHORTEST_SLEEP, (begins if now <= begins else ends) - now)
