"""What Envoys are given of Secrets and EndpointSlices."""

import base64
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest
from tests.support.envoy.secrets import key_pair

from certwright.kube import JsonObject
from certwright.operators.discoveryservice.config.content import EndpointSource, SecretSource
from certwright.operators.discoveryservice.config.endpoints import health_status, load_assignment
from certwright.operators.discoveryservice.config.secrets import SecretUnusable, secret_resource

NOW = datetime(2030, 1, 1, tzinfo=UTC)
SOURCE = SecretSource("spec.resources[0].generateFromTlsSecret", "web", "web")


@cache
def pair(number: int = 0) -> tuple[bytes, bytes]:
    return key_pair(NOW, f"web{number}.example")


def secret(kind: str = "kubernetes.io/tls", **data: bytes) -> JsonObject:
    values = {name: base64.b64encode(value).decode() for name, value in data.items()}
    return {"type": kind, "data": values}


def tls(certificate: bytes, key: bytes) -> JsonObject:
    return secret("kubernetes.io/tls", **{"tls.crt": certificate, "tls.key": key})


def text(source: JsonObject) -> bytes:
    return base64.b64decode(source["inline_bytes"])


def test_a_tls_secret_becomes_a_certificate() -> None:
    certificate, key = pair()
    made = secret_resource(SOURCE, tls(certificate, key), NOW)
    assert made["name"] == "web"
    assert text(made["tls_certificate"]["certificate_chain"]) == certificate
    assert text(made["tls_certificate"]["private_key"]) == key


def test_by_its_blueprint_it_becomes_what_is_trusted() -> None:
    source = SecretSource("p", "ca", "ca", validation=True)
    made = secret_resource(source, tls(pair()[0], b""), NOW)
    assert text(made["validation_context"]["trusted_ca"]) == pair()[0]


def test_an_opaque_secret_becomes_a_generic_one_under_its_alias() -> None:
    source = SecretSource("p", "alias", "plain", "password")
    made = secret_resource(source, secret("Opaque", password=b"x"), NOW)
    assert made["name"] == "alias"
    assert text(made["generic_secret"]["secret"]) == b"x"
    assert secret_resource(source, {"data": {"password": "eA=="}}, NOW)["name"] == "alias"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (None, "does not exist"),
        (secret("Opaque", **{"tls.crt": b"x"}), "is of type Opaque, not kubernetes.io/tls"),
        (secret(), "has no tls.crt"),
        (tls(b"hello", pair()[1]), "tls.crt: no certificate found"),
        (tls(pair()[0], b"hello"), "tls.key is not a private key"),
        (tls(pair()[0], pair(1)[1]), "tls.key does not belong to tls.crt"),
        ({"type": "kubernetes.io/tls", "data": {"tls.crt": "%%"}}, "holds no base64 in tls.crt"),
    ],
)
def test_what_cannot_be_used_is_named(given: JsonObject | None, problem: str) -> None:
    with pytest.raises(SecretUnusable) as unusable:
        secret_resource(SOURCE, given, NOW)
    assert str(unusable.value) == problem


def test_an_expired_certificate_is_not_given_to_envoys() -> None:
    late = NOW + timedelta(days=31)
    with pytest.raises(SecretUnusable, match=r"the certificate expired at 2030-01-3"):
        secret_resource(SOURCE, tls(*pair()), late)


def test_an_opaque_secret_must_have_the_key() -> None:
    source = SecretSource("p", "alias", "plain", "password")
    with pytest.raises(SecretUnusable, match="has no password"):
        secret_resource(source, secret("Opaque", other=b"x"), NOW)
    with pytest.raises(SecretUnusable, match=r"is of type kubernetes\.io/tls, not Opaque"):
        secret_resource(source, tls(*pair()), NOW)


ENDPOINTS = EndpointSource("p", "backend", {}, "http")


def slices(*addresses: str, port: int = 80, kind: str = "IPv4", **conditions: bool) -> JsonObject:
    return {
        "addressType": kind,
        "ports": [{"name": "metrics", "port": 9}, {"name": "http", "port": port}],
        "endpoints": [{"addresses": [one], "conditions": conditions} for one in addresses],
    }


def places(made: JsonObject) -> list[tuple[str, int, str]]:
    return [
        (
            one["endpoint"]["address"]["socket_address"]["address"],
            one["endpoint"]["address"]["socket_address"]["port_value"],
            one["health_status"],
        )
        for group in made["endpoints"]
        for one in group["lb_endpoints"]
    ]


def test_slices_become_the_endpoints_of_a_cluster() -> None:
    made = load_assignment(
        ENDPOINTS,
        [
            slices("10.0.0.2", "10.0.0.1", ready=True),
            slices("10.0.0.3", port=81, ready=False),
            slices("10.0.0.2", ready=True),
        ],
    )
    assert made["cluster_name"] == "backend"
    assert places(made) == [
        ("10.0.0.1", 80, "HEALTHY"),
        ("10.0.0.2", 80, "HEALTHY"),
        ("10.0.0.3", 81, "UNHEALTHY"),
    ]


def test_what_is_no_address_is_left_out() -> None:
    assert places(load_assignment(ENDPOINTS, [slices("example.com", "10.0.0.1", "")])) == [
        ("10.0.0.1", 80, "UNKNOWN")
    ]
    assert load_assignment(ENDPOINTS, [slices("example.com", kind="FQDN")])["endpoints"] == []
    other = EndpointSource("p", "backend", {}, "grpc")
    assert load_assignment(other, [slices("10.0.0.1")])["endpoints"] == []


@pytest.mark.parametrize(
    ("conditions", "health"),
    [
        ({}, "UNKNOWN"),
        ({"ready": True}, "HEALTHY"),
        ({"ready": False}, "UNHEALTHY"),
        ({"ready": False, "serving": True}, "HEALTHY"),
        ({"ready": True, "serving": False}, "UNHEALTHY"),
        ({"ready": True, "serving": True, "terminating": True}, "DRAINING"),
    ],
)
def test_health_is_what_the_conditions_say(conditions: JsonObject, health: str) -> None:
    assert health_status(conditions) == health
