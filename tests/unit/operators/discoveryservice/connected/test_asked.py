from typing import Any

from certwright.kube import JsonObject, Key
from certwright.operators.discoveryservice.connected.asked import (
    AskedCertificates,
    asked_certificates,
)

SERVICE = Key("infra", "x")


def certificate(
    name: str, namespace: str, *, owner: str = "x", status: Any = None, **spec: Any
) -> JsonObject:
    reference = {
        "apiVersion": "operator.marin3r.3scale.net/v1alpha1",
        "kind": "DiscoveryService",
        "name": owner,
        "uid": "1",
        "controller": True,
    }
    metadata = {"name": name, "namespace": namespace, "ownerReferences": [reference]}
    return {"metadata": metadata, "spec": spec, "status": status}


def client(namespace: str, serial: str, **more: Any) -> JsonObject:
    status = {"serialNumber": serial}
    return certificate("envoy-sidecar-client-cert", namespace, status=status, **more)


def authority(phase: Any, namespace: str = "infra", **more: Any) -> JsonObject:
    status = {"serialNumber": "ca", "rotation": {"phase": phase}}
    return certificate("ca", namespace, status=status, isCA=True, **more)


def test_the_serial_of_each_namespace_is_asked_for() -> None:
    server = certificate("server", "infra", status={"serialNumber": "5"}, server=True)
    found = asked_certificates(SERVICE, [client("a", "1"), client("b", "2"), server])
    assert found == AskedCertificates(rotating=False, serials={"a": "1", "b": "2"})


def test_a_rotation_is_what_the_authority_says() -> None:
    assert not asked_certificates(SERVICE, [authority("Stable")]).rotating
    assert asked_certificates(SERVICE, [authority("Prepared")]).rotating
    assert asked_certificates(SERVICE, [authority("Retired")]).rotating


def test_certificates_of_others_do_not_count() -> None:
    others = [
        client("a", "1", owner="y"),
        authority("Prepared", owner="y"),
        authority("Prepared", namespace="a"),
    ]
    assert asked_certificates(SERVICE, others) == AskedCertificates()


def test_statuses_that_make_no_sense_ask_for_nothing() -> None:
    odd = [client("a", ""), certificate("envoy-sidecar-client-cert", "b"), authority(7)]
    assert asked_certificates(SERVICE, odd) == AskedCertificates()
