"""Our operator, which restarts workloads when what they consume changes."""

import asyncio
from datetime import timedelta

from bench import meter
from bench.rolloutworkload import NAMESPACE, WINDOW_SECONDS
from certwright.client import connect
from certwright.kube import Key
from certwright.operators.rollout.dialects.certwright import CertwrightDialect
from certwright.operators.rollout.engine.settings import RolloutSettings
from certwright.operators.rollout.operator import rollout_operator
from certwright.runtime import Manager, MemoryTrimmer, configure_logs


async def main(task: meter.Task) -> None:
    configure_logs(level="warning")
    settings = RolloutSettings(
        dialects=[CertwrightDialect()],
        quiet=timedelta(seconds=WINDOW_SECONDS),
        home=Key(NAMESPACE, "certwright-rollout-key"),
    )
    async with connect(kubeconfig=task.kubeconfig) as client:
        manager = Manager(client, [rollout_operator(settings)])
        manager.add(MemoryTrimmer(manager))
        meter.start()
        await manager.run()


if __name__ == "__main__":
    asyncio.run(main(meter.task()))
