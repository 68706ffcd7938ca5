"""What Envoy is given of EndpointSlices: the addresses of Services, with their health."""

from collections.abc import Iterable, Iterator
from ipaddress import ip_address

from certwright.kube import JsonObject
from certwright.operators.discoveryservice.config.content import EndpointSource


def load_assignment(source: EndpointSource, slices: Iterable[JsonObject]) -> JsonObject:
    """Return the endpoints in the slices, in the order of addresses.

    Each slice has its own number for the port. Without a slice, or without the port in any of
    them, there are no endpoints, and Envoy answers that the cluster has none.
    """
    found = {
        (host["endpoint"]["address"]["socket_address"]["address"], port): host
        for one in slices
        if one.get("addressType") in {"IPv4", "IPv6"}
        for port in _ports(one, source.port)
        for host in _hosts(one, port)
    }
    hosts = [found[place] for place in sorted(found)]
    return {
        "cluster_name": source.cluster,
        "endpoints": [{"lb_endpoints": hosts}] if hosts else [],
    }


def _ports(one: JsonObject, name: str) -> Iterator[int]:
    for port in one.get("ports") or ():
        if port.get("name") == name and isinstance(port.get("port"), int):
            yield port["port"]


def _hosts(one: JsonObject, port: int) -> Iterator[JsonObject]:
    for endpoint in one.get("endpoints") or ():
        # All addresses of an endpoint are of the same Pod; clients use the first.
        address = next(iter(endpoint.get("addresses") or ()), "")
        try:
            ip_address(address)
        except ValueError:
            continue
        place = {"socket_address": {"address": address, "port_value": port}}
        yield {
            "endpoint": {"address": place},
            "health_status": health_status(endpoint.get("conditions") or {}),
        }


def health_status(conditions: JsonObject) -> str:
    """Return Envoy's word for the state of an endpoint."""
    if conditions.get("terminating"):
        return "DRAINING"
    serving = conditions.get("serving")
    serving = conditions.get("ready") if serving is None else serving
    if serving is None:
        return "UNKNOWN"
    return "HEALTHY" if serving else "UNHEALTHY"
