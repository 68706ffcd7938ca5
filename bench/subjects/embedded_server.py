"""The embedded API server in this process: creates and applies of a small custom resource."""

import asyncio

from bench import meter
from bench.workload import Widget
from certwright.apiserver import ApiServer
from certwright.client import Client
from certwright.kube import JsonObject, crd_manifest


def widget(number: int, size: int) -> JsonObject:
    return {
        "apiVersion": "bench.certwright.dev/v1",
        "kind": "Widget",
        "metadata": {"namespace": "default", "name": f"widget-{number:05d}"},
        "spec": {"size": size, "colour": "blue"},
    }


async def main(task: meter.Task) -> None:
    async with Client(ApiServer().transport()) as client:
        await client.create(crd_manifest(Widget))
        await client.create(widget(task.objects, 1))  # discovery, decoders: once
        meter.start()
        for number in range(task.objects):
            await client.create(widget(number, 1))
        meter.mark("created")
        for number in range(task.objects):
            await client.apply(widget(number, 2))
        meter.mark("applied")
        for number in range(task.objects):
            await client.apply(widget(number, 3))
        meter.mark("done")


if __name__ == "__main__":
    asyncio.run(main(meter.task()))
