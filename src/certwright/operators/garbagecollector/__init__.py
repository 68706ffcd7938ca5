"""Collects immutable ConfigMaps and Secrets that nothing uses any more.

==================  =============================================================
`settings`          what is collected, how often, and how carefully
`judging`           which objects may be collected, and why (pure)
`snapshot`          candidates and their users, as of one moment
`inventories`       what ManagedResources keep
`collecting`        one pass: look, judge, note, look again, delete
`schedule`          when the next pass is due, restarts or not
`controller`        all that as a controller with a single key
==================  =============================================================
"""

from certwright.operators.garbagecollector.collect import Failure, InUse, Pass, collect, survey
from certwright.operators.garbagecollector.controller import garbage_collector
from certwright.operators.garbagecollector.decision import (
    Candidate,
    Judgement,
    Place,
    Report,
    Verdict,
    judge,
    judge_all,
)
from certwright.operators.garbagecollector.metrics import GarbageMetrics
from certwright.operators.garbagecollector.settings import Settings

__all__ = [
    "Candidate",
    "Failure",
    "GarbageMetrics",
    "InUse",
    "Judgement",
    "Pass",
    "Place",
    "Report",
    "Settings",
    "Verdict",
    "collect",
    "garbage_collector",
    "judge",
    "judge_all",
    "survey",
]
