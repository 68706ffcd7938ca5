"""Certificates as people write them, and waiting for what cert-manager makes of them.

Fixtures for tests beside the real cert-manager; a conftest imports those it needs.
"""

import asyncio
import sys
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from certwright import pki
from certwright.api.certificates import CertificateSigningRequest
from certwright.api.certmanager import (
    Certificate,
    CertificateRequest,
    CertificateRequestSpec,
    CertificateSpec,
    IssuerRef,
    PrivateKeyOptions,
)
from certwright.apiserver.http.kubeconfig import kubeconfig_with_token
from certwright.client import Client, connect, until_served
from certwright.clock import SYSTEM
from certwright.issuer import IssuerApp
from certwright.issuer.run.manifests import Installation, rbac_manifests
from certwright.issuers.ca import app as ca
from certwright.kube import GroupVersionKind, JsonObject, Key, Object, ObjectMeta, key_of
from certwright.kube.kinds import Secret, ServiceAccount
from certwright.runtime import Manager
from certwright.testkit import RealCluster
from certwright.testkit.certmanager import CertManager
from certwright.testkit.controlplane import ControlPlane
from certwright.testkit.controlplane.component import ServerProcess, running
from certwright.testkit.real import shared

SECONDS = 60


@pytest.fixture
def make_certificate(cert_manager_cluster: RealCluster) -> Any:
    """Write a Certificate; what is not said is an EC key and a name of its own."""

    async def make(name: str, issuer: IssuerRef, **spec: Any) -> Certificate:
        spec.setdefault("private_key", PrivateKeyOptions(algorithm="ECDSA"))
        spec.setdefault("dns_names", [f"{name}.example.com"])
        wanted = CertificateSpec(secret_name=f"{name}-tls", issuer_ref=issuer, **spec)
        return await cert_manager_cluster.create(
            Certificate(metadata=ObjectMeta(name=name), spec=wanted)
        )

    return make


@pytest.fixture
def make_request(cert_manager_cluster: RealCluster) -> Any:
    """Write a CertificateRequest for an EC key, as whoever *client* is."""

    async def make(name: str, issuer: IssuerRef, client: Any = None) -> CertificateRequest:
        key = pki.generate_key(pki.KeySpec())
        names = pki.AlternativeNames.of_hosts(f"{name}.example.com")
        csr = pki.build_request(key, pki.distinguished_name(), names)
        metadata = ObjectMeta(name=name, namespace=cert_manager_cluster.namespace)
        spec = CertificateRequestSpec(request=pki.write_request(csr), issuer_ref=issuer)
        asked = CertificateRequest(metadata=metadata, spec=spec)
        return await (client or cert_manager_cluster.client).create(asked)

    return make


@pytest.fixture
def until(cert_manager_cluster: RealCluster) -> Any:
    """Wait until an object is as wanted; what it was at last is told when it never is."""

    async def wait(kind: type[Object], name: str, wanted: Callable[[Object], bool]) -> Any:
        seen: Any = None
        try:
            async with asyncio.timeout(SECONDS):
                while seen is None or not wanted(seen):
                    await asyncio.sleep(0.05)
                    seen = await cert_manager_cluster.find(kind, name)
        except TimeoutError:
            pytest.fail(f"{kind.__name__} {name} after {SECONDS} s: {seen and seen.status}")
        return seen

    return wait


@pytest.fixture
def ready() -> Any:
    """Whether a Certificate is Ready and nothing more is to come."""

    def judge(certificate: Certificate, revision: int = 1) -> bool:
        found = {one.type: one.status for one in certificate.status.conditions}
        is_done = found.get("Ready") == "True" and found.get("Issuing") != "True"
        return is_done and (certificate.status.revision or 0) >= revision

    return judge


@pytest.fixture
def key_pair(cert_manager_cluster: RealCluster) -> Any:
    """Read what cert-manager stored for a Certificate: chain, key, authority."""

    async def read(name: str) -> tuple[pki.Chain, pki.PrivateKey, bytes]:
        secret = await cert_manager_cluster.get(Secret, f"{name}-tls")
        data = {key: b64decode(value) for key, value in secret["data"].items()}
        return (
            pki.read_chain(data["tls.crt"]),
            pki.read_key(data["tls.key"]),
            data.get("ca.crt", b""),
        )

    return read


