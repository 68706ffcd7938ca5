"""A cluster on which the shipped issuers work, in virtual time or on the real control plane."""

import subprocess
from base64 import b64encode
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from certwright import pki
from certwright.api.certmanager import CertificateRequest, CertificateRequestStatus
from certwright.issuer import IssuerApp
from certwright.issuer.kinds import IssuerCondition
from certwright.kube import Object, find_condition, format_time
from certwright.testkit import Calls, EmbeddedCluster


class World:
    """An app at work, and what people do with it."""

    def __init__(self, cluster: EmbeddedCluster, app: IssuerApp[Any]) -> None:
        self.cluster = cluster
        self.app = app

    async def secret(self, name: str, **data: bytes) -> None:
        """Create or replace a Secret; dots are written as underscores."""
        values = {key.replace("_", "."): b64encode(value).decode() for key, value in data.items()}
        await self.cluster.apply(
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": values}
        )

    @property
    def kind(self) -> type[Object]:
        assert self.app.namespaced_kind is not None
        return self.app.namespaced_kind

    async def issuer(self, name: str = "it", **spec: Any) -> None:
        kind = self.kind.resource
        await self.cluster.apply(
            {
                "apiVersion": f"{kind.group}/{kind.version}", "kind": kind.kind,
                "metadata": {"name": name}, "spec": spec,
            }
        )  # fmt: skip
        await self.settle()

    async def request(
        self, name: str, csr: bytes, *, annotations: dict[str, str] | None = None, **spec: Any
    ) -> CertificateRequestStatus:
        """Make a request, have it approved, and return what became of it."""
        kind = self.kind.resource
        await self.cluster.create(
            {
                "apiVersion": "cert-manager.io/v1", "kind": "CertificateRequest",
                "metadata": {"name": name, "annotations": annotations or {}},
                "spec": {
                    "request": b64encode(csr).decode(),
                    "issuerRef": {"name": "it", "kind": kind.kind, "group": kind.group}, **spec,
                },
            }
        )  # fmt: skip
        condition = {
            "type": "Approved", "status": "True", "reason": "Tested", "message": "by a test",
            "lastTransitionTime": format_time(self.cluster.clock.now()),
        }  # fmt: skip
        await self.cluster.client.apply(
            {
                "apiVersion": "cert-manager.io/v1", "kind": "CertificateRequest",
                "metadata": {"name": name, "namespace": self.cluster.namespace},
                "status": {"conditions": [condition]},
            },
            subresource="status", field_manager="approver",
        )  # fmt: skip
        await self.settle()
        return await self.status(name)

    async def settle(self) -> Calls:
        return await self.cluster.settle(self.app.operator)

    async def status(self, name: str) -> CertificateRequestStatus:
        return (await self.cluster.get(CertificateRequest, name)).status

    async def ready(self, name: str) -> Any:
        return find_condition((await self.status(name)).conditions, "Ready")

    async def issuer_ready(self) -> IssuerCondition:
        found: Any = await self.cluster.get(self.kind, "it")
        value: IssuerCondition = next(one for one in found.status.conditions if one.type == "Ready")
        return value


@pytest.fixture
def world_of() -> Callable[..., Awaitable[Any]]:
    """``await world_of(cluster, app)``: have the cluster know cert-manager's requests."""

    async def make(cluster: EmbeddedCluster, app: IssuerApp[Any]) -> World:
        await cluster.serve(CertificateRequest, *app.kinds)
        return World(cluster, app)

    return make


@pytest.fixture(scope="session")
def leaf_key() -> pki.PrivateKey:
    return pki.generate_key(pki.KeySpec())


@pytest.fixture(scope="session")
def csr(leaf_key: EllipticCurvePrivateKey) -> bytes:
    names = pki.AlternativeNames.of_hosts("web.example.com")
    return pki.write_request(pki.build_request(leaf_key, pki.parse_name("CN=web"), names))


@pytest.fixture
def openssl(tmp_path: Path) -> Callable[..., Any]:
    """``openssl(root, chain, now)``: what OpenSSL says about a chain, leaf first."""

    def verify(root: bytes, chain: bytes, now: datetime) -> str:
        (tmp_path / "root.pem").write_bytes(root)
        (tmp_path / "chain.pem").write_bytes(chain)
        asked = [
            "openssl", "verify", "-x509_strict", "-check_ss_sig",
            "-attime", str(int(now.timestamp())), "-CAfile", "root.pem",
            "-untrusted", "chain.pem", "chain.pem",
        ]  # fmt: skip
        done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)
        return "OK" if done.returncode == 0 else done.stdout + done.stderr

    return verify
