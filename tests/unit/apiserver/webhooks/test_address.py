"""Where webhooks are reached."""

import base64

import pytest

from certwright.apiserver.storage.storage import Storage
from certwright.apiserver.webhooks.address import ServicePort, webhook_address
from certwright.apiserver.webhooks.response import CallFailed
from certwright.apiserver.webhooks.servicetable import ServiceTable, ready_endpoint
from certwright.kube import JsonObject


def test_services() -> None:
    found = webhook_address(
        {
            "service": {"name": "hook", "namespace": "ns", "path": "/validate", "port": 8443},
            "caBundle": base64.b64encode(b"PEM").decode(),
        },
        10,
    )
    assert found.url == "https://hook.ns.svc:8443/validate?timeout=10s"
    assert found.server_name == "hook.ns.svc"
    assert found.service == ServicePort("ns", "hook", 8443)
    assert found.authorities == b"PEM"
    plain = webhook_address({"service": {"name": "hook", "namespace": "ns"}}, 3)
    assert plain.url == "https://hook.ns.svc:443/?timeout=3s"


def test_urls() -> None:
    found = webhook_address({"url": "https://127.0.0.1:9443/a/b"}, 30)
    assert found.url == "https://127.0.0.1:9443/a/b?timeout=30s"
    assert found.server_name == "127.0.0.1"
    assert found.service is None
    assert found.failed("EOF").reason == 'Post "https://127.0.0.1:9443/a/b?timeout=30s": EOF'


def service(**port: object) -> JsonObject:
    return {"metadata": {"name": "hook"}, "spec": {"ports": [{"port": 443, **port}]}}


def endpoints(*addresses: str, ready: bool = True, name: str = "", of: str = "hook") -> JsonObject:
    return {
        "metadata": {"labels": {"kubernetes.io/service-name": of}},
        "ports": [{"name": name, "port": 9443}],
        "endpoints": [{"addresses": [each], "conditions": {"ready": ready}} for each in addresses],
    }


def test_the_first_ready_endpoint_of_the_port() -> None:
    slices = [
        endpoints("10.0.0.1", of="other"),
        endpoints("10.0.0.2", ready=False),
        endpoints("10.0.0.3", name="metrics"),
        endpoints("10.0.0.4", "10.0.0.5"),
    ]
    assert ready_endpoint(service(), 443, slices) == ("10.0.0.4", 9443)
    assert ready_endpoint(service(name="metrics"), 443, slices) == ("10.0.0.3", 9443)
    assert ready_endpoint(service(), 443, slices[:2]) is None
    with pytest.raises(CallFailed, match='no service port 80 found for service "hook"'):
        ready_endpoint(service(), 80, slices)


def test_services_that_do_not_exist() -> None:
    table = ServiceTable(Storage(revision=1, history_limit=10, history_bytes=10))
    with pytest.raises(CallFailed, match='service "hook" not found'):
        table.resolve(ServicePort("ns", "hook", 443))
