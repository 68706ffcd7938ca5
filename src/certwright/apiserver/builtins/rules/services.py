"""Services: their addresses, ports and rules."""

import ipaddress
from itertools import count
from typing import Any, Final

from certwright.apiserver.builtins.rules.checks import (
    PROTOCOLS,
    label_causes,
    label_name,
    one_of,
    port_number,
    port_or_name,
    qualified_name,
    subdomain_name,
)
from certwright.apiserver.causes import (
    duplicate_value,
    forbidden_value,
    invalid_value,
    required,
    unsupported_value,
)
from certwright.apiserver.schema.formats import parses
from certwright.kube.errors import Cause
from certwright.kube.objects import JsonObject

TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_EXTERNAL: Final = ("NodePort", "LoadBalancer")
_ADDRESSES: Final = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
_CLUSTER_IP_LIMIT: Final = 10800

_NODE_PORTS = range(30000, 32768)
_is_address = parses(ipaddress.ip_address)


class ServiceAllocator:
    """Hands out cluster IPs of 10.0.0.0/24 and beyond, and node ports from 30000 on.

    Numbers are given once and never taken back: a test cluster does not live long enough
    to run out, and two Services never share one.
    """

    def __init__(self) -> None:
        self._hosts = count(10)
        self._ports = count(_NODE_PORTS.start)

    def cluster_ip(self) -> str:
        """Return a free address."""
        return str(ipaddress.IPv4Address("10.0.0.0") + next(self._hosts))

    def node_port(self) -> int:
        """Return a free port."""
        return next(self._ports)

    def prepare(self, new: JsonObject, old: JsonObject | None) -> None:
        """Keep or allocate addresses and node ports; drop what another type had."""
        spec, before = new["spec"], (old or {}).get("spec") or {}
        if spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        if spec.get("type") == "ExternalName":
            if before.get("type") not in {None, "ExternalName"}:
                _forget_addresses(spec, before)
            return
        if before.get("type") != "ExternalName":
            _keep_addresses(spec, before)
        if not spec.get("clusterIP"):
            spec["clusterIP"] = self.cluster_ip()
        spec.setdefault("clusterIPs", [spec["clusterIP"]])
        # Without pods of its own, a headless Service is taken to have both families.
        dual = spec["clusterIP"] == "None" and not spec.get("selector")
        spec.setdefault("ipFamilies", ["IPv4", "IPv6"] if dual else ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "RequireDualStack" if dual else "SingleStack")
        if spec["type"] in _EXTERNAL:
            self._node_ports(spec, before)
        elif before.get("type") in _EXTERNAL:
            _forget_node_ports(spec, before)
        self._health_check_port(spec, before)

    def _health_check_port(self, spec: JsonObject, before: JsonObject) -> None:
        """A load balancer that must not cross nodes asks each whether it has pods."""
        known = before.get("healthCheckNodePort")
        if spec["type"] == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local":
            if not spec.get("healthCheckNodePort"):
                spec["healthCheckNodePort"] = known or self.node_port()
        elif known and spec.get("healthCheckNodePort") == known:
            spec.pop("healthCheckNodePort")

    def _node_ports(self, spec: JsonObject, before: JsonObject) -> None:
        if spec["type"] == "LoadBalancer" and not spec.get("allocateLoadBalancerNodePorts"):
            return
        known = {_port_key(p): p.get("nodePort") for p in before.get("ports") or ()}
        for port in spec.get("ports") or ():
            if not port.get("nodePort"):
                port["nodePort"] = known.get(_port_key(port)) or self.node_port()


def _keep_addresses(spec: JsonObject, before: JsonObject) -> None:
    """An update that leaves addresses out means those that are there."""
    ip, ips = spec.get("clusterIP"), spec.get("clusterIPs")
    if ip and before.get("clusterIP") not in {None, ip} and ips == before.get("clusterIPs"):
        # Older clients know the first of the two fields only.
        spec["clusterIPs"] = [ip]
    for field in _ADDRESSES:
        if not spec.get(field) and before.get(field):
            spec[field] = before[field]


