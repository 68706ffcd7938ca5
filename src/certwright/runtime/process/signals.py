"""Signals of the operating system: stop on SIGTERM and SIGINT, dump the state on SIGUSR1."""

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import structlog

from certwright.kube import JsonObject

_log = structlog.get_logger()


@contextmanager
def on_signals(
    stop: Callable[[], None], dump: Callable[[], JsonObject], dump_to: Path | None = None
) -> Iterator[None]:
    """Handle signals of the running loop for the time of a context.

    The first SIGTERM or SIGINT calls *stop*, a second one ends the process as it would have
    without us, so a shutdown that hangs can be cut short. SIGUSR1 writes what *dump* returns
    to *dump_to*, or to standard error.
    """
    loop = asyncio.get_running_loop()
    endings = (signal.SIGTERM, signal.SIGINT)

    def end(received: signal.Signals) -> None:
        _log.info("signal received, shutting down", signal=received.name)
        for ending in endings:
            loop.remove_signal_handler(ending)
        stop()

    def write_dump() -> None:
        text = orjson.dumps(dump(), default=str, option=orjson.OPT_INDENT_2)
        if dump_to is None:
            sys.stderr.write(text.decode() + "\n")
        else:
            dump_to.write_bytes(text)

    for ending in endings:
        loop.add_signal_handler(ending, end, ending)
    loop.add_signal_handler(signal.SIGUSR1, write_dump)
    try:
        yield
    finally:
        for handled in (*endings, signal.SIGUSR1):
            loop.remove_signal_handler(handled)
