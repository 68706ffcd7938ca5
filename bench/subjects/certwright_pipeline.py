"""certwright's whole way from the watch to the reconcile: store, two indexes, queue, workers."""

import asyncio

from bench import meter
from certwright.client import Client, Config, HttpTransport
from certwright.kube import Key
from certwright.kube.kinds import Deployment
from certwright.runtime import (
    DONE,
    Context,
    Controller,
    Entry,
    Manager,
    MemoryTrimmer,
    Outcome,
    configure_logs,
    select,
)


class Pipeline:
    """Reconciles by reading the object, and asks for the next round of events after each."""

    def __init__(self, task: meter.Task) -> None:
        self._task = task
        self._reconciled = 0
        indexed = select(Deployment, indexes={"tier": tier, "namespace": namespace})
        self.controller = Controller(indexed, self.reconcile)

    async def reconcile(self, ctx: Context, key: Key) -> Outcome:
        ctx.get(Deployment, key)
        self._reconciled += 1
        if self._reconciled == self._task.objects + self._task.events:
            meter.mark("done", tidy=True, gc_ms=meter.full_collection_ms())
        elif self._reconciled == self._task.objects:
            meter.mark("listed", release=self._task.objects, tidy=True)
        elif self._reconciled % self._task.objects == 0:
            meter.mark("round", release=self._task.objects)
        return DONE


def tier(entry: Entry) -> list[str]:
    return [entry.meta.labels.get("tier", "")]


def namespace(entry: Entry) -> list[str]:
    return [entry.key.namespace]


async def main(task: meter.Task) -> None:
    configure_logs(level="error")  # marks block the loop, which would be warned about
    async with Client(HttpTransport(Config(server=task.server))) as client:
        manager = Manager(client, [Pipeline(task).controller])
        manager.add(MemoryTrimmer(manager))
        meter.start()
        await manager.run()


if __name__ == "__main__":
    asyncio.run(main(meter.task()))
