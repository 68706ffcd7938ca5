"""From a Certificate through cert-manager and our issuers to a real authority and back."""

from typing import Any, cast

import pytest
from tests.integration.issuers.conftest import Cfssl

from certwright import pki
from certwright.api.certmanager import Certificate, IssuerRef
from certwright.issuers.acme import acme_issuer
from certwright.issuers.cfssl import app as cfssl_app
from certwright.issuers.selfsigned import app as selfsigned_app
from certwright.kube import JsonObject, Key, Object
from certwright.kube.kinds import Secret
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


def account(name: str, **metadata: str) -> JsonObject:
    key = pki.write_key(pki.generate_key(pki.KeySpec())).decode()
    kind = {"apiVersion": "v1", "kind": "Secret"}
    return {**kind, "metadata": {"name": name, **metadata}, "stringData": {"key": key}}


def acme_spec(pebble: Any, secret: str) -> JsonObject:
    return {
        "directory": pebble.directory,
        "caBundle": pebble.trusted,
        "accountKey": {"name": secret, "key": "key"},
    }


async def test_acme_signs_a_certificate(
    cert_manager_cluster: RealCluster, certified: Any, pebble: Any, responder: Any
) -> None:
    await cert_manager_cluster.create(account("account"))
    chain, key, _ = await certified(acme_issuer(responder), acme_spec(pebble, "account"))
    pki.check_key_pair(chain.leaf, key)
    assert alternative_names(chain.leaf).dns == ("web.example.com",)
    assert len(chain.certificates) == 2, "Pebble signs with an intermediate"


async def test_acme_signs_for_the_whole_cluster(
    cert_manager_cluster: RealCluster, run_app: Any, make_certificate: Any, until: Any, ready: Any,
    signed_for_kubernetes: Any, pebble: Any, responder: Any,
) -> None:  # fmt: skip
    """Certificates, and Kubernetes' own requests; the Secret is where cluster issuers look."""
    cluster, app = cert_manager_cluster, acme_issuer(responder)
    kind = cast("type[Object]", app.cluster_kind).resource
    issuer = IssuerRef(f"acme-{cluster.namespace}", kind.kind, kind.group)
    await cluster.create(account(issuer.name, namespace="default"))
    async with run_app(app):
        await cluster.serve(*app.kinds)
        manifest = {"apiVersion": kind.api_version, "kind": kind.kind}
        spec = acme_spec(pebble, issuer.name)
        await cluster.create({**manifest, "metadata": {"name": issuer.name}, "spec": spec})
        await make_certificate("web", issuer)
        await until(Certificate, "web", ready)
        answer = await signed_for_kubernetes("csr", issuer, namespaced=False)
        assert alternative_names(answer.leaf).dns == ("csr.example.com",)
        await cluster.delete(kind, issuer.name)
    await cluster.client.delete(Secret, Key("default", issuer.name))
