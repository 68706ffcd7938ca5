"""What Prometheus reads."""

from tests.support.certmanager.samplebundle import OLD
from tests.unit.operators.certmanager.view import CAINJECTOR, CONTROLLER, WEBHOOK, rendered

from certwright.operators.certmanager.render import InstallStep
from certwright.operators.certmanager.request import Component, Reason


def test_a_service_monitor_replaces_annotations() -> None:
    wanted = {
        "interval": "10s",
        "labels": {"release": "prom"},
        "prometheusInstance": "mine",
        "endpointAdditionalProperties": {"scheme": "https"},
        "namespace": "monitoring",
    }
    view = rendered(service_monitor=wanted)
    monitor = view.get("ServiceMonitor", "cert-manager")
    assert monitor["metadata"]["namespace"] == "monitoring"
    assert monitor["metadata"]["labels"]["prometheus"] == "mine"
    assert monitor["metadata"]["labels"]["release"] == "prom"
    assert monitor["spec"]["namespaceSelector"] == {"matchNames": ["cert-manager"]}
    assert monitor["spec"]["endpoints"] == [
        {
            "targetPort": "http-metrics",
            "path": "/metrics",
            "interval": "10s",
            "scrapeTimeout": "30s",
            "honorLabels": False,
            "scheme": "https",
        }
    ]
    expressions = monitor["spec"]["selector"]["matchExpressions"]
    assert {found["key"]: found["values"] for found in expressions} == {
        "app.kubernetes.io/component": ["cainjector", "controller", "webhook"],
        "app.kubernetes.io/instance": ["cert-manager"],
        "app.kubernetes.io/name": ["cainjector", "cert-manager", "webhook"],
    }
    for component in Component:
        assert "annotations" not in view.template(component)["metadata"]


def test_a_pod_monitor_needs_no_services() -> None:
    view = rendered(pod_monitor={})
    endpoint = view.get("PodMonitor", "cert-manager")["spec"]["podMetricsEndpoints"][0]
    assert endpoint["port"] == "http-metrics"
    assert [obj["metadata"]["name"] for obj in view.find("Service")] == ["cert-manager-webhook"]
    (service,) = view.find("Service")
    assert [port["name"] for port in service["spec"]["ports"]] == ["https"]


def test_early_versions_serve_metrics_of_the_controller_only() -> None:
    monitor = rendered(OLD, service_monitor={}).get("ServiceMonitor", "cert-manager")
    expressions = monitor["spec"]["selector"]["matchExpressions"]
    assert ["controller"] in [found["values"] for found in expressions]
    assert monitor["spec"]["endpoints"][0]["targetPort"] == 9402


def test_metrics_are_not_counted_twice() -> None:
    view = rendered(service_monitor={}, pod_monitor={})
    (problem,) = view.rendered.problems
    assert problem.reason is Reason.INVALID_OVERRIDE
    assert not view.rendered.held
    assert view.find("ServiceMonitor")
    assert not view.find("PodMonitor")


def test_monitors_and_alerts_are_the_last_step() -> None:
    view = rendered(service_monitor={}, alerts={"labels": {"a": "b"}, "namespace": "x"})
    steps = view.rendered.steps[InstallStep.MONITORS]
    assert [declared.ref.kind for declared in steps] == ["ServiceMonitor", "PrometheusRule"]
    rule = view.get("PrometheusRule", "cert-manager")
    assert (rule["metadata"]["namespace"], rule["metadata"]["labels"]["a"]) == ("x", "b")
    assert len(rule["spec"]["groups"][0]["rules"]) == 3


def test_without_metrics() -> None:
    view = rendered(metrics=False)
    assert [obj["metadata"]["name"] for obj in view.find("Service")] == ["cert-manager-webhook"]
    for component in (CAINJECTOR, WEBHOOK):
        assert "--metrics-listen-address=0" in view.args(component)
    assert "ports" not in view.container(CAINJECTOR)
    assert "--metrics-listen-address=0" not in view.args(CONTROLLER)
    for component in Component:
        assert "annotations" not in view.template(component)["metadata"]
