"""Health and progress of objects: pure functions from what is seen to a verdict.

One module per family of kinds says what its kinds owe; `checks` knows which judges which, and
`verdicts` words the result, for one object and for all.
"""

from certwright.apply.health.checks import (
    SKIP_ANNOTATION,
    check_health,
    check_progress,
    is_exempt,
)
from certwright.apply.health.pods import belonging
from certwright.apply.health.verdicts import (
    WORST_FIRST,
    Health,
    Summary,
    Verdict,
    check_failed,
    missing,
    summarize_health,
    summarize_progress,
    worst,
)

__all__ = [
    "SKIP_ANNOTATION",
    "WORST_FIRST",
    "Health",
    "Summary",
    "Verdict",
    "belonging",
    "check_failed",
    "check_health",
    "check_progress",
    "is_exempt",
    "missing",
    "summarize_health",
    "summarize_progress",
    "worst",
]
