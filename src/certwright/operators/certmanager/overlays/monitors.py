"""What Prometheus reads: annotations of pods, a ServiceMonitor or a PodMonitor, alerts."""

from copy import deepcopy
from typing import Any, Final

from certwright.kube import JsonObject
from certwright.operators.certmanager.overlays.bundlecopy import BASE, BundleCopy, ComponentObjects
from certwright.operators.certmanager.overlays.followers import (
    metrics_port,
    not_scraped,
    without_metrics,
)
from certwright.operators.certmanager.request import Component, InstallRequest, Problem, Reason

GROUP: Final = "monitoring.coreos.com/v1"
_LABEL: Final = "app.kubernetes.io/"


def monitors(copy: BundleCopy, request: InstallRequest) -> list[Problem]:
    """Add what finds the metrics, instead of annotations of pods; or take the metrics away."""
    if not request.metrics:
        for one in copy.components():
            without_metrics(copy, one)
        return []
    problems: list[Problem] = []
    services, pods = request.service_monitor, request.pod_monitor
    if services is not None and pods is not None:
        message = "a ServiceMonitor and a PodMonitor would count metrics twice: ask for one of them"
        problems.append(Problem(Reason.INVALID_OVERRIDE, None, message, "podMonitor"))
        pods = None
    scraped = [(one, port) for one in copy.components() if (port := metrics_port(one)) is not None]
    wanted = services if services is not None else pods
    controller = copy.component(Component.CONTROLLER)
    if wanted is not None and scraped and controller is not None:
        for one in copy.components():
            not_scraped(one)
        kind = "ServiceMonitor" if services is not None else "PodMonitor"
        port = scraped[0][1]
        copy.add(_monitor(kind, controller, [one for one, _ in scraped], wanted, port))
        if pods is not None:
            _without_services(copy)
    if request.alerts is not None and controller is not None:
        copy.add(_alerts(controller, request.alerts))
    return problems


def _without_services(copy: BundleCopy) -> None:
    """Take out Services that serve only metrics: a PodMonitor needs none."""
    for one in copy.components():
        for service in copy.of_component(one.component, "Service"):
            kept = [port for port in service["spec"]["ports"] if port["port"] != 9402]
            if kept:
                service["spec"]["ports"] = kept
            else:
                copy.remove(service)


def _monitor(
    kind: str,
    controller: ComponentObjects,
    scraped: list[ComponentObjects],
    wanted: JsonObject,
    port: str | int,
) -> JsonObject:
    namespace = controller.deployment["metadata"]["namespace"]
    found = [one.selector for one in scraped]
    names = sorted({key for selector in found for key in selector})
    expressions = [
        {"key": key, "operator": "In", "values": sorted({selector[key] for selector in found})}
        for key in names
    ]
    spec: JsonObject = {
        "jobLabel": f"{_LABEL}name",
        "selector": {"matchExpressions": expressions},
    }
    if wanted.get("namespace"):
        spec["namespaceSelector"] = {"matchNames": [namespace]}
    endpoint = {
        "path": wanted.get("path", "/metrics"),
        "interval": wanted.get("interval", "60s"),
        "scrapeTimeout": wanted.get("scrapeTimeout", "30s"),
        "honorLabels": wanted.get("honorLabels", False),
        **deepcopy(wanted.get("endpointAdditionalProperties") or {}),
    }
    if kind == "ServiceMonitor":
        spec["endpoints"] = [{"targetPort": wanted.get("targetPort", port), **endpoint}]
    else:
        spec["podMetricsEndpoints"] = [{_pod_port(port): port, **endpoint}]
    extra = {"prometheus": wanted.get("prometheusInstance", "default")}
    return _object(kind, controller, wanted, spec, extra)


def _pod_port(port: str | int) -> str:
    return "port" if isinstance(port, str) else "targetPort"


def _alerts(controller: ComponentObjects, wanted: JsonObject) -> JsonObject:
    rules = [
        _alert(
            "CertManagerAbsent", 'absent(up{job="cert-manager"})', "10m", "critical",
            "cert-manager is not seen by Prometheus: certificates are not issued or renewed",
        ),
        _alert(
            "CertManagerCertificateNotReady",
            "max by (namespace, name)"
            ' (certmanager_certificate_ready_status{condition!="True"}) == 1',
            "10m", "critical",
            "Certificate {{ $labels.namespace }}/{{ $labels.name }} is not ready",
        ),
        _alert(
            "CertManagerCertificateExpirySoon",
            "min by (namespace, name)"
            " (certmanager_certificate_expiration_timestamp_seconds - time()) < 21 * 24 * 3600",
            "1h", "warning",
            "Certificate {{ $labels.namespace }}/{{ $labels.name }} expires within 21 days and was"
            " not renewed",
        ),
    ]  # fmt: skip
    spec = {"groups": [{"name": BASE, "rules": rules}]}
    return _object("PrometheusRule", controller, wanted, spec, {})


def _alert(name: str, expression: str, after: str, severity: str, summary: str) -> JsonObject:
    return {
        "alert": name,
        "expr": expression,
        "for": after,
        "labels": {"severity": severity},
        "annotations": {"summary": summary},
    }


def _object(
    kind: str,
    controller: ComponentObjects,
    wanted: JsonObject,
    spec: JsonObject,
    labels: dict[str, str],
) -> JsonObject:
    own: Any = controller.deployment["metadata"]
    metadata: JsonObject = {
        "name": own["name"],
        "namespace": wanted.get("namespace") or own["namespace"],
        "labels": {**(own.get("labels") or {}), **labels, **(wanted.get("labels") or {})},
    }
    if wanted.get("annotations"):
        metadata["annotations"] = dict(wanted["annotations"])
    return {"apiVersion": GROUP, "kind": kind, "metadata": metadata, "spec": spec}
