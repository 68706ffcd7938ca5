"""From a Certificate through cert-manager and our issuers to a real authority and back."""

from typing import Any

import pytest
from tests.integration.issuers.conftest import Cfssl

from certwright import pki
from certwright.issuers.acme import acme_issuer
from certwright.issuers.cfssl import app as cfssl_app
from certwright.issuers.selfsigned import app as selfsigned_app
from certwright.pki.certificates import alternative_names
from certwright.testkit import RealCluster

pytestmark = pytest.mark.timeout(120)


async def test_cfssl_signs_a_certificate(certified: Any, cfssl: Cfssl) -> None:
    chain, key, authority = await certified(cfssl_app, {"url": cfssl.url})
    pki.check_key_pair(chain.leaf, key)
    assert pki.read_bundle(authority) == [cfssl.root.certificate]


async def test_a_certificate_is_signed_with_its_own_key(certified: Any) -> None:
    chain, key, _ = await certified(selfsigned_app, {})
    pki.check_key_pair(chain.leaf, key)
    chain.leaf.verify_directly_issued_by(chain.leaf)


async def test_acme_signs_a_certificate(
    cert_manager_cluster: RealCluster, certified: Any, pebble: Any, responder: Any
) -> None:
    account = pki.write_key(pki.generate_key(pki.KeySpec())).decode()
    await cert_manager_cluster.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "account"},
            "stringData": {"key": account},
        }
    )
    spec = {
        "directory": pebble.directory,
        "caBundle": pebble.trusted,
        "accountKey": {"name": "account", "key": "key"},
    }
    chain, key, _ = await certified(acme_issuer(responder), spec)
    pki.check_key_pair(chain.leaf, key)
    assert alternative_names(chain.leaf).dns == ("web.example.com",)
    assert len(chain.certificates) == 2, "Pebble signs with an intermediate"
