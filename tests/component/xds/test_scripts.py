"""The rig that compares discovery servers, tried on two that must not differ."""

import pytest
from tests.support.xds.client import Served
from tests.support.xds.scripts import REJECTED, OurServer, Script


@pytest.mark.parametrize("seed", range(4))
async def test_two_servers_of_ours_tell_their_clients_the_same(seed: int) -> None:
    one, other = Served(), Served()
    async with one.running(), other.running():
        script = Script(seed, (OurServer(one, "one"), OurServer(other, "other")))
        await script.play()
        first, second = script.clients
        assert first.left_out == second.left_out
        assert not first.left_out[REJECTED]
