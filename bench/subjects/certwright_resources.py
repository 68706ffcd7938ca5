"""The operator of ManagedResources as `certwright resource-manager` runs it, with 20 workers."""

import asyncio

import uvloop

from bench import meter
from certwright.client import connect
from certwright.operators.managedresource import load, resource_operator
from certwright.runtime import LeaderElection, Manager, MemoryTrimmer, configure_logs

DOCUMENT = {
    "apiVersion": "resourcemanager.config.gardener.cloud/v1alpha1",
    "kind": "ResourceManagerConfiguration",
    "controllers": {"managedResource": {"concurrentSyncs": 20}},
}


async def main(task: meter.Task) -> None:
    configure_logs(level="warning")
    async with connect(kubeconfig=task.kubeconfig) as client:
        operator = resource_operator(load(DOCUMENT).configuration)
        election = LeaderElection(name="bench", namespace="default")
        manager = Manager(client, [operator], leader_election=election)
        manager.add(MemoryTrimmer(manager))
        stalls = meter.Stalls()
        async with asyncio.TaskGroup() as group:
            if task.stalls:
                group.create_task(stalls.watch())
            meter.start()
            group.create_task(manager.run())
            if task.stalls:
                await asyncio.to_thread(input)
                meter.mark("done", stall_ms=stalls.cpu_ms, wall_ms=stalls.wall_ms)


if __name__ == "__main__":
    uvloop.run(main(meter.task()))
