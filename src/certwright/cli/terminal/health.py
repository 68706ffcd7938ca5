"""Health and progress of an object as one verdict."""

from certwright.apply import ObjectRef
from certwright.apply.health import Verdict, check_health, check_progress, missing
from certwright.kube import JsonObject


def overall_health(ref: ObjectRef, obj: JsonObject | None) -> Verdict:
    """Return the worse of health and progress; *obj* is None if the object is missing."""
    if obj is None:
        return missing(ref)
    health = check_health(obj)
    return health if not health else check_progress(obj)
