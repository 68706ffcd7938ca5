"""A bounded pool of threads for work that would block the event loop.

RSA keys, loading foreign private keys, big YAML, metric exposition: whatever may take more
than 5 ms. Used through ``ctx.cpu``; owned and closed by the manager.
"""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class CpuPool:
    """Runs functions in at most *threads* threads; threads start when first needed."""

    def __init__(self, threads: int | None = None) -> None:
        self._executor = ThreadPoolExecutor(threads or os.cpu_count() or 1, "certwright-cpu")

    async def run(self, fn: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function in a thread and return what it returns or raise what it raises.

        Cancelling the caller gives up waiting; a function that already started runs to its
        end, so it must be free of side effects somebody could miss.
        """
        call = partial(copy_context().run, fn, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    def close(self) -> None:
        """Drop what has not started. Does not wait for what has."""
        self._executor.shutdown(wait=False, cancel_futures=True)
