"""What all tests share."""

import gc

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "repeatable",
    derandomize=True,
    max_examples=50,
    deadline=None,  # a busy machine takes its time, for making examples too
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")
"""Two runs of one commit try the same examples, so that more of them would find nothing new. Others,
and more: ``--hypothesis-profile=default``."""


gc.disable()
"""Until the tests are collected, which leaves nothing behind: a tenth of the time it takes."""


def pytest_collection_finish() -> None:
    """Spare what collecting the tests left behind from being looked at again and again.

    Thousands of simulated runs allocate and free a lot; a tenth of their time was spent by the
    garbage collector on modules and tests that live as long as the process. What a run leaves
    behind is freed while it is still in the processor's cache.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 100)
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests on the real control plane more time: its controllers take some when busy."""
    for item in items:
        if item.get_closest_marker("real") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(180))
