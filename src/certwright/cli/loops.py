"""The event loop a command runs on."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


def run_to_end(main: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine as the whole of this process, on uvloop if it is installed."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(main)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop  # the extra `speed`
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop
