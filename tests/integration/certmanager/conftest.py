"""Certificates as people write them, and waiting for what cert-manager makes of them."""

import asyncio
from collections.abc import Callable

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
from certwright.kube import Key, Object, ObjectMeta
from certwright.testkit import RealCluster

SECONDS = 40


@pytest.fixture
def make_certificate(cert_manager_cluster: RealCluster):
    """Write a Certificate; what is not said is an EC key and a name of its own."""

    async def make(name: str, issuer: IssuerRef, **spec) -> Certificate:
        options = spec.pop("private_key", None) or PrivateKeyOptions(algorithm="ECDSA")
        spec.setdefault("dns_names", [f"{name}.example.com"])
        return await cert_manager_cluster.create(
            Certificate(
                metadata=ObjectMeta(name=name),
                spec=CertificateSpec(
                    secret_name=f"{name}-tls", issuer_ref=issuer, private_key=options, **spec
                ),
            )
        )

    return make


@pytest.fixture
def make_request(cert_manager_cluster: RealCluster):
    """Write a CertificateRequest for an EC key, as whoever *client* is."""

    async def make(name: str, issuer: IssuerRef, client=None) -> CertificateRequest:
        key = pki.generate_key(pki.KeySpec())
        csr = pki.build_request(
            key, pki.distinguished_name(""), pki.AlternativeNames.of_hosts(f"{name}.example.com")
        )
        metadata = ObjectMeta(name=name, namespace=cert_manager_cluster.namespace)
        spec = CertificateRequestSpec(request=pki.write_request(csr), issuer_ref=issuer)
        asked = CertificateRequest(metadata=metadata, spec=spec)
        return await (client or cert_manager_cluster.client).create(asked)

    return make


@pytest.fixture
def until(cert_manager_cluster: RealCluster):
    """Wait until an object is as wanted; what it was at last is told when it never is."""

    async def wait(kind: type[Object], name: str, wanted: Callable[[Object], bool]):
        key = Key(cert_manager_cluster.namespace, name)
        seen = None
        try:
            async with asyncio.timeout(SECONDS):
                while True:
                    seen = await cert_manager_cluster.client.get(kind, key)
                    if wanted(seen):
                        return seen
                    await asyncio.sleep(0.05)
        except TimeoutError:
            pytest.fail(f"{kind.__name__} {key} after {SECONDS} s: {seen and seen.status}")

    return wait


@pytest.fixture
def ready():
    """Whether a Certificate is Ready and nothing more is to come."""

    def judge(certificate: Certificate) -> bool:
        found = {one.type: one.status for one in certificate.status.conditions}
        return found.get("Ready") == "True" and found.get("Issuing") != "True"

    return judge
