"""A certwright controller that writes one status per Widget."""

import asyncio

from bench import meter
from bench.workload import Widget, WidgetStatus
from certwright.client import connect
from certwright.kube import Key
from certwright.runtime import (
    DONE,
    Context,
    Controller,
    Manager,
    MemoryTrimmer,
    Outcome,
    configure_logs,
)


async def reconcile(ctx: Context, key: Key) -> Outcome:
    widget = ctx.get(Widget, key)
    if widget is not None:
        await ctx.status(widget, WidgetStatus(ready=True))
    return DONE


async def main(task: meter.Task) -> None:
    configure_logs(level="warning")
    async with connect(kubeconfig=task.kubeconfig) as client:
        manager = Manager(client, [Controller(Widget, reconcile)])
        manager.add(MemoryTrimmer(manager))
        meter.start()
        await manager.run()


if __name__ == "__main__":
    asyncio.run(main(meter.task()))
