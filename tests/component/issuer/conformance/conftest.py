"""Issuers put to work, the sound one and the faulty ones."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.component.issuer.conformance.bare import GROUP, Bare, BareIssuer

from certwright.issuer.conformance import IssuerUnderTest
from certwright.kube import Key, Object
from certwright.testkit import Cluster


@pytest.fixture
def bare() -> type[Bare]:
    """The issuer without flaws, to be subclassed or tested as it is."""
    return Bare


@pytest.fixture
def put_to_work(cluster: Cluster) -> Callable[..., Awaitable[Any]]:
    """Install and run an issuer; return the one to put questions to."""

    async def start(app: Bare, kind: type[Object] = BareIssuer, **subject: Any) -> IssuerUnderTest:
        await cluster.install(*app.crds())
        resource = kind.resource
        key = Key(cluster.namespace if resource.namespaced else "", "tested")
        metadata = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
        await cluster.client.create(
            {"apiVersion": f"{GROUP}/v1", "kind": resource.kind, "metadata": metadata}
        )
        await cluster.settle(*app.controllers())
        return IssuerUnderTest(
            cluster.client, cluster.clock, key, resource, cluster.namespace, **subject
        )

    return start
