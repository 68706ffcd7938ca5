"""Free-form parts of a request: mistakes in them are problems, not errors of the program."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.certmanager.samplebundle import NEW, OLD
from tests.unit.operators.certmanager.view import WEBHOOK, rendered

from certwright.operators.certmanager.request import Reason

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
KEYS = {
    "service_account": ["create", "name", "annotations", "labels"],
    "pod_disruption_budget": ["minAvailable", "maxUnavailable"],
    "network_policy": ["ingress", "egress"],
    "config": ["securePort", "healthzPort", "tlsConfig", "metricsTLSConfig"],
    "resources": ["limits"],
    "liveness_probe": ["enabled", "httpGet"],
    "pod_security_context": ["seccompProfile"],
}


def objects(*keys: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(keys) | st.text(max_size=3), JSON, max_size=3)


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"env": [{"value": "1"}]}, "env"),
        ({"volumes": [{}]}, "volumes"),
        ({"service_account": {"labels": "x"}}, "serviceAccount"),
        ({"service_account": {"nmae": "x"}}, "serviceAccount"),
        ({"pod_disruption_budget": {"minAvailable": []}}, "podDisruptionBudget"),
        ({"network_policy": {"ingress": "all"}}, "networkPolicy"),
        ({"config": {"tlsConfig": []}}, "config"),
        ({"config": {"securePort": "x"}}, "config"),
    ],
)
def test_a_wrong_shape_holds_the_component(wanted: dict[str, Any], field: str) -> None:
    view = rendered(webhook=wanted)
    (problem,) = view.rendered.problems
    assert (problem.reason, problem.component) == (Reason.INVALID_OVERRIDE, WEBHOOK)
    assert problem.field == field
    assert field in problem.message
    assert not view.find("Deployment", "cert-manager-webhook")
    assert len(view.find("Deployment")) == 2


@pytest.mark.parametrize("name", ["service_monitor", "pod_monitor", "alerts"])
def test_a_wrong_monitor_holds_nothing(name: str) -> None:
    wanted: dict[str, Any] = {name: {"labels": 5}}
    view = rendered(**wanted)
    assert len(view.rendered.problems) == 1
    assert not view.rendered.held


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.fixed_dictionaries({}, optional={name: objects(*keys) for name, keys in KEYS.items()}),
    st.dictionaries(st.sampled_from(["v", "secure-port", "metrics-listen-address", "x"]), JSON),
    st.lists(objects("name", "value"), max_size=2),
    objects("labels", "namespace", "interval"),
)
def test_no_request_is_an_error(
    wanted: dict[str, Any], flags: Any, env: Any, monitor: dict[str, Any]
) -> None:
    for bundle in (NEW, OLD):
        every = {**wanted, "flags": flags, "env": env}
        view = rendered(bundle, webhook=every, cainjector=every, service_monitor=monitor)
        assert view.find("Deployment", "cert-manager")
