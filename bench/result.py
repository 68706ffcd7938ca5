"""What a benchmark found: figures per subject, and how they stand against the bars."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

Figures = Mapping[str, float | str]


@dataclass(frozen=True)
class Bar:
    """One promise, and what was measured."""

    what: str
    bar: str
    measured: str
    met: bool


@dataclass(frozen=True)
class Result:
    """One benchmark."""

    name: str
    compared: str
    """What was done, to whom, in words."""
    subjects: Mapping[str, Figures]
    """The figures of each subject: medians over the runs."""
    bars: list[Bar]
    runs: int

    def as_json(self, machine: Mapping[str, Any]) -> dict[str, Any]:
        """Return everything, for machines."""
        return {**asdict(self), "machine": dict(machine)}


def at_most(what: str, value: float, limit: float, unit: str) -> Bar:
    """Judge a value that should be small."""
    return Bar(what, f"≤ {limit:g} {unit}".strip(), f"{value:.3g} {unit}".strip(), value <= limit)


def at_least(what: str, value: float, limit: float, unit: str) -> Bar:
    """Judge a value that should be large."""
    shown = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    return Bar(what, f"≥ {limit:,g} {unit}".strip(), f"{shown} {unit}".strip(), value >= limit)


def exactly(what: str, value: int, wanted: int, unit: str = "") -> Bar:
    """Judge a value that should be just so."""
    return Bar(what, f"{wanted:,} {unit}".strip(), f"{value:,} {unit}".strip(), value == wanted)
