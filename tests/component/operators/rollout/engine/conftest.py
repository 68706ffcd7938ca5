"""Workloads on the embedded server, and the operator that restarts them.

::

    async def test_restarts(rolling):
        await rolling.secret("web-tls", 1)
        await rolling.workload("web")
        await rolling.run()
        await rolling.renew("web-tls", 2)
        await rolling.wait()
        assert await rolling.restarts("web") == 1
"""

from dataclasses import replace
from typing import Any

import pytest
from tests.support.rollout import SETTINGS, Rolling

from certwright.operators.rollout.operator import rollout_operator
from certwright.runtime import Operator
from certwright.testkit import Calls, EmbeddedCluster


class EmbeddedRolling(Rolling):
    """Workloads, the operator, and time that costs nothing."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        super().__init__(cluster)
        self.embedded = cluster
        self.operator: Operator | None = None

    async def run(self, **settings: Any) -> Calls:
        """Start the operator, and let it come to rest."""
        self.operator = rollout_operator(replace(SETTINGS, **settings))
        return await self.embedded.settle(self.operator)

    async def wait(self, seconds: float = 5.5, *, minutes: float = 0) -> Calls:
        """Let time pass, a quiet window by default."""
        first = await self.embedded.settle()
        return Calls([*first, *await self.embedded.advance(seconds=seconds, minutes=minutes)])

    async def restart(self) -> Calls:
        """Stop the operator and start another process of it."""
        return await self.embedded.restart()


@pytest.fixture
def rolling(embedded_cluster: EmbeddedCluster) -> EmbeddedRolling:
    return EmbeddedRolling(embedded_cluster)
