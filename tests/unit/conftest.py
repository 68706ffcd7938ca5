"""Virtual time for tests that ask for `virtual_loop`."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from certwright.testkit.time.virtual import VirtualLoop


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]] | None:
    if "virtual_loop" in getattr(item, "fixturenames", ()):
        return {"virtual": VirtualLoop}
    return None


@pytest.fixture
async def virtual_loop() -> VirtualLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop
