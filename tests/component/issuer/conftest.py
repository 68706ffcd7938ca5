"""Worlds for tests: an app with its issuers on a cluster."""

import asyncio
from collections.abc import Callable

import pytest
from tests.support.issuer.issuer_world import World

from certwright.testkit import Cluster, EmbeddedCluster, VirtualLoop


@pytest.fixture
def world(cluster: Cluster) -> Callable[..., World]:
    """Return what makes a world; options are those of the app."""
    return lambda **options: World(cluster, **options)


@pytest.fixture
def embedded_world(embedded_cluster: EmbeddedCluster) -> Callable[..., World]:
    """Return what makes a world where time can be moved."""
    return lambda **options: World(embedded_cluster, **options)


@pytest.fixture
async def virtual(embedded_cluster: EmbeddedCluster) -> VirtualLoop:
    """Return the loop of a test that makes clusters of its own."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop
