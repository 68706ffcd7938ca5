"""Worlds for tests: an app with its issuers on a cluster."""

from collections.abc import Callable

import pytest
from issuer_world import World

from certwright.testkit import Cluster, EmbeddedCluster


@pytest.fixture
def world(cluster: Cluster) -> Callable[..., World]:
    """Return what makes a world; options are those of the app."""
    return lambda **options: World(cluster, **options)


@pytest.fixture
def embedded_world(embedded_cluster: EmbeddedCluster) -> Callable[..., World]:
    """Return what makes a world where time can be moved."""
    return lambda **options: World(embedded_cluster, **options)
