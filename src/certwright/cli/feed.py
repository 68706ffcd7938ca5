"""What happens, line by line, for a person who watches."""

import asyncio
from collections.abc import Iterable
from functools import partial

from certwright.clock import SYSTEM
from certwright.kube import Resource
from certwright.runtime import Entry, Manager


class LiveFeed:
    """Prints every change of the watched kinds; runs beside the controllers."""

    def __init__(self, manager: Manager, resources: Iterable[Resource]) -> None:
        self._manager = manager
        self._resources = tuple(resources)

    async def run(self) -> None:
        """Print until cancelled."""
        handles = [(resource, self._manager.cache.store(resource)) for resource in self._resources]
        try:
            for resource, handle in handles:
                handle.listen(partial(_tell, resource.kind))
            await asyncio.Event().wait()
        finally:
            for _, handle in handles:
                handle.release()


def _tell(kind: str, old: Entry | None, new: Entry | None) -> None:
    print(f"{SYSTEM.now().astimezone():%H:%M:%S}  {describe(kind, old, new)}", flush=True)


def describe(kind: str, old: Entry | None, new: Entry | None) -> str:
    """Say in one line what became of an object."""
    entry = new or old
    assert entry is not None
    if new is None:
        what = "- deleted "
    elif old is None:
        what = "+ created "
    elif new.meta.deleting and not old.meta.deleting:
        what = "~ deleting"
    else:
        what = "~ changed "
    generation = f"  generation {new.meta.generation}" if new and new.meta.generation else ""
    return f"{what}  {kind} {entry.key}{generation}"
