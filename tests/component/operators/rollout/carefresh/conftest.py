"""Authorities and certificates below them, on the embedded server.

cert-manager is played by `World.issue`: it does what the condition `Issuing` asks for, and nothing
else. Time is virtual.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import cache
from typing import Any

import pytest

from certwright import pki
from certwright.api.certmanager import Certificate
from certwright.api.certmanagers import CertManagerInstallation
from certwright.kube import JsonObject, Key, crd_manifest, resource_of
from certwright.kube.kinds import Event, Namespace, Secret
from certwright.operators.rollout.carefresh.authorities import CLUSTER_ISSUER, ISSUER
from certwright.operators.rollout.carefresh.operator import RefreshSettings, ca_refresh
from certwright.runtime import Operator
from certwright.testkit import Calls, EmbeddedCluster
from certwright.testkit.builders import namespace

CERTIFICATE = Certificate.resource
YEAR = timedelta(days=365)


@cache
def key(number: int) -> pki.PrivateKey:
    return pki.generate_key(pki.KeySpec())


def definition(kind: str, plural: str, scope: str) -> JsonObject:
    """Return the definition of an issuer, as far as it is needed."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.cert-manager.io"},
        "spec": {
            "group": "cert-manager.io",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "scope": scope,
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
            ],
        },
    }


