"""The life of an app in a process: what its author has done before it signs, and afterwards."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog

from certwright.issuer.author import Author
from certwright.issuer.run.memory import AppMemory
from certwright.issuer.sign.faults import AuthorFault, fault_of
from certwright.issuer.sign.sign import call
from certwright.issuer.sign.threads import Threads

HOOK_LIMIT = timedelta(seconds=60)
"""How long one function of `on_startup` or `on_shutdown` may take."""

_log = structlog.get_logger()


class StartupFailed(Exception):
    """A function of `on_startup` raised: nothing can be signed. Says which, what, and where."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """The life of an app in a process: its hooks, and the threads of functions not async."""

    author: Author[Any]
    memory: AppMemory
    threads: Threads

    async def run(self) -> None:
        """Start up, wait for the end, and shut down; `StartupFailed` if the first cannot be."""
        try:
            for hook in self.author.startup:
                await self._start(hook)
            self.memory.started.set()
            await asyncio.Event().wait()
        finally:
            for hook in self.author.shutdown:
                await self._shut_down(hook)
            self.threads.close()

    async def _start(self, hook: Callable[[], Any]) -> None:
        try:
            await call(hook, limit=HOOK_LIMIT, threads=self.threads.run)
        except (Exception, BaseExceptionGroup) as error:
            told = startup_failure(_name(hook), fault_of(error, hook, None))
            raise StartupFailed(told) from error

    async def _shut_down(self, hook: Callable[[], Any]) -> None:
        """Call a function of `on_shutdown`; the others have their turn though one raises."""
        try:
            await call(hook, limit=HOOK_LIMIT, threads=self.threads.run)
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - the author's code
            fault = fault_of(error, hook, None)
            _log.warning(
                "a function of on_shutdown raised",
                function=_name(hook),
                type=fault.type,
                error=fault.message,
                lines=list(fault.lines),
            )


def startup_failure(function: str, fault: AuthorFault) -> str:
    """Return what is told about a process that does not start: the error, then where it was."""
    told = f"the function {function} of on_startup raised {fault.type}: {fault.message}"
    return "\n".join([told, *(f"  {line}" for line in fault.lines)])


def _name(hook: Callable[[], Any]) -> str:
    return getattr(hook, "__name__", "") or type(hook).__name__
