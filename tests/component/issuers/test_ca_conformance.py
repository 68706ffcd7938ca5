"""The shipped authority does everything that cert-manager's suite asks of an issuer."""

from datetime import timedelta
from typing import ClassVar

import pytest

from certwright import pki
from certwright.api.certmanager import CertificateRequest
from certwright.issuer.conformance import Feature, IssuerConformance
from certwright.issuers.ca import app
from certwright.kube import crd_manifest
from certwright.kube.kinds import CustomResourceDefinition
from certwright.testkit import EmbeddedCluster

KEY = pki.generate_key(pki.KeySpec())


@pytest.mark.scenario("ISS-98")
class TestCa(IssuerConformance):
    app = app
    spec: ClassVar = {"authorities": [{"name": "ca"}]}
    unsupported: ClassVar = {Feature.ACME_RENEWAL_INFORMATION: "no ACME here"}

    async def prepare(self, cluster: EmbeddedCluster) -> None:
        if (
            await cluster.find(CustomResourceDefinition, CertificateRequest.resource.qualified)
            is None
        ):
            await cluster.install(crd_manifest(CertificateRequest))
        root = pki.create_root(
            pki.parse_name("CN=Conformance CA"), KEY, timedelta(days=3650), cluster.clock.now()
        )
        secret = {
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ca"},
            "stringData": {
                "tls.crt": pki.write_certificates(root.certificate).decode(),
                "tls.key": pki.write_key(KEY).decode(),
            },
        }  # fmt: skip
        await cluster.create(secret)
