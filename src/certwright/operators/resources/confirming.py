"""A target that is written to only once it is certain that the source does not show the past.

A process that has just started may be shown an old state of a ManagedResource. Everything it
would write then has been overtaken: objects would come back that were deleted or given away,
and nobody would remember them. So the first write of a process for a ManagedResource waits for
one look at it, unless a write to the ManagedResource itself has told already.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from certwright.apply import Cluster
from certwright.kube import Conflict

_WRITES = frozenset({"apply", "create", "patch", "delete", "finalize"})


class OutOfDate(Exception):
    """What was seen of the source is not how it is; look again."""


class Confirming:
    """A cluster like another, whose writes wait for a confirmation."""

    def __init__(self, cluster: Cluster, confirm: Callable[[], Awaitable[None]]) -> None:
        self._cluster = cluster
        self._confirm = confirm

    def __getattr__(self, name: str) -> Any:
        """Return what the cluster beneath offers, writes with their confirmation."""
        found = getattr(self._cluster, name)
        if name not in _WRITES:
            return found

        async def write(*args: Any, **keywords: Any) -> Any:
            try:
                await self._confirm()
            except Conflict as error:
                raise OutOfDate(str(error)) from error
            return await found(*args, **keywords)

        return write
