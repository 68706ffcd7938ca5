"""Health and progress of objects: pure functions from an object to a verdict.

An object as the API has it enters; a `Verdict` with the reason and message for a condition leaves,
and a `Summary` for many objects (`verdicts`). `checks` knows which rule checks which kind; the
rules in `workloads`, `pods` and `otherkinds` read conditions and generations with `status`.
"""

from certwright.apply.health.checks import check_health, check_progress
from certwright.apply.health.verdicts import (
    Health,
    Summary,
    Verdict,
    missing,
    summarize_health,
    summarize_progress,
)

__all__ = [
    "Health",
    "Summary",
    "Verdict",
    "check_health",
    "check_progress",
    "missing",
    "summarize_health",
    "summarize_progress",
]
