"""The shipped self-signing issuer, with private keys in Secrets as cert-manager keeps them."""

from typing import ClassVar

import pytest

from certwright.issuer.conformance import Feature, IssuerConformance
from certwright.issuers.selfsigned import app
from certwright.testkit import EmbeddedCluster


class TestSelfSigned(IssuerConformance):
    app = app
    key_secrets = True
    unsupported: ClassVar = {
        Feature.ACME_RENEWAL_INFORMATION: "no ACME here",
        Feature.KUBERNETES_CSRS: "nothing trustworthy says where their key is",
    }

    @pytest.fixture
    def cluster(self, embedded_cluster: EmbeddedCluster) -> EmbeddedCluster:
        return embedded_cluster
