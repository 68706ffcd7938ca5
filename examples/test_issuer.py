"""Does the issuer conform? Every case of the kit becomes a test."""

from datetime import timedelta
from typing import ClassVar

from certwright import pki
from certwright.issuer.conformance import Feature, IssuerConformance
from certwright.testkit import Cluster
from issuer import app


class TestDemoIssuer(IssuerConformance):
    app = app
    spec: ClassVar = {"ca": {"name": "ca"}}
    unsupported: ClassVar = {Feature.ACME_RENEWAL_INFORMATION: "this is not ACME"}

    async def prepare(self, cluster: Cluster) -> None:
        name, key = pki.parse_name("CN=Demo CA"), pki.generate_key(pki.KeySpec())
        root = pki.create_root(name, key, timedelta(days=3650), cluster.clock.now())
        certificate, pem = pki.write_certificates(root.certificate), pki.write_key(key)
        data = {"tls.crt": certificate.decode(), "tls.key": pem.decode()}
        await cluster.create(
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ca"}, "stringData": data}
        )