def _forget_addresses(spec: JsonObject, before: JsonObject) -> None:
    """A Service that becomes an alias loses the addresses it had, unless they were changed."""
    for field in (*_ADDRESSES, "internalTrafficPolicy"):
        if spec.get(field) == before.get(field):
            spec.pop(field, None)


def _forget_node_ports(spec: JsonObject, before: JsonObject) -> None:
    """A Service that stops being reachable from outside loses the ports it had for that."""
    known = {port.get("nodePort") for port in before.get("ports") or ()}
    for port in spec.get("ports") or ():
        if port.get("nodePort") in known:
            port.pop("nodePort", None)
    if spec.get("externalTrafficPolicy") == before.get("externalTrafficPolicy"):
        spec.pop("externalTrafficPolicy", None)
    if before.get("type") == "LoadBalancer":
        spec.pop("allocateLoadBalancerNodePorts", None)


def _port_key(port: JsonObject) -> tuple[Any, Any]:
    return port.get("protocol"), port.get("port")


def complete(obj: JsonObject) -> None:
    """Fill in the fields that depend on the type and on each other."""
    spec = obj["spec"]
    spec.setdefault("type", "ClusterIP")
    affinity = spec.setdefault("sessionAffinity", "None")
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        config = spec.get("sessionAffinityConfig") or {}
        if (config.get("clientIP") or {}).get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _CLUSTER_IP_LIMIT}}
    for port in spec.get("ports") or ():
        if port.get("targetPort") in {0, ""}:
            port["targetPort"] = port.get("port", 0)
    if spec["type"] in _EXTERNAL or (spec["type"] == "ClusterIP" and spec.get("externalIPs")):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in obj["status"].get("loadBalancer", {}).get("ingress") or ():
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def validate(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Ports, addresses and the type must fit together."""
    spec = new["spec"]
    headless = spec.get("clusterIP") == "None"
    before = (old or {}).get("spec") or {}
    refused = _unreadable_addresses(spec) or _family_causes(spec)
    if refused and spec["type"] != "ExternalName":
        return refused  # the allocator has the first word
    causes = _status_causes(new, old)
    causes += _address_update_causes(spec, before)
    if not spec.get("ports") and not headless and spec["type"] != "ExternalName":
        causes.append(required("spec.ports"))
    if spec["type"] in _EXTERNAL and headless:
        why = f"may not be set to 'None' for {spec['type']} services"
        causes.append(invalid_value("spec.clusterIPs[0]", "None", why))
    if spec["type"] == "ExternalName":
        causes += _external_name_causes(spec, before)
    causes += _port_causes(spec.get("ports") or [])
    causes += label_causes(spec.get("selector") or {}, "spec.selector")
    causes += one_of(spec["sessionAffinity"], ("ClientIP", "None"), "spec.sessionAffinity")
    if spec["type"] not in TYPES:
        causes.append(unsupported_value("spec.type", spec["type"], list(TYPES)))
    causes += _cluster_ip_causes(spec)
    causes += _node_port_causes(spec)
    causes += one_of(spec.get("internalTrafficPolicy"), ("Cluster", "Local"),
                     "spec.internalTrafficPolicy")  # fmt: skip
    return causes


def _address_update_causes(spec: JsonObject, before: JsonObject) -> list[Cause]:
    if not before or before.get("type") == "ExternalName" or spec["type"] == "ExternalName":
        return []
    old, new = before.get("clusterIPs") or [], spec.get("clusterIPs") or []
    if not old or new[:1] == old[:1]:
        return []
    return [invalid_value("spec.clusterIPs[0]", new, "may not change once set")]


def _cluster_ip_causes(spec: JsonObject) -> list[Cause]:
    ip, ips = spec.get("clusterIP"), spec.get("clusterIPs") or []
    if spec["type"] == "ExternalName":
        return []
    causes: list[Cause] = []
    if ips and ip != ips[0]:
        why = "first value must match `clusterIP`"
        causes.append(invalid_value("spec.clusterIPs[0]", ips, why))
    return causes + _unreadable_addresses(spec)


def _family_causes(spec: JsonObject) -> list[Cause]:
    """There is IPv4 only, except for what has no address and finds no pods by itself."""
    if spec.get("clusterIP") == "None" and not spec.get("selector"):
        return []
    causes: list[Cause] = []
    if spec.get("ipFamilyPolicy") == "RequireDualStack":
        why = "this cluster is not configured for dual-stack services"
        causes.append(invalid_value("spec.ipFamilyPolicy", "RequireDualStack", why))
    return causes + [
        invalid_value(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")
        for index, family in enumerate(spec.get("ipFamilies") or ())
        if family != "IPv4"
    ]


def _unreadable_addresses(spec: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    for index, address in enumerate(spec.get("clusterIPs") or ()):
        if address != "None" and not _is_address(address):
            why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            causes.append(invalid_value(f"spec.clusterIPs[{index}]", address, why))
    return causes


def _status_causes(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Only what balances load has an entrance."""
    status, before = new.get("status") or {}, (old or {}).get("status") or {}
    ingress = (status.get("loadBalancer") or {}).get("ingress")
    if not ingress or status == before or new["spec"]["type"] == "LoadBalancer":
        return []
    why = "may only be used when `spec.type` is 'LoadBalancer'"
    return [forbidden_value("status.loadBalancer.ingress", why)]


def warnings(new: JsonObject) -> list[str]:
    """Return warnings for settings that have no effect."""
    spec = new["spec"]
    headless = spec.get("clusterIP") == "None" and spec["type"] != "ExternalName"
    if headless and spec["sessionAffinity"] != "None":
        return ["spec.SessionAffinity is ignored for headless services"]
    return []


def _external_name_causes(spec: JsonObject, before: JsonObject) -> list[Cause]:
    name = (spec.get("externalName") or "").removesuffix(".")
    causes: list[Cause] = []
    if spec.get("clusterIPs") and before.get("type") in {None, "ExternalName"}:
        why = "may not be set for ExternalName services"
        causes.append(forbidden_value("spec.clusterIPs", why))
    path = "spec.externalName"
    return causes + (subdomain_name(name, path) if name else [required(path)])


def _port_causes(ports: list[JsonObject]) -> list[Cause]:
    causes: list[Cause] = []
    names: set[str] = set()
    seen: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        path = f"spec.ports[{index}]"
        name = port.get("name") or ""
        if not name and len(ports) > 1:
            causes.append(required(f"{path}.name"))
        elif name:
            causes += label_name(name, f"{path}.name")
            if name in names:
                causes.append(duplicate_value(f"{path}.name", name))
            names.add(name)
        causes += port_number(port.get("port") or 0, f"{path}.port")
        causes += one_of(port["protocol"], PROTOCOLS, f"{path}.protocol")
        causes += port_or_name(port["targetPort"], f"{path}.targetPort")
        if port.get("appProtocol") is not None:
            causes += qualified_name(port["appProtocol"], f"{path}.appProtocol")
        if _port_key(port) in seen:
            causes.append(duplicate_value(path, _go_port(port)))
        seen.add(_port_key(port))
    return causes


def _go_port(port: JsonObject) -> JsonObject:
    """Return a port as the API server prints its internal form."""
    return {
        "Name": "",
        "Protocol": port["protocol"],
        "AppProtocol": None,
        "Port": port.get("port"),
        "TargetPort": 0,
        "NodePort": 0,
    }


def _node_port_causes(spec: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    taken: set[tuple[Any, Any]] = set()
    for index, port in enumerate(spec.get("ports") or ()):
        number, path = port.get("nodePort") or 0, f"spec.ports[{index}].nodePort"
        if not number:
            continue
        if spec["type"] not in _EXTERNAL:
            causes.append(forbidden_value(path, "may not be used when `type` is 'ClusterIP'"))
        elif number not in _NODE_PORTS:
            why = "provided port is not in the valid range. The range of valid ports is 30000-32767"
            causes.append(invalid_value(path, number, why))
        elif (port["protocol"], number) in taken:
            causes.append(duplicate_value(path, number))
        taken.add((port["protocol"], number))
    return causes
