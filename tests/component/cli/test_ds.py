"""`certwright ds` against a server that listens."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.component.cli.conftest import Ask

from certwright.api.discoveryservices import DiscoveryService, DiscoveryServiceCertificate
from certwright.client import Client, until_served
from certwright.kube import JsonObject, Key, crd_manifest

DS, DSC = DiscoveryService.resource, DiscoveryServiceCertificate.resource
LABELS = {"app.kubernetes.io/instance": "instance"}


def service(name: str) -> JsonObject:
    spec = {"discoveryServiceNamespace": "default", "enabledNamespaces": ["a"], "xdsPort": 18001}
    metadata = {"name": name}
    return {"apiVersion": DS.api_version, "kind": DS.kind, "metadata": metadata, "spec": spec}


def authority() -> JsonObject:
    name = "marin3r-ca-cert-instance"
    return {
        "apiVersion": DSC.api_version,
        "kind": DSC.kind,
        "metadata": {"name": name, "namespace": "default", "labels": LABELS},
        "spec": {
            "commonName": "ca",
            "isCA": True,
            "validFor": 3600,
            "signer": {"selfSigned": {}},
            "secretRef": {"name": name},
        },
    }


def condition(type_: str, status: str, reason: str, message: str = "") -> JsonObject:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2030-01-01T00:00:00Z",
    }


@pytest.fixture
def installed(ask: Ask) -> None:
    async def question(client: Client) -> None:
        for kind in (DiscoveryService, DiscoveryServiceCertificate):
            await client.apply(crd_manifest(kind))
            await until_served(client, crd_manifest(kind))
        await client.create(service("instance"))
        await client.create(authority())

    ask(question)


@pytest.fixture
def tell(ask: Ask) -> Callable[..., Any]:
    """Write the status of the DiscoveryService and of its authority."""

    def tell(status: JsonObject, certificate: JsonObject) -> None:
        async def question(client: Client) -> None:
            key = Key("default", "marin3r-ca-cert-instance")
            await client.patch(DS, Key("", "instance"), {"status": status}, subresource="status")
            await client.patch(DSC, key, {"status": certificate}, subresource="status")

        ask(question)

    return tell


SERVING = {
    "observedGeneration": 1,
    "conditions": [condition("Ready", "True", "Serving", "all is served")],
    "rotation": {"phase": "Stable"},
    "deprecatedFields": ["spec.xdsPort"],
}
VALID = {
    "ready": True,
    "serialNumber": "0abc",
    "notAfter": "2099-01-01T00:00:00Z",
    "conditions": [condition("Ready", "True", "Valid")],
}


def test_a_cluster_without_the_kinds_says_how_to_get_them(cli: Callable[..., Any]) -> None:
    done = cli("ds", "status")
    assert done.code == 2
    assert "certwright crds discoveryservice | kubectl apply --server-side -f -" in done.err


def test_status(cli: Callable[..., Any], installed: None, tell: Callable[..., Any]) -> None:
    early = cli("ds", "status")
    assert early.code == 1
    assert "no status yet; check that its operator is running" in early.out
    tell(SERVING, VALID)
    done = cli("ds", "status", "instance")
    assert done.code == 0, done.err
    assert "Ready: True (Serving) all is served" in done.out
    assert "authority: Stable" in done.out
    assert "deprecated: spec.xdsPort" in done.out
    row = done.out.splitlines()[-1].split()
    assert row[:2] == ["default/marin3r-ca-cert-instance", "yes"]
    assert row[3] == "0abc"
    waiting = {**SERVING, "rotation": {"phase": "Prepared", "waitingFor": ["Secret a/b"]}}
    tell({**waiting, "namespaces": [{"name": "a", "reason": "NamespaceNotFound"}]}, VALID)
    assert "authority: Prepared, waits for Secret a/b" in cli("ds", "status").out
    found = json.loads(cli("ds", "status", "-o", "json").out)
    assert found["rotation"] == {"phase": "Prepared", "waitingFor": ["Secret a/b"]}
    assert found["namespaces"][0]["name"] == "a"


def test_an_unknown_name_lists_those_there_are(cli: Callable[..., Any], installed: None) -> None:
    done = cli("ds", "status", "other")
    assert done.code == 2
    assert "there is no DiscoveryService other; there are: instance" in done.err


def test_rotate_ca(
    cli: Callable[..., Any], ask: Ask, installed: None, tell: Callable[..., Any]
) -> None:
    async def conditions(client: Client) -> dict[str, str]:
        found = await client.get(DSC, Key("default", "marin3r-ca-cert-instance"))
        listed = (found.get("status") or {}).get("conditions") or ()
        return {one["type"]: one["status"] for one in listed}

    early = cli("ds", "rotate-ca")
    assert early.code == 2
    assert "has no authority yet" in early.err
    tell({**SERVING, "rotation": {"phase": "Activated"}}, VALID)
    busy = cli("ds", "rotate-ca")
    assert (busy.code, ask(conditions)) == (0, {"Ready": "True"})
    assert "being replaced already: phase Activated" in busy.out
    tell(SERVING, VALID)
    dry = cli("ds", "rotate-ca", "--dry-run")
    assert "would be replaced" in dry.out
    assert ask(conditions) == {"Ready": "True"}
    done = cli("ds", "rotate-ca")
    assert done.code == 0, done.err
    assert ask(conditions) == {"Ready": "True", "CertificateNeedsRenewal": "True"}
