"""Services: those with a load balancer have an address."""

from certwright.apply.health.status import section, text
from certwright.kube import JsonObject


def service_health(obj: JsonObject) -> str:
    """Load balancers have been given at least one address."""
    if text(section(obj, "spec"), "type") != "LoadBalancer":
        return ""
    given = section(obj, "status", "loadBalancer").get("ingress")
    return "" if given else "service is missing ingress status"