@pytest.fixture
def signed_for_kubernetes(cert_manager_cluster: RealCluster, until: Any) -> Any:
    """Have a CertificateSigningRequest approved, and read the chain that answers it."""
    cluster = cert_manager_cluster

    async def signed(host: str, issuer: IssuerRef, *, namespaced: bool) -> pki.Chain:
        name = f"{host}-{cluster.namespace}"
        csr = pki.build_request(
            pki.generate_key(pki.KeySpec()),
            pki.distinguished_name(),
            pki.AlternativeNames(dns=(f"{host}.example.com",)),
        )
        place = f"{cluster.namespace}." if namespaced else ""
        made = await cluster.create(
            {
                "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
                "metadata": {"name": name},
                "spec": {
                    "request": b64encode(pki.write_request(csr)).decode(),
                    "signerName": f"{issuer.kind.lower()}s.{issuer.group}/{place}{issuer.name}",
                    "usages": ["digital signature", "server auth"],
                },
            }
        )  # fmt: skip
        approved = {"type": "Approved", "status": "True", "reason": "Tested", "message": "by it"}
        made["status"] = {"conditions": [approved]}
        await cluster.client.update(made, subresource="approval")
        found = await until(
            CertificateSigningRequest, name, lambda one: bool(cast("Any", one).status.certificate)
        )
        await cluster.delete(CertificateSigningRequest, name)
        return pki.read_chain(found.status.certificate)

    return signed


@dataclass(frozen=True)
class Service:
    """An issuer that is installed and at work, as the ServiceAccount of its generated roles."""

    namespace: str
    kubeconfig: Path
    """Of its ServiceAccount."""
    process: ServerProcess


@pytest.fixture(scope="session")
def ca_service(cert_manager: CertManager) -> Iterator[Service]:
    """The shipped CA issuer, at work in the cluster for the whole session."""
    with shared(lambda: service(cert_manager.plane, "certwright.issuers.ca")) as running_service:
        yield running_service


@pytest.fixture
def run_service(cert_manager: CertManager) -> Any:
    """Install and run a shipped issuer, without the manifests that *leave_out* picks."""
    return lambda module, leave_out: service(cert_manager.plane, module, leave_out)


@pytest.fixture
def say() -> Any:
    """Run a command of a shipped issuer; return what it printed."""
    return command


@asynccontextmanager
async def service(
    plane: ControlPlane, module: str, leave_out: Callable[[JsonObject], bool] = lambda _one: False
) -> AsyncIterator[Service]:
    """Install what an issuer's own commands print, and run it as the account they made."""
    name = module.rpartition(".")[2]
    account = Key(name, name)
    where = ["--name", name, "--namespace", name]
    printed = [*await manifests(module, "crds"), *await manifests(module, "rbac", *where)]
    async with connect(kubeconfig=plane.kubeconfig) as client:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for manifest in [namespace, *printed]:
            if not leave_out(manifest):
                await client.apply(manifest, field_manager="test")
        await served(client, printed)
        kubeconfig = await account_kubeconfig(client, plane, account)
    words: list[str | Path] = [
        sys.executable,
        "-m",
        module,
        "run",
        "--kubeconfig",
        kubeconfig,
        *where,
    ]
    async with running(name, words, plane.folder / f"{name}.log") as process:
        yield Service(name, kubeconfig, process)


async def served(client: Client, printed: list[JsonObject]) -> None:
    """Wait until the kinds that were installed answer."""
    for manifest in printed:
        if manifest["kind"] == "CustomResourceDefinition":
            await until_served(client, manifest)


async def manifests(module: str, *words: str) -> list[JsonObject]:
    code, out = await command(module, *words)
    assert code == 0, out
    return list(yaml.safe_load_all(out))


async def command(module: str, *words: str | Path) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *words,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode()


