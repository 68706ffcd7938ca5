"""What a Service keeps of itself: what the cluster allocated for it."""

from typing import Any, Final

from certwright.apply.engine.draft import Draft, value_at
from certwright.kube import JsonObject

_CLUSTER_IP: Final = ("spec", "clusterIP")
_PORTS: Final = ("spec", "ports")


def keep_service(draft: Draft) -> None:
    """Keep node ports, load balancer address, cluster address and health check port."""
    old, new = type_of(draft.have(("spec",))), type_of(draft.wanted(("spec",)))
    if new in {"LoadBalancer", "NodePort"}:
        _keep_node_ports(draft)
        if not draft.wanted(("spec", "loadBalancerIP")):
            draft.leave(("spec", "loadBalancerIP"))
    if new == "ExternalName":
        return
    if draft.wanted(_CLUSTER_IP) != "None" and old != "ExternalName":
        draft.leave(_CLUSTER_IP)
    both_local = _is_local(draft.have(("spec",))) and _is_local(draft.wanted(("spec",)))
    if both_local and not draft.wanted(("spec", "healthCheckNodePort")):
        draft.leave(("spec", "healthCheckNodePort"))


def becomes_headless(live: JsonObject, desired: JsonObject) -> bool:
    """Return whether a Service gives up its address, which only a new one can."""
    have, wants = value_at(live, _CLUSTER_IP), value_at(desired, _CLUSTER_IP)
    return wants == "None" and have not in (None, "", "None")


def type_of(spec: Any) -> str:
    """Return the type of a Service; the default where it says nothing."""
    return str((spec.get("type") if isinstance(spec, dict) else "") or "ClusterIP")


def _is_local(spec: Any) -> bool:
    local = isinstance(spec, dict) and spec.get("externalTrafficPolicy") == "Local"
    return local and type_of(spec) == "LoadBalancer"


def _keep_node_ports(draft: Draft) -> None:
    """Give ports without a node port the one they have, under their number or their name."""
    live, ours = _ports(draft.have(_PORTS)), _ports(draft.ours(_PORTS))
    wanted = _ports(draft.wanted(_PORTS))
    taken = {_number(port) for port in wanted}
    for position, port in enumerate(wanted):
        if port.get("nodePort"):
            continue
        match = _match(port, live, taken)
        if match is None or not match.get("nodePort"):
            continue
        same_item = _number(match) == _number(port)
        own = any(_number(p) == _number(port) and p.get("nodePort") for p in ours)
        if own or not same_item:
            draft.set((*_PORTS, position, "nodePort"), match["nodePort"])


def _match(
    port: JsonObject, live: list[JsonObject], taken: set[tuple[Any, str]]
) -> JsonObject | None:
    """Return the live port that is the same: by number and protocol, by name, by number.

    One that is the same as another wanted port by number is not given away by name.
    """
    name = port.get("name")
    free = [candidate for candidate in live if _number(candidate) not in taken]
    exact = [candidate for candidate in live if _number(candidate) == _number(port)]
    named = [candidate for candidate in free if name and candidate.get("name") == name]
    numbered = [candidate for candidate in free if candidate.get("port") == port.get("port")]
    for found in (exact, named, numbered):
        if found:
            return found[-1]
    return None


def _number(port: JsonObject) -> tuple[Any, str]:
    return port.get("port"), port.get("protocol") or "TCP"


def _ports(ports: Any) -> list[JsonObject]:
    return [p for p in (ports if isinstance(ports, list) else ()) if isinstance(p, dict)]
