"""Certificates that name our issuers, from the first issuance to the next."""

from functools import partial
from typing import Any

import pytest

from certwright import pki
from certwright.api.certmanager import Certificate, IssuerRef, PrivateKeyOptions
from certwright.clock import SYSTEM
from certwright.kube.kinds import Secret
from certwright.pki.certificates import alternative_names
from certwright.pki.keys import public_key_bytes
from certwright.testkit import RealCluster

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(params=["ca_issuer", "ca_cluster_issuer"])
def issuer(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


async def test_a_certificate_becomes_ready(
    issuer: Any, make_certificate: Any, until: Any, ready: Any, key_pair: Any
) -> None:
    await make_certificate("web", issuer)
    await until(Certificate, "web", ready)
    chain, key, authority = await key_pair("web")
    pki.check_key_pair(chain.leaf, key)
    trusted = pki.read_certificates(authority)
    pki.verify_path(chain.leaf, roots=trusted, now=SYSTEM.now())
    assert alternative_names(chain.leaf).dns == ("web.example.com",)


async def test_a_signing_request_of_kubernetes_is_answered(
    issuer: IssuerRef, signed_for_kubernetes: Any
) -> None:
    chain = await signed_for_kubernetes("csr", issuer, namespaced=issuer.kind == "CAIssuer")
    assert alternative_names(chain.leaf).dns == ("csr.example.com",)


async def test_a_certificate_is_renewed_before_it_expires(
    cert_manager_cluster: RealCluster,
    ca_issuer: IssuerRef,
    make_certificate: Any,
    until: Any,
    ready: Any,
    key_pair: Any,
) -> None:
    """One hour, of which five minutes are back-dated, to be renewed 54:57 before the end."""
    await make_certificate("brief", ca_issuer, duration="1h", renew_before="54m57s")
    await until(Certificate, "brief", ready)
    first, _, _ = await key_pair("brief")
    seen = (await cert_manager_cluster.get(Certificate, "brief")).status.revision
    await until(Certificate, "brief", partial(ready, revision=(seen or 0) + 1))
    second, key, _ = await key_pair("brief")
    assert second.leaf.serial_number != first.leaf.serial_number
    pki.check_key_pair(second.leaf, key)


async def test_a_certificate_survives_another_kind_of_key(
    cert_manager_cluster: RealCluster,
    ca_issuer: IssuerRef,
    make_certificate: Any,
    until: Any,
    ready: Any,
    key_pair: Any,
) -> None:
    await make_certificate("rekeyed", ca_issuer)
    await until(Certificate, "rekeyed", ready)
    _, first, _ = await key_pair("rekeyed")
    patch = {"spec": {"privateKey": {"algorithm": "RSA", "size": 2048, "rotationPolicy": "Always"}}}
    await cert_manager_cluster.patch(Certificate, "rekeyed", patch)
    await until(Certificate, "rekeyed", partial(ready, revision=2))
    chain, second, _ = await key_pair("rekeyed")
    assert pki.key_spec(first).algorithm is pki.KeyAlgorithm.ECDSA
    assert pki.key_spec(second).algorithm is pki.KeyAlgorithm.RSA
    pki.check_key_pair(chain.leaf, second)


async def test_a_lost_certificate_is_issued_again_for_the_same_key(
    cert_manager_cluster: RealCluster,
    ca_issuer: IssuerRef,
    make_certificate: Any,
    until: Any,
    ready: Any,
    key_pair: Any,
) -> None:
    options = PrivateKeyOptions(algorithm="ECDSA", rotation_policy="Never")
    await make_certificate("lost", ca_issuer, private_key=options)
    await until(Certificate, "lost", ready)
    first, kept, _ = await key_pair("lost")
    await cert_manager_cluster.patch(Secret, "lost-tls", {"data": {"tls.crt": ""}})
    await until(Certificate, "lost", partial(ready, revision=2))
    second, key, _ = await key_pair("lost")
    assert public_key_bytes(key.public_key()) == public_key_bytes(kept.public_key())
    assert second.leaf.serial_number != first.leaf.serial_number


async def test_another_name_is_another_certificate(
    cert_manager_cluster: RealCluster,
    ca_issuer: IssuerRef,
    make_certificate: Any,
    until: Any,
    ready: Any,
    key_pair: Any,
) -> None:
    await make_certificate("growing", ca_issuer)
    await until(Certificate, "growing", ready)
    names = ["growing.example.com", "more.example.com"]
    await cert_manager_cluster.patch(Certificate, "growing", {"spec": {"dnsNames": names}})
    await until(Certificate, "growing", partial(ready, revision=2))
    chain, _, _ = await key_pair("growing")
    assert set(alternative_names(chain.leaf).dns) == set(names)