class World:
    """A cluster with cert-manager, the operator, and words for both."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.cluster = cluster
        self.settings = RefreshSettings()
        self.issued: list[str] = []
        """The Certificates that were issued, one entry for each time."""
        self._keys = iter(range(10_000))
        self._running: Operator | None = None

    async def define(self) -> None:
        """Install the definitions."""
        await self.cluster.install(
            crd_manifest(Certificate),
            definition("Issuer", "issuers", "Namespaced"),
            definition("ClusterIssuer", "clusterissuers", "Cluster"),
        )

    # Declaring

    async def manager(self, **spec: Any) -> None:
        """Create the CertManager "default", and its definition if there is none yet."""
        await self.cluster.serve(CertManagerInstallation)
        await self.cluster.create(
            {
                "apiVersion": CertManagerInstallation.resource.api_version,
                "kind": "CertManager",
                "metadata": {"name": "default"},
                "spec": spec,
            }
        )

    async def authority(self, name: str = "shop/root", **metadata: Any) -> None:
        """Create the Certificate of an authority that signs itself, and its Secret."""
        await self._certificate(name, {"name": "selfsigned"}, is_ca=True, **metadata)
        await self.rotate(name)

    async def issuer(self, name: str, secret: str) -> None:
        """Create an issuer; one without a namespace is a ClusterIssuer."""
        at = Key.parse(name)
        kind = ISSUER if at.namespace else CLUSTER_ISSUER
        metadata = {"name": at.name} | ({"namespace": at.namespace} if at.namespace else {})
        await self.cluster.create(
            {
                "apiVersion": kind.api_version,
                "kind": kind.kind,
                "metadata": metadata,
                "spec": {"ca": {"secretName": secret}},
            }
        )

    async def leaf(self, name: str, issuer: str, kind: str = "Issuer", **spec: Any) -> None:
        """Create a Certificate, and have it issued."""
        await self._certificate(name, {"name": issuer, "kind": kind}, **spec)
        await self._issue(await self.cluster.get(CERTIFICATE, name))

    async def _certificate(
        self, name: str, issuer: JsonObject, *, is_ca: bool = False, **metadata: Any
    ) -> None:
        at = Key.parse(name)
        if not await self.cluster.find(Namespace, at.namespace):
            await self.cluster.create(namespace(at.namespace))
        spec = {"secretName": f"{at.name}-tls", "issuerRef": issuer, "isCA": is_ca}
        await self.cluster.create(
            {
                "apiVersion": CERTIFICATE.api_version,
                "kind": "Certificate",
                "metadata": {"name": at.name, "namespace": at.namespace, **metadata},
                "spec": {**spec, "commonName": at.name},
            }
        )

    # What cert-manager does

    async def rotate(self, name: str = "shop/root", *, same_key: bool = False) -> None:
        """Have an authority that signs itself issued anew."""
        at = Key.parse(name)
        before = await self.secret(f"{name}-tls")
        made = pki.read_key(before["tls.key"]) if same_key else key(next(self._keys))
        root = pki.create_root(
            pki.distinguished_name(at.name), made, 10 * YEAR, self.cluster.clock.now()
        )
        certificate = pki.write_certificates(root.certificate)
        parts = {"tls.crt": certificate, "tls.key": pki.write_key(made), "ca.crt": certificate}
        await self._store(await self.cluster.get(CERTIFICATE, name), parts)

    async def issue(self) -> list[str]:
        """Issue what the condition `Issuing` asks for; return what was issued."""
        found = await self.cluster.client.list(CERTIFICATE)
        asked = [one for one in found.items if any(_issuing(one))]
        for certificate in asked:
            await self._issue(certificate)
        return [str(_key(one)) for one in asked]

    async def fail(self, name: str) -> None:
        """Let the issuance of a Certificate fail."""
        now = self.cluster.clock.now().isoformat(timespec="seconds").replace("+00:00", "Z")
        status = {"conditions": [], "lastFailureTime": now, "failedIssuanceAttempts": 1}
        await self.cluster.patch(CERTIFICATE, name, {"status": status}, subresource="status")

    async def _issue(self, certificate: JsonObject) -> None:
        spec, at = certificate["spec"], _key(certificate)
        signer = await self._signer(spec["issuerRef"], at.namespace)
        made = key(next(self._keys))
        subject = pki.distinguished_name(spec["commonName"])
        now = self.cluster.clock.now()
        if spec.get("isCA"):
            authority = pki.create_intermediate(signer, subject, made, YEAR, now)
            issued = authority.certificate
        else:
            names = pki.AlternativeNames.of_hosts("web.example")
            template = pki.server_template(subject, made.public_key(), YEAR, names)
            issued = signer.issue(template, now)
        parts = {
            "tls.crt": pki.write_certificates(issued),
            "tls.key": pki.write_key(made),
            "ca.crt": pki.write_certificates(signer.certificate),
        }
        self.issued.append(str(at))
        await self._store(certificate, parts)

    async def _signer(self, reference: JsonObject, space: str) -> pki.Authority:
        kind = CLUSTER_ISSUER if reference.get("kind") == "ClusterIssuer" else ISSUER
        name = reference["name"] if kind is CLUSTER_ISSUER else f"{space}/{reference['name']}"
        issuer = await self.cluster.get(kind, name)
        where = "cert-manager" if kind is CLUSTER_ISSUER else space
        parts = await self.secret(f"{where}/{issuer['spec']['ca']['secretName']}")
        return pki.Authority(pki.read_certificate(parts["tls.crt"]), pki.read_key(parts["tls.key"]))

    async def _store(self, certificate: JsonObject, parts: Mapping[str, bytes]) -> None:
        """Write the Secret of a Certificate in place, and its status."""
        at = _key(certificate)
        data = {name: b64encode(value).decode() for name, value in parts.items()}
        name = f"{at.namespace}/{certificate['spec']['secretName']}"
        if await self.cluster.find(Secret, name):
            await self.cluster.patch(Secret, name, {"data": data})
        else:
            annotations = {"cert-manager.io/certificate-name": at.name}
            metadata = {
                "name": certificate["spec"]["secretName"],
                "namespace": at.namespace,
                "annotations": annotations,
            }
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
            await self.cluster.create({**secret, "type": "kubernetes.io/tls"})
        revision = int((certificate.get("status") or {}).get("revision") or 0) + 1
        ready = {"type": "Ready", "status": "True", "reason": "Ready", "message": ""}
        status = {"conditions": [ready], "revision": revision, "lastFailureTime": None}
        await self.cluster.patch(CERTIFICATE, str(at), {"status": status}, subresource="status")

    # Running and looking

    async def settle(self) -> Calls:
        """Run the operator until it waits; return its calls."""
        self._running = self._running or ca_refresh(self.settings)
        return await self.cluster.settle(self._running)

    async def refreshed(self) -> list[str]:
        """Let operator and cert-manager work in turn until both rest; return what was issued."""
        before = len(self.issued)
        await self.settle()
        for _ in range(50):
            if not await self.issue():
                return self.issued[before:]
            await self.cluster.advance(seconds=15)
        raise AssertionError("certificates are issued again and again")

    async def secret(self, name: str) -> dict[str, bytes]:
        """Return the data of a Secret; empty if there is none."""
        found = await self.cluster.find(Secret, name)
        data = (found or {}).get("data") or {}
        return {part: b64decode(value) for part, value in data.items()}

    async def events(self, reason: str) -> list[str]:
        """Return the notes of events with a reason, of all namespaces."""
        found = await self.cluster.client.list(resource_of(Event))
        return [event["note"] for event in found.items if event["reason"] == reason]


def _issuing(certificate: JsonObject) -> Iterator[bool]:
    for condition in (certificate.get("status") or {}).get("conditions") or ():
        yield condition["type"] == "Issuing" and condition["status"] == "True"


def _key(obj: JsonObject) -> Key:
    return Key(obj["metadata"]["namespace"], obj["metadata"]["name"])


@pytest.fixture
async def world(embedded_cluster: EmbeddedCluster) -> World:
    made = World(embedded_cluster)
    await made.define()
    return made
