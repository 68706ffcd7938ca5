"""From a Certificate through cert-manager and our issuers to a real authority and back."""

import pytest

from certwright import pki
from certwright.api.certmanager import Certificate, IssuerRef
from certwright.issuer import IssuerApp
from certwright.issuers.acme import acme_issuer
from certwright.issuers.cfssl import app as cfssl_app
from certwright.testkit import RealCluster

pytestmark = pytest.mark.timeout(120)


async def make_issuer(cluster: RealCluster, app: IssuerApp, spec: dict) -> IssuerRef:
    await cluster.serve(*app.kinds)
    resource = app.namespaced_kind.resource
    version = f"{resource.group}/{resource.version}"
    metadata = {"name": "tested"}
    await cluster.create(
        {"apiVersion": version, "kind": resource.kind, "metadata": metadata, "spec": spec}
    )
    return IssuerRef("tested", resource.kind, resource.group)


async def test_cfssl_signs_a_certificate(
    cert_manager_cluster: RealCluster, run_app, cfssl, make_certificate, until, ready, key_pair
):
    async with run_app(cfssl_app):
        issuer = await make_issuer(cert_manager_cluster, cfssl_app, {"url": cfssl.url})
        await make_certificate("web", issuer)
        await until(Certificate, "web", ready)
    chain, key, authority = await key_pair("web")
    pki.check_key_pair(chain.leaf, key)
    assert pki.read_bundle(authority) == [cfssl.root.certificate]


async def test_acme_signs_a_certificate(
    cert_manager_cluster: RealCluster, run_app, pebble, responder, make_certificate, until, ready,
    key_pair,
):  # fmt: skip
    app = acme_issuer(responder)
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
    async with run_app(app):
        issuer = await make_issuer(cert_manager_cluster, app, spec)
        await make_certificate("web", issuer)
        await until(Certificate, "web", ready)
    chain, key, _ = await key_pair("web")
    pki.check_key_pair(chain.leaf, key)
    assert pki.alternative_names(chain.leaf).dns == ("web.example.com",)
    assert len(chain.certificates) == 2, "Pebble signs with an intermediate"
