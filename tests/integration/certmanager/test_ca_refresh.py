"""A rotated authority, with the real cert-manager: its leaves are issued anew, and keep serving."""

from functools import partial
from typing import Any

import pytest

from certwright import pki
from certwright.api.certmanager import Certificate, IssuerRef
from certwright.kube import JsonObject
from certwright.kube.kinds import Secret
from certwright.operators.rollout.carefresh.operator import ca_refresh
from certwright.pki.chains import is_issued_by
from certwright.testkit import RealCluster

pytestmark = pytest.mark.timeout(120)


def issuer(name: str, spec: JsonObject) -> JsonObject:
    metadata = {"name": name}
    return {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Issuer",
        "metadata": metadata,
        "spec": spec,
    }


async def test_leaves_of_a_rotated_authority_are_issued_anew(
    cert_manager_cluster: RealCluster, make_certificate: Any, until: Any, ready: Any, key_pair: Any
) -> None:
    cluster = cert_manager_cluster
    await cluster.create(issuer("selfsigned", {"selfSigned": {}}))
    await cluster.create(issuer("root", {"ca": {"secretName": "root-tls"}}))
    await cluster.create(
        {
            "apiVersion": "cert-manager.io/v1",
            "kind": "Certificate",
            "metadata": {
                "name": "root",
                "annotations": {"rollout.certwright.dev/refresh-leaves": "true"},
            },
            "spec": {
                "isCA": True,
                "commonName": "root",
                "secretName": "root-tls",
                "issuerRef": {"name": "selfsigned"},
                "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
            },
        }
    )
    await until(Certificate, "root", ready)
    await make_certificate("web", IssuerRef("root", "Issuer", "cert-manager.io"))
    await until(Certificate, "web", ready)
    await cluster.settle(ca_refresh())
    before = await cluster.get(Secret, "web-tls")
    # As `cmctl renew root`.
    root = await cluster.get(Certificate.resource, "root")
    renew = {"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "m"}
    conditions = [*root["status"]["conditions"], renew]
    await cluster.patch(
        Certificate, "root", {"status": {"conditions": conditions}}, subresource="status"
    )
    await until(Certificate, "root", partial(ready, revision=2))
    await until(Certificate, "web", partial(ready, revision=2))
    chain, key, _ = await key_pair("web")
    pki.check_key_pair(chain.leaf, key)
    authority, _, _ = await key_pair("root")
    assert is_issued_by(chain.leaf, authority.leaf)
    after = await cluster.get(Secret, "web-tls")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    calls = await cluster.settle()
    assert not calls.of("Secret").writes
    revision = (await cluster.get(Certificate, "web")).status.revision
    assert revision == 2
