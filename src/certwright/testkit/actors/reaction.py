"""Functions that run again when stored objects change: actors without watches of their own.

Controllers of a manager see the server through watches and stores, which costs time and needs kinds
that are served. A reaction belongs to an embedded server in this process and is woken by it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from certwright.kube import ApiError, JsonObject, Resource
from certwright.testkit.actors.podplay import NEVER

_RETRY_SECONDS: Final = 2.0


class Reaction:
    """Runs *step* whenever objects of *kinds* change, or after the seconds that it returns.

    A step that the server refuses is tried again; `failure` says why it failed last.
    """

    def __init__(
        self, kinds: Iterable[Resource], step: Callable[[], Awaitable[float | None]]
    ) -> None:
        self.failure = ""
        self._kinds = frozenset((kind.group, kind.kind) for kind in kinds)
        self._step = step
        self._woken = asyncio.Event()

    def observe(self, before: JsonObject | None, after: JsonObject | None) -> None:
        """Wake if a change of an object concerns one of the kinds."""
        obj = after or before or {}
        if (obj["apiVersion"].rpartition("/")[0], obj["kind"]) in self._kinds:
            self._woken.set()

    def wake(self) -> None:
        """Run the step again."""
        self._woken.set()

    async def run(self) -> None:
        """Run until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            self._woken.clear()
            after = await self._attempt()
            timer = None
            if after is not None and after < NEVER:
                timer = loop.call_later(max(after, 0.001), self.wake)
            await self._woken.wait()
            if timer is not None:
                timer.cancel()

    async def _attempt(self) -> float | None:
        try:
            after = await self._step()
        except ApiError as error:
            self.failure = str(error)
            return _RETRY_SECONDS
        self.failure = ""
        return after
