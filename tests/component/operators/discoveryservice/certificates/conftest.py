"""Certificates of a discovery service on the embedded server, in virtual time.

::

    @pytest.mark.scenario("DS-2")
    async def test_profile(certifying):
        await certifying.plane("a")
        await certifying.settle()
        assert (await certifying.pair("server")).serial
"""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from certwright import pki
from certwright.api.discoveryservices import DiscoveryService, DiscoveryServiceCertificate
from certwright.kube import JsonObject, Key, NotFound
from certwright.kube.kinds import Event, Secret
from certwright.operators.discoveryservice.certificates.operator import certificate_operator
from certwright.operators.discoveryservice.certificates.rotation.observer import Users
from certwright.operators.discoveryservice.certificates.shared import CertificateOperatorSettings
from certwright.pki.certificates import Certificate, fingerprint
from certwright.pki.pairs import CertifiedKey, read_pair
from certwright.runtime import Channel, Context, Operator
from certwright.testkit import Calls, EmbeddedCluster, VirtualLoop

DSC = DiscoveryServiceCertificate.resource
CA = "marin3r-ca-cert-x"
SERVER = "marin3r-server-cert-x"
CLIENT = "envoy-sidecar-client-cert"
P256 = pki.KeySpec(pki.KeyAlgorithm.ECDSA, 256)
DAY = 24 * 3600
LABELS = {
    "app.kubernetes.io/managed-by": "marin3r-operator",
    "app.kubernetes.io/component": "discovery-service",
    "app.kubernetes.io/instance": "x",
}
"""Of all objects of the DiscoveryService."""
CLOSELY = 3
"""How many minutes pass at once where a rotation is watched."""


class Connected:
    """An observer that is told who shows which certificate."""

    def __init__(self) -> None:
        self.shown: dict[Key, dict[str, str]] = {}
        self.trusted: dict[Key, dict[str, str]] = {}
        self.complete = True
        self.changed = Channel()

    def observe(self, _ctx: Context, service: Key) -> Callable[[Key], Users]:
        assert service == Key("default", "x")
        return self.users

    def users(self, secret: Key) -> Users:
        shown, trusted = self.shown.get(secret, {}), self.trusted.get(secret, {})
        return Users(shown, trusted, complete=self.complete)


