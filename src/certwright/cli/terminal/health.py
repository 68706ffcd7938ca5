"""How an object is, all in all."""

from certwright.apply import ObjectRef
from certwright.apply.health import Verdict, check_health, check_progress, missing
from certwright.kube import JsonObject


def judge(ref: ObjectRef, obj: JsonObject | None) -> Verdict:
    """Return the worse of the health and the progress of an object; None if it is not there."""
    if obj is None:
        return missing(ref)
    health = check_health(obj)
    return health if not health else check_progress(obj)
