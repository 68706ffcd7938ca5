"""From a Certificate through cert-manager to the stand-in of Vault and back."""

from typing import Any

import pytest
from tests.integration.issuers.vault.conftest import FakeVault

from certwright import pki
from certwright.issuers.vault import app
from certwright.testkit import RealCluster

pytestmark = pytest.mark.timeout(120)


async def test_vault_signs_a_certificate(
    cert_manager_cluster: RealCluster, certified: Any, vault: FakeVault, trusted: str
) -> None:
    await cert_manager_cluster.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "vault"},
            "stringData": {"token": vault.jwt},
        }
    )
    login = {"role": "issuer", "token": {"name": "vault", "key": "token"}}
    spec = {"server": vault.url, "path": "pki/sign/web", "caBundle": trusted, "kubernetes": login}
    chain, key, authority = await certified(app, spec)
    pki.check_key_pair(chain.leaf, key)
    assert len(chain.certificates) == 2, "the engine signs with an intermediate"
    assert pki.read_bundle(authority) == [vault.root.certificate]
    assert len(vault.orders) == 1
