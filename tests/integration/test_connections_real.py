"""Connections end with their client, also when the loop ends right after."""

import asyncio
import gc
import warnings
from pathlib import Path

import pytest
from tests.support.kubectl.ready import ready_workloads

from certwright.client import connect
from certwright.runtime import Manager


@pytest.mark.real
def test_a_stopped_manager_leaves_no_socket_open(control_plane_kubeconfig: Path) -> None:
    async def run_for_a_moment() -> None:
        async with connect(kubeconfig=control_plane_kubeconfig) as client:
            manager = Manager(client, ready_workloads())
            async with asyncio.TaskGroup() as group:
                group.create_task(manager.run())
                while not manager.idle():
                    await asyncio.sleep(0.05)
                manager.stop()

    gc.collect()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(3):
            asyncio.run(run_for_a_moment())
        gc.collect()
    assert not [str(one.message) for one in seen]
