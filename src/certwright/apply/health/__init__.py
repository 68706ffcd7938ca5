"""Health and progress of objects: pure functions from an object to a verdict.

What enters is an object as the API has it; what leaves is a `Verdict` with the reason and message
for a condition, and a `Summary` for many objects.

==================  =============================================================
`checks`            which rule checks which kind, and the rule for all others
`workloads`         Deployments, StatefulSets, DaemonSets, ReplicaSets
`pods`              pods and Jobs, and which pods belong to a Deployment
`otherkinds`        the remaining kinds with a rule of their own
`status`            conditions and generations in a status
`verdicts`          the words, for one object and for all
==================  =============================================================
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
