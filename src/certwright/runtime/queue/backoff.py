"""How long to wait before trying again: the one place that rolls dice.

Used by the queue (per item), the watches (per connection) and leader election. The
random source is a parameter everywhere, so a seeded run repeats itself exactly.
"""

import random
from dataclasses import dataclass, field
from typing import Protocol

LONGEST_WAIT_SECONDS = 300.0
"""What a server or a proxy may ask for at most: one that asks for a year is broken."""


class Rng(Protocol):
    """A source of randomness; `random.Random` is one."""

    def random(self) -> float:
        """Return a number in [0, 1)."""
        ...


def new_rng(seed: int | None = None) -> Rng:
    """Return a random source of its own, repeatable when given a seed."""
    return random.Random(seed)  # noqa: S311 - spreads load, guards nothing


def spread(low_seconds: float, high_seconds: float, rng: Rng) -> float:
    """Return a delay somewhere between two bounds, so that many clients do not act as one."""
    return low_seconds + (high_seconds - low_seconds) * rng.random()


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential delays that never exceed a cap.

    The n-th failure in a row waits between ``(1 - jitter)`` and the whole of
    ``base * factor ** (n - 1)``, capped. Keeps no count of failures itself.
    """

    base_seconds: float = 0.005
    cap_seconds: float = 300.0
    factor: float = 2.0
    jitter: float = 0.5
    rng: Rng = field(default_factory=new_rng, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 < self.base_seconds <= self.cap_seconds:
            raise ValueError(
                f"back-off needs 0 < base <= cap, got base {self.base_seconds} s "
                f"and cap {self.cap_seconds} s"
            )
        if self.factor < 1 or not 0 <= self.jitter <= 1:
            raise ValueError(
                f"back-off needs factor >= 1 and jitter within 0..1, "
                f"got factor {self.factor} and jitter {self.jitter}"
            )

    def ceiling(self, failures: int) -> float:
        """Return the longest delay, in seconds, after this many failures in a row."""
        try:
            return min(self.cap_seconds, self.base_seconds * self.factor ** (failures - 1))
        except OverflowError:
            return self.cap_seconds  # hundreds of failures: a float cannot hold the power

    def delay(self, failures: int) -> float:
        """Return the delay in seconds after this many failures in a row; one is the first."""
        if failures < 1:
            raise ValueError(f"failures are counted from one, got {failures}")
        ceiling = self.ceiling(failures)
        return spread(ceiling * (1 - self.jitter), ceiling, self.rng)
