"""Variables, proxies, trusted authorities."""

import pytest
from tests.unit.operators.certmanager.view import CAINJECTOR, CONTROLLER, WEBHOOK, View, rendered

from certwright.operators.certmanager.request import Component

PROXY = {"HTTP_PROXY": "http://p:1", "HTTPS_PROXY": "http://p:2", "NO_PROXY": ".svc"}


def values(view: View, component: Component) -> dict[str, str]:
    return {item["name"]: item.get("value") for item in view.container(component)["env"]}


@pytest.mark.scenario("CMD-15")
def test_all_components_get_the_proxies() -> None:
    view = rendered(proxy=PROXY)
    for component in Component:
        assert values(view, component) == {"POD_NAMESPACE": None, **PROXY}
    assert values(rendered(), CONTROLLER) == {"POD_NAMESPACE": None}


@pytest.mark.scenario("CMD-15")
def test_a_component_overrides_a_proxy() -> None:
    own = [{"name": "HTTPS_PROXY", "value": ""}, {"name": "MORE", "value": "1"}]
    view = rendered(proxy=PROXY, webhook={"env": own})
    found = values(view, WEBHOOK)
    assert found == {"POD_NAMESPACE": None, **PROXY, "HTTPS_PROXY": "", "MORE": "1"}
    assert values(view, CAINJECTOR)["HTTPS_PROXY"] == "http://p:2"


def test_the_controller_trusts_a_config_map() -> None:
    view = rendered(trusted_ca_config_map="corporate-ca")
    items = [{"key": "ca-bundle.crt", "path": "cert-manager-tls-ca-bundle.crt"}]
    source = {"name": "corporate-ca", "items": items}
    assert view.pod()["volumes"] == [{"name": "trusted-ca", "configMap": source}]
    (mount,) = view.container()["volumeMounts"]
    assert mount == {"name": "trusted-ca", "mountPath": "/etc/pki/tls/certs", "readOnly": True}
    assert "volumes" not in view.pod(WEBHOOK)
