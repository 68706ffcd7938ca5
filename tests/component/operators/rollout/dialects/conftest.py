"""Workloads on the embedded server, and the operator that restarts them, in chosen dialects."""

import pytest
from tests.component.operators.rollout.engine.conftest import EmbeddedRolling

from certwright.testkit import EmbeddedCluster


@pytest.fixture
def rolling(embedded_cluster: EmbeddedCluster) -> EmbeddedRolling:
    return EmbeddedRolling(embedded_cluster)
