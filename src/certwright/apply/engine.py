"""Bring objects to a cluster and take them away again: the one way objects are written.

`Engine.apply` makes the cluster hold what is wanted, stage by stage; `Engine.delete` removes
what is not wanted any more, in the opposite order. Neither waits for other controllers for
longer than a moment: what has to wait is reported as blocked, and the caller comes again.
"""

from collections.abc import Iterable
from typing import Protocol

from certwright.apply.changeset import ChangeSet, Entry
from certwright.apply.cluster import Cluster, Live
from certwright.apply.deletion import KEEP_NOTHING, DeleteRules
from certwright.apply.memory import Memory
from certwright.apply.refs import ObjectRef
from certwright.apply.wanted import Owner, Wanted
from certwright.clock import SYSTEM, Clock

CONCURRENCY = 8


class OnEntry(Protocol):
    """Is told about each object as soon as it is done, with its state if it is still there."""

    def __call__(self, entry: Entry, live: Live | None) -> None:
        """Take note."""
        ...


class Engine:
    """Applies and deletes objects of one cluster."""

    def __init__(self, cluster: Cluster, memory: Memory, *, clock: Clock = SYSTEM) -> None:
        self._cluster = cluster
        self._memory = memory
        self._clock = clock

    async def apply(
        self,
        wanted: Iterable[Wanted],
        *,
        owner: Owner | None = None,
        dry_run: bool = False,
        always: bool = False,
        concurrency: int = CONCURRENCY,
        on_entry: OnEntry | None = None,
    ) -> ChangeSet:
        """Make the cluster hold these objects; what failed does not keep the others.

        *owner* is written on each object, and respected where another one is. *always* writes
        also what does not differ. *dry_run* lets the server judge and changes nothing.
        """
        raise NotImplementedError

    async def delete(
        self,
        refs: Iterable[ObjectRef],
        *,
        owner: Owner | None = None,
        rules: DeleteRules = KEEP_NOTHING,
        dry_run: bool = False,
        concurrency: int = CONCURRENCY,
        on_entry: OnEntry | None = None,
    ) -> ChangeSet:
        """Delete objects, users before what they use; one that lingers keeps what it needs.

        Objects of another owner, and those the rules keep, are ``kept``; what is not gone at
        once is ``blocked``, with what holds it.
        """
        raise NotImplementedError
