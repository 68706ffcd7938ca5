"""VerticalPodAutoscalers: understood by their controller."""

from certwright.apply.health.status import violated
from certwright.kube import JsonObject


def vertical_autoscaler_health(obj: JsonObject) -> str:
    """Its configuration is supported.

    The observed generation is not looked at: while a cluster is built up, the autoscaler may
    itself wait for what waits for this verdict.
    """
    return violated(obj, "ConfigUnsupported", "False")