class Certifying:
    """A cluster, the operator, and words for both."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.cluster = cluster
        self.connected: Connected | None = None
        self.settings: dict[str, Any] = {}
        self.running: Operator | None = None

    # Declaring

    async def namespace(self, name: str) -> None:
        """Create a namespace."""
        await self.cluster.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        )

    async def create(
        self, name: str = "c", namespace: str = "", owner: JsonObject | None = None, **spec: Any
    ) -> JsonObject:
        """Create a certificate; without anything else, one of a client that signs itself."""
        await self.cluster.serve(DiscoveryServiceCertificate)
        metadata: JsonObject = {"name": name, "namespace": namespace or self.cluster.namespace}
        if owner is not None:
            metadata["ownerReferences"] = [owner]
            metadata["labels"] = LABELS
        whole = {
            "commonName": name,
            "validFor": 2 * DAY,
            "signer": {"selfSigned": {}},
            "secretRef": {"name": name},
        }
        body = {"apiVersion": DSC.api_version, "kind": DSC.kind, "metadata": metadata}
        return await self.cluster.create({**body, "spec": {**whole, **spec}})

    async def service(self) -> JsonObject:
        """Create the DiscoveryService; return what makes it the owner of others."""
        await self.cluster.serve(DiscoveryService)
        kind = DiscoveryService.resource
        made = await self.cluster.create(
            {
                "apiVersion": kind.api_version,
                "kind": kind.kind,
                "metadata": {"name": "x"},
                "spec": {"discoveryServiceNamespace": self.cluster.namespace},
            }
        )
        return {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "name": "x",
            "uid": made["metadata"]["uid"],
            "controller": True,
        }

    async def plane(self, *namespaces: str, ca: int = 1095 * DAY, **spec: Any) -> None:
        """Create what a DiscoveryService creates: authority, server, and a client per namespace."""
        owner = await self.service()
        await self.create(CA, owner=owner, commonName="marin3r-ca-x", isCA=True, validFor=ca)
        await self.leaf(
            SERVER,
            owner=owner,
            commonName="marin3r-server-x",
            server=True,
            hosts=[f"marin3r-x.{self.cluster.namespace}.svc"],
            validFor=90 * DAY,
        )
        for name in namespaces:
            await self.namespace(name)
            await self.leaf(CLIENT, name, owner=owner, commonName="marin3r-x-client", **spec)

    async def leaf(self, name: str, namespace: str = "", **spec: Any) -> JsonObject:
        """Create a certificate below the authority."""
        reference = {"name": CA, "namespace": self.cluster.namespace}
        signer = {"caSigned": {"caSecretRef": reference}}
        return await self.create(name, namespace, **{"signer": signer, **spec})

    async def change(self, name: str, **spec: Any) -> None:
        """Change a spec."""
        await self.cluster.patch(DSC, name, {"spec": spec})

    async def request_renewal(self, name: str) -> None:
        """Set the condition by which users ask for a renewal."""
        condition = {
            "type": "CertificateNeedsRenewal",
            "status": "True",
            "reason": "Asked",
            "message": "by a test",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        kept = [
            one
            for one in (await self.status(name)).get("conditions", ())
            if one["type"] != condition["type"]
        ]
        await self.cluster.patch(
            DSC, name, {"status": {"conditions": [*kept, condition]}}, subresource="status"
        )

    async def put(self, name: str, data: dict[str, bytes | None]) -> None:
        """Change the data of a Secret."""
        written = {
            key: None if value is None else b64encode(value).decode() for key, value in data.items()
        }
        await self.cluster.patch(Secret, name, {"data": written})

    # Running

    def operator(self) -> Operator:
        """Return the operator: elliptic keys, and nothing spread over time."""
        more: dict[str, Any] = {"keys": P256, "spread": 0.0, **self.settings}
        if self.connected is not None:
            more |= {"observer": self.connected, "channels": (self.connected.changed,)}
        return certificate_operator(CertificateOperatorSettings(**more))

    async def settle(self) -> Calls:
        """Run the operator until it rests."""
        self.running = self.running or self.operator()
        return await self.cluster.settle(self.running)

    async def advance(self, *, seconds: float = 0, minutes: float = 0, hours: float = 0) -> Calls:
        """Let time pass while it runs."""
        return await self.cluster.advance(seconds=seconds, minutes=minutes, hours=hours)

    async def restart(self) -> Calls:
        """Start it again with nothing in mind."""
        assert self.running is not None
        return await self.cluster.restart(self.running)

    async def until(self, phase: str, name: str = CA, minutes: int = 60 * 24) -> None:
        """Let time pass until a rotation is in a phase."""
        for _ in range(0, minutes, CLOSELY):
            if await self.phase(name) == phase:
                return
            await self.advance(minutes=CLOSELY)
        raise AssertionError(f"never {phase}: {await self.status(name)}")

    # Looking

    async def secret(self, name: str) -> JsonObject:
        """Return a Secret."""
        return await self.cluster.get(Secret, name)

    async def pair(self, name: str, crt: str = "tls.crt", key: str = "tls.key") -> CertifiedKey:
        """Return what a Secret holds."""
        data = (await self.secret(name))["data"]
        return read_pair(b64decode(data[crt]), b64decode(data[key]))

    async def bundle(self, name: str) -> list[Certificate]:
        """Return the authorities that a Secret names."""
        return pki.read_bundle(b64decode((await self.secret(name))["data"]["ca.crt"]))

    async def anchors(self, name: str) -> set[str]:
        """Return their fingerprints."""
        return {fingerprint(one) for one in await self.bundle(name)}

    async def status(self, name: str) -> JsonObject:
        """Return the status of a certificate."""
        return (await self.cluster.get(DSC, name)).get("status") or {}

    async def condition(self, name: str, type_: str = "Ready") -> str:
        """Return a condition: ``True/CertificateIssued``; empty if there is none."""
        for one in (await self.status(name)).get("conditions", ()):
            if one["type"] == type_:
                return f"{one['status']}/{one['reason']}"
        return ""

    async def message(self, name: str, type_: str = "Ready") -> str:
        """Return the message of a condition."""
        for one in (await self.status(name)).get("conditions", ()):
            if one["type"] == type_:
                return str(one["message"])
        return ""

    async def phase(self, name: str = CA) -> str:
        """Return how far the rotation of an authority is."""
        return str(((await self.status(name)).get("rotation") or {}).get("phase", ""))

    async def events(self, name: str = "") -> list[str]:
        """Return the reasons of the events about a certificate, in their order."""
        found = (await self.cluster.client.list(Event)).items
        about = [one for one in found if name in {"", one["regarding"]["name"]}]
        return [one["reason"] for one in sorted(about, key=lambda one: str(one["eventTime"]))]

    async def exists(self, name: str) -> bool:
        """Return whether there is such a Secret."""
        try:
            await self.secret(name)
        except NotFound:
            return False
        return True

    @property
    def now(self) -> datetime:
        """The time."""
        return self.cluster.clock.now()

    def jump(self, **by: float) -> None:
        """Set the wall clock."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop.clock.jump(timedelta(**by))


def writes(calls: Calls) -> list[str]:
    """Return what was written, without Events."""
    return [
        f"{call.verb} {call.resource.kind}"
        for call in calls
        if call.resource is not None
        and call.verb in {"create", "update", "patch", "delete"}
        and call.resource.kind != "Event"
    ]


@pytest.fixture
def certifying(embedded_cluster: EmbeddedCluster) -> Certifying:
    return Certifying(embedded_cluster)
