"""Discovery streams and model clients: whatever happens, clients come to have what they shall.

A campaign (``make sim``) plays thousands of scripts.
"""

import pytest
from tests.support.xds.simulation import converge

from certwright.testkit.faults.replay import Replay

PARTS = 4
SEEDS, CAMPAIGN_SEEDS = 80, 20_000


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", ["state", "delta"])
def test_clients_come_to_have_what_they_shall(kind: str, part: int) -> None:
    for seed in range(part, CAMPAIGN_SEEDS if Replay.is_campaign() else SEEDS, PARTS):
        converge(seed, kind)
