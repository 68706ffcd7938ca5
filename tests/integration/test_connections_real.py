"""Connections end with their client, also when the loop ends right after."""

import asyncio
import gc
import warnings

import pytest

from certwright.client import Selection, WatchOptions, connect
from certwright.kube.kinds import ConfigMap


@pytest.mark.real
def test_an_ended_watch_leaves_no_socket_open(control_plane_kubeconfig):
    async def watch_for_a_moment() -> None:
        options = WatchOptions(initial_events=True, bookmarks=True)
        async with (
            connect(kubeconfig=control_plane_kubeconfig) as client,
            client.watch(ConfigMap, Selection(), options) as lines,
        ):
            async for _ in lines:
                break

    gc.collect()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(3):
            asyncio.run(watch_for_a_moment())
        gc.collect()
    assert not [str(one.message) for one in seen]
