"""CustomResourceDefinitions: served, and here to stay."""

from certwright.apply.health.status import violated
from certwright.kube import JsonObject


def definition_health(obj: JsonObject) -> str:
    """Its names are accepted and its API is served."""
    return (
        violated(obj, "NamesAccepted", "True", required=True)
        or violated(obj, "Established", "True", required=True)
        or violated(obj, "Terminating", "False")
    )
