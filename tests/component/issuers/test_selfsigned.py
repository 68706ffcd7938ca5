"""Requests signed with their own key."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from tests.component.issuers.conftest import World

from certwright import pki
from certwright.api.certmanager import PRIVATE_KEY_SECRET
from certwright.issuers.selfsigned import app
from certwright.testkit import Cluster, EmbeddedCluster

NAMED = {PRIVATE_KEY_SECRET: "key"}


@pytest.fixture
async def selfsigned(cluster: Cluster, world_of: Callable[..., Awaitable[Any]]) -> World:
    working = await world_of(cluster, app)
    await working.issuer()
    value: World = working
    return value


@pytest.mark.parametrize(("algorithm", "size"), [("ECDSA", 256), ("RSA", 2048), ("Ed25519", 0)])
async def test_openssl_believes_a_certificate_that_trusts_itself(
    selfsigned: World, openssl: Callable[..., Any], algorithm: str, size: int
) -> None:
    key = pki.generate_key(pki.KeySpec(pki.KeyAlgorithm(algorithm), size))
    csr = pki.write_request(
        pki.build_request(
            key, pki.parse_name("CN=root"), is_ca=True, usages=pki.parse_usages(["cert sign"])
        )
    )
    await selfsigned.secret("key", tls_key=pki.write_key(key))
    status = await selfsigned.request("cr", csr, annotations=NAMED, isCA=True, usages=["cert sign"])
    assert status.certificate == status.ca
    certificate = pki.read_certificate(status.certificate)
    pki.check_key_pair(certificate, key)
    now = selfsigned.cluster.clock.now()
    assert openssl(status.certificate, status.certificate, now) == "OK"


async def test_another_key_is_refused_for_good(selfsigned: World, csr: bytes) -> None:
    await selfsigned.secret("key", tls_key=pki.write_key(pki.generate_key(pki.KeySpec())))
    await selfsigned.request("cr", csr, annotations=NAMED)
    ready = await selfsigned.ready("cr")
    assert ready.reason == "Failed"
    assert "the private key is not the one that the request was made with" in ready.message


async def test_a_request_that_names_no_key_is_refused_for_good(
    selfsigned: World, csr: bytes
) -> None:
    await selfsigned.request("cr", csr)
    ready = await selfsigned.ready("cr")
    assert ready.reason == "Failed"
    assert PRIVATE_KEY_SECRET in ready.message


async def test_a_key_that_comes_later_is_waited_for(
    embedded_cluster: EmbeddedCluster,
    world_of: Callable[..., Awaitable[Any]],
    csr: bytes,
    leaf_key: EllipticCurvePrivateKey,
) -> None:
    working = await world_of(embedded_cluster, app)
    await working.issuer()
    await working.request("cr", csr, annotations=NAMED)
    assert (await working.ready("cr")).reason == "Pending"
    await working.secret("key", tls_key=pki.write_key(leaf_key))
    await embedded_cluster.advance(minutes=2)
    assert (await working.ready("cr")).reason == "Issued"
