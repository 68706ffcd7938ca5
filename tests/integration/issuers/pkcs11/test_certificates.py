"""From a Certificate through cert-manager to a key that never leaves its token."""

from typing import Any

import pytest

from certwright import pki
from certwright.testkit import RealCluster

pytestmark = pytest.mark.timeout(120)


async def test_a_key_in_a_token_signs_a_certificate(
    cert_manager_cluster: RealCluster, certified: Any, hsm_app: Any, hsm_spec: Any, pin_secret: Any
) -> None:
    await cert_manager_cluster.create(pin_secret())
    spec = hsm_spec()
    chain, key, authority = await certified(hsm_app, spec)
    pki.check_key_pair(chain.leaf, key)
    assert pki.read_bundle(authority) == pki.read_bundle(spec["certificates"].encode())
