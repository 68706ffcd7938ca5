"""Kinds nobody told us about: what their conditions say, by the usual conventions.

An object without conditions is healthy because it exists. ``Ready`` and ``Available`` must be
True where they are set, ``Stalled`` and ``Failed`` must not; a controller that lags behind the
spec, or says that it is ``Reconciling``, makes the object progress, not unhealthy.
"""

from certwright.apply.health.status import find, outdated, section, violated
from certwright.kube import JsonObject


def any_health(obj: JsonObject) -> str:
    """Not known to be in trouble."""
    return (
        violated(obj, "Stalled", "False")
        or violated(obj, "Failed", "False")
        or violated(obj, "Ready", "True")
        # Ready is the summary where there is one; parts of it need not be available.
        or ("" if find(obj, "Ready") else violated(obj, "Available", "True"))
    )


def any_progress(obj: JsonObject) -> str:
    """Not known to be under way."""
    if "deletionTimestamp" in section(obj, "metadata"):
        return "it is being deleted"
    if "observedGeneration" in section(obj, "status") and (reason := outdated(obj)):
        return reason
    reconciling = find(obj, "Reconciling")
    if reconciling is not None and reconciling.status == "True":
        return reconciling.message or f"its condition says {reconciling.reason}"
    return ""
