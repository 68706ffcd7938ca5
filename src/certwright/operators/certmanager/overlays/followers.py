"""Objects that follow the values of flags: ports, probes, Roles, annotations."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from certwright.kube import JsonObject
from certwright.operators.certmanager.flags.checks import POD_NAMESPACE
from certwright.operators.certmanager.flags.effective import EffectiveFlags
from certwright.operators.certmanager.overlays.access import SERVING
from certwright.operators.certmanager.overlays.arguments import LEADER_NAMESPACE, METRICS
from certwright.operators.certmanager.overlays.bundlecopy import (
    BASE,
    DEFINITION,
    REGISTRATIONS,
    BundleCopy,
    ComponentObjects,
)
from certwright.operators.certmanager.overlays.namespace import INJECT_CA
from certwright.operators.certmanager.request import Component

ELECTION: Final = ":leaderelection"
_NO_METRICS: Final = "0"
_METRICS_PORTS: Final = ("http-metrics", "tcp-prometheus-servicemonitor", 9402)
SCRAPED: Final = "prometheus.io/"


def follow_flags(
    copy: BundleCopy, flags: Mapping[Component, EffectiveFlags], namespace: str
) -> None:
    """Let objects fit the arguments of the containers they belong to."""
    for one in copy.components():
        values = flags[one.component]
        if LEADER_NAMESPACE in values.values:
            at = _resolved(values.value(LEADER_NAMESPACE), namespace)
            for obj in copy.of_component(one.component, "Role", "RoleBinding"):
                if obj["metadata"]["name"].endswith(ELECTION):
                    obj["metadata"]["namespace"] = at
        if METRICS in values.values:
            _follow_metrics(copy, one, values.value(METRICS))
        if one.component is Component.WEBHOOK:
            _follow_ports(copy, one, values)
            _follow_authority(copy, one, values, namespace)


def _resolved(value: str, namespace: str) -> str:
    return value.replace(POD_NAMESPACE, namespace) or namespace


def _follow_ports(copy: BundleCopy, one: ComponentObjects, flags: EffectiveFlags) -> None:
    """Let ports and probes of the webhook be where it listens."""
    config = one.wanted.config or {}
    secure = _port(flags.value("secure-port") or config.get("securePort"))
    healthz = _port(flags.value("healthz-port") or config.get("healthzPort"))
    container = one.container
    for port in container.get("ports") or ():
        if secure and port.get("name") == "https":
            _follow_secure_port(copy, port["containerPort"], secure)
            port["containerPort"] = secure
        if healthz and port.get("name") == "healthcheck":
            port["containerPort"] = healthz
    for name in ("livenessProbe", "readinessProbe"):
        get = (container.get(name) or {}).get("httpGet") or {}
        if healthz and isinstance(get.get("port"), int):
            get["port"] = healthz


def _follow_secure_port(copy: BundleCopy, old: int, new: int) -> None:
    for service in copy.of_component(Component.WEBHOOK, "Service"):
        for port in service["spec"].get("ports") or ():
            if port.get("targetPort") == old:
                port["targetPort"] = new


def _follow_authority(
    copy: BundleCopy, one: ComponentObjects, flags: EffectiveFlags, namespace: str
) -> None:
    """Let registrations and the webhook's Role name the Secret with its authority."""
    dynamic: Any = ((one.wanted.config or {}).get("tlsConfig") or {}).get("dynamic") or {}
    prefix = "dynamic-serving-ca-secret"
    name = flags.value(f"{prefix}-name") or str(dynamic.get("secretName") or "")
    at = flags.value(f"{prefix}-namespace") or str(dynamic.get("secretNamespace") or "")
    if not name:
        return
    at = _resolved(at, namespace)
    for obj in copy.of(*REGISTRATIONS, DEFINITION):
        annotations = obj["metadata"].get("annotations") or {}
        if INJECT_CA in annotations:
            annotations[INJECT_CA] = f"{at}/{name}"
    for obj in copy.of_component(Component.WEBHOOK, "Role", "RoleBinding"):
        if obj["metadata"]["name"].endswith(SERVING):
            obj["metadata"]["namespace"] = at
            for rule in obj.get("rules") or ():
                if rule.get("resourceNames") == [f"{BASE}-webhook-ca"]:
                    rule["resourceNames"] = [name]


def _follow_metrics(copy: BundleCopy, one: ComponentObjects, address: str) -> None:
    """Let the port of the metrics be where they are served; without metrics there is none."""
    if address == _NO_METRICS:
        without_metrics(copy, one)
        return
    number = _port(address.rpartition(":")[2])
    for port in _metrics_ports(one.container):
        if number:
            for service in copy.of_component(one.component, "Service"):
                for other in service["spec"].get("ports") or ():
                    if other["port"] == port["containerPort"] and _is_number(other):
                        other["targetPort"] = number
            port["containerPort"] = number
            annotations = (one.template.get("metadata") or {}).get("annotations") or {}
            if f"{SCRAPED}port" in annotations:
                annotations[f"{SCRAPED}port"] = str(number)


def _is_number(port: JsonObject) -> bool:
    return isinstance(port.get("targetPort", 0), int)


def without_metrics(copy: BundleCopy, one: ComponentObjects) -> None:
    """Take out the port of the metrics, and what leads there."""
    ports = one.container.get("ports") or []
    gone = list(_metrics_ports(one.container))
    if one.component is not Component.CONTROLLER:
        one.container["ports"] = [port for port in ports if port not in gone]
        if not one.container["ports"]:
            del one.container["ports"]
    for service in copy.of_component(one.component, "Service"):
        kept = [port for port in service["spec"]["ports"] if port["port"] != 9402]
        if kept:
            service["spec"]["ports"] = kept
        else:
            copy.remove(service)
    not_scraped(one)


def not_scraped(one: ComponentObjects) -> None:
    """Take out the annotations by which Prometheus finds pods."""
    metadata = one.template.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    kept = {name: value for name, value in annotations.items() if not name.startswith(SCRAPED)}
    if kept:
        metadata["annotations"] = kept
    else:
        metadata.pop("annotations", None)


def _metrics_ports(container: JsonObject) -> Iterator[JsonObject]:
    for port in container.get("ports") or ():
        if port.get("name") in _METRICS_PORTS or port["containerPort"] in _METRICS_PORTS:
            yield port


def metrics_port(one: ComponentObjects) -> str | int | None:
    """Return the port of a component's metrics, by its name if it has one."""
    found = next(_metrics_ports(one.container), None)
    return None if found is None else found.get("name") or found["containerPort"]


def _port(value: Any) -> int:
    """Return a port; 0 if it is none."""
    text = str(value or "")
    return int(text) if text.isascii() and text.isdigit() else 0
