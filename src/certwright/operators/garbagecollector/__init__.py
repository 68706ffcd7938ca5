"""Collects immutable ConfigMaps and Secrets that nothing uses any more.

The lists of a cluster at one resourceVersion enter as a `snapshot`; a `Survey` with a verdict and
its reason for each object leaves (`decision`), and what nothing uses is deleted. `collect` is one
pass, `schedule` when the next is due, `controller` all that as a controller with its metrics.
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
