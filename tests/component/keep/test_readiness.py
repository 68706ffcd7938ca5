"""Waiting for a store of the target: it becomes complete, or whoever waits learns why not."""

import asyncio

import pytest

from certwright.kube import NotFound
from certwright.kube.kinds import ConfigMap
from certwright.runtime import Cache
from certwright.testkit import Cluster


async def test_who_waits_for_a_store_is_told_when_its_kind_goes(cluster: Cluster) -> None:
    share = Cache(cluster.client).store(ConfigMap)  # nothing runs it, so it never completes
    waiting = asyncio.gather(share.ready())
    await asyncio.sleep(0)
    share.release()
    with pytest.raises(NotFound, match="ConfigMap is not watched any more"):
        await waiting
