"""The event loop a command runs on."""

import asyncio
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

from certwright.runtime import new_event_loop

T = TypeVar("T")


def run_to_end(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine as the whole of this process, on uvloop if it is installed.

    SIGTERM cancels it, as Ctrl-C does, until it handles signals itself: a start that is
    interrupted cleans up too.
    """
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        try:
            return runner.run(_ended_by_sigterm(main))
        except asyncio.CancelledError:
            sys.exit(128 + signal.SIGTERM)


async def _ended_by_sigterm(main: Coroutine[Any, Any, T]) -> T:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await main
