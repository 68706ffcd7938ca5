"""Certificates as people write them, and waiting for what cert-manager makes of them."""

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from certwright import pki
from certwright.api.certmanager import (
    Certificate,
    CertificateRequest,
    CertificateRequestSpec,
    CertificateSpec,
    IssuerRef,
    PrivateKeyOptions,
)
from certwright.client import Client, connect
from certwright.clock import SYSTEM
from certwright.issuer import IssuerApp
from certwright.issuers.ca import app as ca
from certwright.kube import JsonObject, Object, ObjectMeta
from certwright.kube.kinds import Secret
from certwright.runtime import Manager, Operator
from certwright.testkit import RealCluster
from certwright.testkit.certmanager import CertManager
from certwright.testkit.controlplane import ControlPlane
from certwright.testkit.real import shared

SECONDS = 40


@pytest.fixture
def make_certificate(cert_manager_cluster: RealCluster):
    """Write a Certificate; what is not said is an EC key and a name of its own."""

    async def make(name: str, issuer: IssuerRef, **spec) -> Certificate:
        spec.setdefault("private_key", PrivateKeyOptions(algorithm="ECDSA"))
        spec.setdefault("dns_names", [f"{name}.example.com"])
        wanted = CertificateSpec(secret_name=f"{name}-tls", issuer_ref=issuer, **spec)
        return await cert_manager_cluster.create(
            Certificate(metadata=ObjectMeta(name=name), spec=wanted)
        )

    return make


@pytest.fixture
def make_request(cert_manager_cluster: RealCluster):
    """Write a CertificateRequest for an EC key, as whoever *client* is."""

    async def make(name: str, issuer: IssuerRef, client=None) -> CertificateRequest:
        key = pki.generate_key(pki.KeySpec())
        names = pki.AlternativeNames.of_hosts(f"{name}.example.com")
        csr = pki.build_request(key, pki.distinguished_name(), names)
        metadata = ObjectMeta(name=name, namespace=cert_manager_cluster.namespace)
        spec = CertificateRequestSpec(request=pki.write_request(csr), issuer_ref=issuer)
        asked = CertificateRequest(metadata=metadata, spec=spec)
        return await (client or cert_manager_cluster.client).create(asked)

    return make


@pytest.fixture
def until(cert_manager_cluster: RealCluster):
    """Wait until an object is as wanted; what it was at last is told when it never is."""

    async def wait(kind: type[Object], name: str, wanted: Callable[[Object], bool]):
        seen = None
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
def ready():
    """Whether a Certificate is Ready and nothing more is to come."""

    def judge(certificate: Certificate, revision: int = 1) -> bool:
        found = {one.type: one.status for one in certificate.status.conditions}
        is_done = found.get("Ready") == "True" and found.get("Issuing") != "True"
        return is_done and (certificate.status.revision or 0) >= revision

    return judge


@pytest.fixture
def key_pair(cert_manager_cluster: RealCluster):
    """Read what cert-manager stored for a Certificate: chain, key, authority."""

    async def read(name: str) -> tuple[pki.Chain, pki.PrivateKey, bytes]:
        secret = await cert_manager_cluster.get(Secret, f"{name}-tls")
        data = {key: b64decode(value) for key, value in secret["data"].items()}
        return pki.read_chain(data["tls.crt"]), pki.read_key(data["tls.key"]), data["ca.crt"]

    return read


@pytest.fixture(scope="session")
def ca_service(cert_manager: CertManager) -> Iterator[None]:
    """The shipped CA issuer, at work in the cluster for the whole session."""
    with shared(lambda: installed(cert_manager.plane, ca)):
        yield


@asynccontextmanager
async def installed(plane: ControlPlane, app: IssuerApp) -> AsyncIterator[None]:
    """Install an app for good and run it; kinds that came and went would confuse the webhook."""
    async with connect(kubeconfig=plane.kubeconfig) as client:
        for manifest in [*app.crds(), *approval(app)]:
            await client.apply(manifest, field_manager="test")
        async with working(client, app.operator):
            yield


@asynccontextmanager
async def working(client: Client, *parts: Operator) -> AsyncIterator[None]:
    """Run controllers in this process."""
    manager = Manager(client, parts)
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run())
        try:
            yield
        finally:
            manager.stop()


def approval(app: IssuerApp) -> list[JsonObject]:
    """Let cert-manager approve requests for an app's kinds."""
    name = f"cert-manager-controller-approve:{app.kind.lower()}"
    api = "rbac.authorization.k8s.io"
    signers = [f"{kind.resource.plural}.{kind.resource.group}/*" for kind in app.kinds]
    rule = {
        "apiGroups": ["cert-manager.io"],
        "resources": ["signers"],
        "resourceNames": signers,
        "verbs": ["approve"],
    }
    subject = {"kind": "ServiceAccount", "name": "cert-manager", "namespace": "cert-manager"}
    meta = {"apiVersion": f"{api}/v1", "metadata": {"name": name}}
    bound = {"apiGroup": api, "kind": "ClusterRole", "name": name}
    return [
        {**meta, "kind": "ClusterRole", "rules": [rule]},
        {**meta, "kind": "ClusterRoleBinding", "roleRef": bound, "subjects": [subject]},
    ]


@pytest.fixture
def run_app(cert_manager: CertManager):
    """Install and run an app of the test's own; it stays installed."""
    return lambda app: installed(cert_manager.plane, app)


@pytest.fixture
async def ca_issuer(ca_service: None, cert_manager_cluster: RealCluster) -> IssuerRef:
    """An issuer in the test's namespace."""
    return await made_issuer(cert_manager_cluster, ca.namespaced_kind, "ca")


@pytest.fixture
async def ca_cluster_issuer(ca_service: None, cert_manager_cluster: RealCluster) -> IssuerRef:
    """A cluster-wide issuer, its Secret where such issuers look."""
    name = f"ca-{cert_manager_cluster.namespace}"
    return await made_issuer(cert_manager_cluster, ca.cluster_kind, name)


async def made_issuer(cluster: RealCluster, kind: type[Object], name: str) -> IssuerRef:
    resource = kind.resource
    namespace = cluster.namespace if resource.namespaced else "default"
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
