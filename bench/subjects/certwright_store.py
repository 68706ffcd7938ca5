"""certwright's cache, alone: the Deployments of a server in a store, kept current."""

import asyncio

from bench import meter
from certwright.client import Client, Config, HttpTransport
from certwright.kube.kinds import Deployment
from certwright.runtime import Cache, StoreHandle
from certwright.runtime.process.memory import release_memory


async def main(task: meter.Task) -> None:
    stalls = meter.Stalls()
    async with (
        Client(HttpTransport(Config(server=task.server))) as client,
        asyncio.TaskGroup() as group,
    ):
        cache = Cache(client)
        share = cache.store(Deployment)
        empty_gc = meter.full_collection_ms()
        meter.start()
        group.create_task(cache.run())
        if task.stalls:
            group.create_task(stalls.watch())
        await share.synced()
        stall_cpu, stall_wall = stalls.cpu_ms, stalls.wall_ms
        unsettled_gc = meter.full_collection_ms() if task.stalls else 0.0
        release_memory()  # as a process does once its caches are complete
        meter.mark(
            "listed",
            release=task.events,
            tidy=True,
            stall_cpu_ms=stall_cpu,
            stall_wall_ms=stall_wall,
            empty_gc_ms=empty_gc,
            unsettled_gc_ms=unsettled_gc,
        )
        await reached(share, str(task.last_version))
        meter.mark("done", tidy=True, gc_ms=meter.full_collection_ms(), count=len(share.store))


async def reached(share: StoreHandle, version: str) -> None:
    while share.watch.status().resource_version != version:
        await asyncio.sleep(0.02)


if __name__ == "__main__":
    asyncio.run(main(meter.task()))
