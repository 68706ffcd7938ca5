"""Does the issuer conform, with its authority behind a socket?"""

from datetime import timedelta
from typing import ClassVar

import pytest

from certwright.issuer.conformance import Feature, IssuerConformance
from certwright.kube import JsonObject
from certwright.testkit import Cluster
from remote import app, authority


@pytest.mark.real_time  # in virtual time there are no sockets
class TestRemoteIssuer(IssuerConformance):
    app = app
    glance = timedelta(seconds=0.2)  # how long to watch where nothing should happen
    unsupported: ClassVar = {
        Feature.ACME_RENEWAL_INFORMATION: "this is not ACME",
        Feature.KUBERNETES_CSRS: "only cert-manager asks it",
    }

    async def prepare(self, cluster: Cluster) -> JsonObject:
        return {"url": await cluster.enter(authority())}
