from datetime import timedelta
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from certwright.api.discoverydefaults import (
    ca_lifetime,
    ca_secret_name,
    client_identity,
    deprecated_certificate_fields,
    deprecated_service_fields,
    is_renewed,
    parse_client_identity,
    pki_settings,
    server_lifetime,
    server_secret_name,
    service_settings,
    xds_port,
)
from certwright.api.discoveryservices import (
    DiscoveryService,
    DiscoveryServiceCertificate,
    DiscoveryServiceCertificateSpec,
    DiscoveryServiceCertificateStatus,
    DiscoveryServiceSpec,
)
from certwright.api.envoyconfigs import EnvoyConfig, EnvoyConfigRevision
from certwright.kube import Object, crd_manifest

KINDS = (DiscoveryService, DiscoveryServiceCertificate, EnvoyConfig, EnvoyConfigRevision)


def service(**spec: Any) -> DiscoveryServiceSpec:
    return msgspec.convert({"discoveryServiceNamespace": "infra", **spec}, DiscoveryServiceSpec)


def certificate(**spec: Any) -> DiscoveryServiceCertificateSpec:
    whole = {
        "commonName": "a",
        "validFor": 1,
        "signer": {"selfSigned": {}},
        "secretRef": {"name": "a"},
    }
    return msgspec.convert({**whole, **spec}, DiscoveryServiceCertificateSpec)


@pytest.mark.parametrize(
    ("kind", "name", "scope", "columns"),
    [
        (DiscoveryService, "discoveryservices.operator.marin3r.3scale.net", "Cluster", []),
        (
            DiscoveryServiceCertificate,
            "discoveryservicecertificates.operator.marin3r.3scale.net",
            "Namespaced",
            ["Ready", "Not Before", "Not After"],
        ),
        (
            EnvoyConfig,
            "envoyconfigs.marin3r.3scale.net",
            "Namespaced",
            ["Node ID", "Envoy API", "Desired Version", "Published Version", "Cache State"],
        ),
        (
            EnvoyConfigRevision,
            "envoyconfigrevisions.marin3r.3scale.net",
            "Namespaced",
            [
                "Node ID", "Envoy API", "Version", "Published", "Created At", "Last Published At",
                "Tainted",
            ],
        ),
    ],
)  # fmt: skip
def test_the_kinds_are_those_that_clients_of_marin3r_know(
    kind: type[Object], name: str, scope: str, columns: list[str]
) -> None:
    manifest = crd_manifest(kind)
    assert manifest["apiVersion"] == "apiextensions.k8s.io/v1"
    assert (manifest["metadata"]["name"], manifest["spec"]["scope"]) == (name, scope)
    [version] = manifest["spec"]["versions"]
    assert version["name"] == "v1alpha1"
    assert version["subresources"] == {"status": {}}
    shown = [column["name"] for column in version["additionalPrinterColumns"]]
    assert shown[: len(columns)] == columns


@pytest.mark.parametrize("kind", KINDS)
def test_the_server_writes_no_defaults_into_specs(kind: type[Object]) -> None:
    [version] = crd_manifest(kind)["spec"]["versions"]
    assert "'default'" not in repr(version["schema"]["openAPIV3Schema"]["properties"]["spec"])


def test_the_spec_of_each_era_is_read() -> None:
    first = {
        "discoveryServiceNamespace": "infra",
        "enabledNamespaces": ["a"],
        "image": "quay.io/3scale/marin3r:v0.6.0",
        "debug": True,
        "pkiConfg": {
            "rootCertificateAuthority": {"secretName": "ca", "duration": "100h"},
            "serverCertificate": {"secretName": "server", "duration": "10h"},
        },
        "xdsPort": 1,
        "webhookPort": 2,
        "metricsPort": 3,
        "ServiceConfig": {"name": "s", "type": "Headless"},
    }
    spec = service(**first)
    assert msgspec.to_builtins(spec) == first
    assert (ca_secret_name("x", spec), ca_lifetime(spec)) == ("ca", timedelta(hours=100))
    assert (server_secret_name("x", spec), server_lifetime(spec)) == ("server", timedelta(hours=10))
    assert xds_port(spec) == 1
    assert service_settings(spec).name == "s"
    assert deprecated_service_fields(spec) == [
        "spec.pkiConfg", "spec.xdsPort", "spec.ServiceConfig",
    ]  # fmt: skip
    later = service(xdsServerPort=5, xdsPort=1, serviceConfig={"name": "n"}, pkiConfig={})
    assert xds_port(later) == 5
    assert service_settings(later).name == "n"


def test_defaults_are_those_of_marin3r() -> None:
    spec = service()
    assert xds_port(spec) == 18000
    assert ca_secret_name("x", spec) == "marin3r-ca-cert-x"
    assert server_secret_name("x", spec) == "marin3r-server-cert-x"
    assert ca_lifetime(spec) == timedelta(seconds=94608000)
    assert server_lifetime(spec) == timedelta(seconds=7776000)
    assert pki_settings(spec).propagation is UNSET
    assert deprecated_service_fields(spec) == []


@pytest.mark.parametrize("name", ["certificateRenewal", "certificateRenewalNotification"])
def test_renewal_is_read_under_both_names(name: str) -> None:
    assert is_renewed(certificate())
    spec = certificate(**{name: {"enabled": False}})
    assert not is_renewed(spec)
    assert bool(deprecated_certificate_fields(spec)) is (name != "certificateRenewal")


def test_the_new_name_counts_first() -> None:
    old, new = {"enabled": False}, {"enabled": True}
    assert is_renewed(certificate(certificateRenewalNotification=old, certificateRenewal=new))


def test_the_status_is_that_of_both_eras() -> None:
    written = {
        "ready": True,
        "notBefore": "2026-01-01T00:00:00Z",
        "notAfter": "2026-01-03T00:00:00Z",
        "certificateHash": "abc",
        "conditions": [{"type": "CertificateNeedsRenewal", "status": "True", "reason": "r"}],
        "rotation": {"phase": "Prepared", "signer": "1", "next": "2"},
    }
    read = msgspec.convert(written, DiscoveryServiceCertificateStatus)
    assert msgspec.to_builtins(read) == written


@pytest.mark.parametrize(("service_name", "namespace"), [("x", "a"), ("a-b", "c-d-1")])
def test_identities_are_read_back(service_name: str, namespace: str) -> None:
    uri = client_identity(service_name, namespace)
    assert parse_client_identity(uri) == (service_name, namespace)


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "spiffe://x.discoveryservice.marin3r.3scale.net/ns/",
        "spiffe://x.discoveryservice.marin3r.3scale.net/ns/a/b",
        "spiffe://x.discoveryservice.marin3r.3scale.net/ns/a?b",
        "spiffe://x.discoveryservice.marin3r.3scale.net/ns/a#b",
        "SPIFFE://x.discoveryservice.marin3r.3scale.net/ns/a",
        "spiffe://x.discoveryservice.marin3r.3scale.net/other/a",
        "spiffe://.discoveryservice.marin3r.3scale.net/ns/a",
        "spiffe://x.example/ns/a",
        "https://x.discoveryservice.marin3r.3scale.net/ns/a",
        "spiffe://[/ns/a",
    ],
)
def test_other_uris_name_nothing(uri: str) -> None:
    assert parse_client_identity(uri) is None
