"""The same tests on both servers: the node is ours on either.

A node serves all tests of a module; each finds the namespace empty.
"""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.support.node.rig import PodRig, embedded_rig, real_rig


@pytest_asyncio.fixture(
    scope="module",
    loop_scope="module",
    params=["embedded", pytest.param("real", marks=pytest.mark.real)],
)
async def shared_rig(request: pytest.FixtureRequest) -> AsyncIterator[PodRig]:
    """Give a namespace whose pods run, for all tests of a module."""
    if request.param == "real":
        kubeconfig = request.getfixturevalue("control_plane_kubeconfig")
        async with real_rig(kubeconfig) as made:
            yield made
    else:
        async with embedded_rig() as made:
            yield made


@pytest_asyncio.fixture(loop_scope="module")
async def rig(shared_rig: PodRig) -> AsyncIterator[PodRig]:
    """Give a namespace whose pods run."""
    yield shared_rig
    await shared_rig.clear()
