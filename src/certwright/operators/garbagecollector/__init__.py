"""Collects immutable ConfigMaps and Secrets that nothing uses any more.

What enters are the lists of a cluster at one resourceVersion; what leaves is a `Survey` with a
verdict and its reason for each collectable object, and the deletion of what nothing uses.

==================  =============================================================
`settings`          what is collected, how often, and how carefully
`snapshot`          candidates and what uses or keeps them, as of one moment
`decision`          which objects may be collected, and why (pure)
`collect`           one pass: list, assess, annotate, list again, delete
`schedule`          when the next pass is due, across restarts
`controller`        all that as a controller with a single key, and its metrics
==================  =============================================================
"""

from certwright.operators.garbagecollector.collect import CollectionResult, collect, survey
from certwright.operators.garbagecollector.controller import GarbageMetrics, garbage_collector
from certwright.operators.garbagecollector.decision import GarbageVerdict, Survey
from certwright.operators.garbagecollector.settings import CollectorSettings

__all__ = [
    "CollectionResult",
    "CollectorSettings",
    "GarbageMetrics",
    "GarbageVerdict",
    "Survey",
    "collect",
    "garbage_collector",
    "survey",
]
