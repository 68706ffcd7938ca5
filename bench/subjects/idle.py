"""Ten virtual minutes after sync: which requests does a leading manager still send?"""

import asyncio
from collections import Counter
from typing import Any

from bench import meter
from certwright.apiserver import ApiServer
from certwright.client import Client
from certwright.kube import ObjectMeta, crd_manifest
from certwright.kube.kinds import Lease
from certwright.runtime import LeaderElection, Manager, configure_logs
from certwright.testkit import VirtualLoop
from certwright.testkit.calls import CallLog, CountingTransport
from greeting import Greeting, GreetingSpec, controller

IDLE_SECONDS = 600


async def main(task: meter.Task) -> None:
    configure_logs(level="warning")
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    server = ApiServer(clock=loop.clock)
    user = Client(server.transport(), clock=loop.clock)
    await user.create(crd_manifest(Greeting))
    for number in range(task.objects):
        metadata = ObjectMeta(namespace="default", name=f"greeting-{number}")
        await user.create(Greeting(metadata=metadata, spec=GreetingSpec(count=2)))
    log = CallLog([])
    client = Client(CountingTransport(server.transport(), log), clock=loop.clock)
    election = LeaderElection(name="bench", namespace="default")
    manager = Manager(client, [controller], clock=loop.clock, leader_election=election)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(manager.run())
        while not manager.idle():
            await asyncio.sleep(1)
        meter.start()
        log.mark()
        await asyncio.sleep(IDLE_SECONDS)
        calls: Counter[str] = Counter()
        for request in log.since_mark():
            lease = request.resource == Lease
            calls["lease" if lease else "watch" if request.verb == "watch" else "other"] += 1
        figures: dict[str, Any] = dict(calls)
        meter.mark("done", **figures)
        running.cancel()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(0)) as runner:
        runner.run(main(meter.task()))
