"""The same tests on both servers: the node is ours on either."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.support.node.rig import PodRig, embedded_rig, real_rig


@pytest_asyncio.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real)])
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[PodRig]:
    """Give a namespace whose pods run."""
    if request.param == "real":
        kubeconfig = request.getfixturevalue("control_plane_kubeconfig")
        async with real_rig(kubeconfig) as made:
            yield made
    else:
        async with embedded_rig() as made:
            yield made
