"""Requests signed with their own key."""

import pytest

from certwright import pki
from certwright.api.certmanager import PRIVATE_KEY_SECRET
from certwright.issuers.selfsigned import app

NAMED = {PRIVATE_KEY_SECRET: "key"}


@pytest.fixture
async def selfsigned(cluster, world_of):
    working = await world_of(cluster, app)
    await working.issuer()
    return working


@pytest.mark.parametrize(("algorithm", "size"), [("ECDSA", 256), ("RSA", 2048), ("Ed25519", 0)])
async def test_openssl_believes_a_certificate_that_trusts_itself(
    selfsigned, openssl, algorithm, size
):
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


async def test_another_key_is_refused_for_good(selfsigned, csr):
    await selfsigned.secret("key", tls_key=pki.write_key(pki.generate_key(pki.KeySpec())))
    await selfsigned.request("cr", csr, annotations=NAMED)
    ready = await selfsigned.ready("cr")
    assert ready.reason == "Failed"
    assert "the private key is not the one that the request was made with" in ready.message


async def test_a_request_that_names_no_key_is_refused_for_good(selfsigned, csr):
    await selfsigned.request("cr", csr)
    ready = await selfsigned.ready("cr")
    assert ready.reason == "Failed"
    assert PRIVATE_KEY_SECRET in ready.message


async def test_a_key_that_comes_later_is_waited_for(embedded_cluster, world_of, csr, leaf_key):
    working = await world_of(embedded_cluster, app)
    await working.issuer()
    await working.request("cr", csr, annotations=NAMED)
    assert (await working.ready("cr")).reason == "Pending"
    await working.secret("key", tls_key=pki.write_key(leaf_key))
    await embedded_cluster.advance(minutes=2)
    assert (await working.ready("cr")).reason == "Issued"
