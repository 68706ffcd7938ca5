"""ManagedResources inside ManagedResources: as healthy as they say of themselves."""

from certwright.apply.health.status import find, outdated, violated
from certwright.kube import JsonObject


def managed_resource_health(obj: JsonObject) -> str:
    """Applied and healthy, for the newest generation."""
    return (
        outdated(obj)
        or violated(obj, "ResourcesApplied", "True", required=True)
        or violated(obj, "ResourcesHealthy", "True", required=True)
    )


def managed_resource_progress(obj: JsonObject) -> str:
    """Rolled out, as far as it knows."""
    condition = find(obj, "ResourcesProgressing")
    if condition is None or condition.status == "False":
        return outdated(obj)
    return outdated(obj) or condition.message or f"its condition says {condition.reason}"
