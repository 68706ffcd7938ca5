"""Random scripts of requests: what go-control-plane tells a client, and what we tell it."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from bench.peers.gocontrolplane import go_control_plane
from tests.support.xds.client import Served
from tests.support.xds.scripts import (
    AGAIN,
    NEVER,
    NOTHING,
    REJECTED,
    TOGETHER,
    OurServer,
    Script,
    go_control_plane_server,
)

from certwright.testkit.controlplane.errors import AssetsMissing
from certwright.testkit.faults.replay import Replay

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

FEW, MANY = 60, 1000
AT_A_TIME = 20
DIFFERENCES = {
    "ours": {
        AGAIN: "a stream's first request is answered, whatever version it names; a response has all "
        "that was asked for; and after a rejection it is not known what a client has",
        NEVER: "a removal that came with what was rejected is sent again",
        NOTHING: "the first request of a delta stream is answered even if nothing changed",
        TOGETHER: "what was rejected with others is sent again with what is new",
    },
    "go-control-plane": {
        AGAIN: "a new version is sent to all, also where nothing changed for a client",
        REJECTED: "a version that was rejected is sent again",
        TOGETHER: "a version that was rejected is sent again",
        NOTHING: "a request for names is answered even if none of them exists",
        NEVER: "a name that does not exist is said to be removed",
    },
}
"""By server: what it says that is no news for its client, and why."""


async def test_clients_learn_the_same_from_us_and_from_go_control_plane(tmp_path: Path) -> None:
    try:
        binary = await asyncio.to_thread(go_control_plane)
    except AssetsMissing as missing:
        pytest.skip(str(missing))
    served, said = Served(), {name: Counter[str]() for name in DIFFERENCES}
    turns = asyncio.Semaphore(AT_A_TIME)
    async with served.running(), go_control_plane_server(binary, served, tmp_path) as theirs:
        servers = (OurServer(served), theirs)

        async def play(seed: int) -> None:
            async with turns:
                script = Script(seed, servers)
                await script.play()
                for client in script.clients:
                    said[client.server.name] += client.left_out

        async with asyncio.TaskGroup() as group:
            for seed in range(MANY if Replay.is_campaign() else FEW):
                group.create_task(play(seed))
    for name, reasons in said.items():
        assert set(reasons) <= set(DIFFERENCES[name]), f"{name}: {reasons}"
    assert not said["ours"][REJECTED]
    assert said["go-control-plane"][REJECTED], "the scripts do not show what they should"
