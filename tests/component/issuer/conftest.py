"""Worlds for tests: an app with its issuers on a cluster."""

from collections.abc import Callable

import pytest

from certwright.testkit import Cluster
from issuer_world import World


@pytest.fixture
def world(cluster: Cluster) -> Callable[..., World]:
    """Return what makes a world; options are those of the app."""
    return lambda **options: World(cluster, **options)