async def account_kubeconfig(client: Client, plane: ControlPlane, account: Key) -> Path:
    """Log in as a ServiceAccount, as a pod would: by a token."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    made = await client.create_subresource(ServiceAccount, account, "token", review)
    token = made["status"]["token"]
    path = plane.folder / f"{account.name}.kubeconfig"
    path.touch(mode=0o600)
    path.write_text(kubeconfig_with_token(plane.server, plane.authority.certificate, token))
    return path


@asynccontextmanager
async def installed(plane: ControlPlane, app: IssuerApp[Any]) -> AsyncIterator[None]:
    """Install an app and run it here.

    Its kinds stay: kinds that came and went would confuse the webhook. Its roles go, for others
    look at what happens without them.
    """
    kinds = [kind.resource for kind in app.kinds]
    name = app.kind.lower()
    where = Installation(name=name, namespace="default")
    roles = rbac_manifests(kinds, app.settings, where, uses_secrets=False)
    async with connect(kubeconfig=plane.kubeconfig) as client:
        for manifest in [*app.crds(), *roles]:
            await client.apply(manifest, field_manager="test")
        await served(client, app.crds())
        manager = Manager(client, [app.operator])
        async with asyncio.TaskGroup() as group:
            group.create_task(manager.run())
            try:
                yield
            finally:
                manager.stop()
        for manifest in roles:
            gvk = GroupVersionKind.parse(manifest["apiVersion"], manifest["kind"])
            await client.delete(await client.discovery.resource_for(gvk), key_of(manifest))


@pytest.fixture
def run_app(cert_manager: CertManager) -> Any:
    """Install and run an app of the test's own; its kinds stay."""
    return lambda app: installed(cert_manager.plane, app)


@pytest.fixture
def certified(
    cert_manager_cluster: RealCluster,
    run_app: Any,
    make_certificate: Any,
    until: Any,
    ready: Any,
    key_pair: Any,
) -> Any:
    """Run an app and have cert-manager obtain a certificate of one of its issuers."""

    async def obtain(
        app: IssuerApp[Any], spec: JsonObject
    ) -> tuple[pki.Chain, pki.PrivateKey, bytes]:
        resource, metadata = cast("type[Object]", app.namespaced_kind).resource, {"name": "tested"}
        kind = {"apiVersion": resource.api_version, "kind": resource.kind}
        async with run_app(app):
            await cert_manager_cluster.serve(*app.kinds)
            await cert_manager_cluster.create({**kind, "metadata": metadata, "spec": spec})
            await make_certificate("web", IssuerRef("tested", resource.kind, resource.group))
            await until(Certificate, "web", ready)
        pair: tuple[pki.Chain, pki.PrivateKey, bytes] = await key_pair("web")
        return pair

    return obtain


@pytest.fixture
async def ca_issuer(ca_service: Service, cert_manager_cluster: RealCluster) -> IssuerRef:
    """An issuer in the test's namespace."""
    return await made_issuer(
        cert_manager_cluster, cast("type[Object]", ca.namespaced_kind), "ca", ca_service
    )


@pytest.fixture
async def ca_cluster_issuer(ca_service: Service, cert_manager_cluster: RealCluster) -> IssuerRef:
    """A cluster-wide issuer, its Secret where such issuers look."""
    name = f"ca-{cert_manager_cluster.namespace}"
    return await made_issuer(
        cert_manager_cluster, cast("type[Object]", ca.cluster_kind), name, ca_service
    )


async def made_issuer(
    cluster: RealCluster, kind: type[Object], name: str, issued_by: Service
) -> IssuerRef:
    await cluster.serve(kind)
    resource = kind.resource
    namespace = cluster.namespace if resource.namespaced else issued_by.namespace
    await cluster.create(authority_secret(namespace, name))
    await cluster.create(
        {
            "apiVersion": f"{resource.group}/{resource.version}",
            "kind": resource.kind,
            "metadata": {"name": name},
            "spec": {"authorities": [{"name": name}]},
        }
    )
    return IssuerRef(name, resource.kind, resource.group)


def authority_secret(namespace: str, name: str) -> JsonObject:
    key = pki.generate_key(pki.KeySpec())
    subject = pki.distinguished_name(f"authority {name}")
    root = pki.create_root(subject, key, timedelta(days=3650), SYSTEM.now())
    data = {
        "tls.crt": pki.write_certificates(root.certificate).decode(),
        "tls.key": pki.write_key(key).decode(),
    }
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}
