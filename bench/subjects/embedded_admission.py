"""Two embedded API servers in this process, neither with a webhook: one asks for them, one never.

Both get the same creates and applies, in turns of a few, so that whatever else the machine does
slows both down alike.
"""

import asyncio
import statistics
import time
from collections.abc import Iterable
from unittest.mock import patch

from bench import meter
from bench.subjects.embedded_server import widget
from bench.workload import Widget
from certwright.apiserver import ApiServer
from certwright.apiserver.http import options
from certwright.client import Client
from certwright.kube import crd_manifest

IN_TURN = 25


def _no_admission(_call: object) -> None:
    """Stand for looking for webhooks; a mock would take longer than that."""


async def spent(client: Client, verb: str, numbers: Iterable[int], size: int) -> float:
    """Return the processor seconds that writes took."""
    write = client.create if verb == "create" else client.apply
    before = time.process_time()
    for number in numbers:
        await write(widget(number, size))
    return time.process_time() - before


async def compare(asking: Client, never: Client, verb: str, objects: int, size: int) -> float:
    """Return how many writes the one server does while the other does one: the median turn."""
    found = []
    for turn, first in enumerate(range(0, objects, IN_TURN)):
        numbers = range(first, min(first + IN_TURN, objects))
        used = {}
        for which in ("asking", "never") if turn % 2 else ("never", "asking"):
            if which == "asking":
                used[which] = await spent(asking, verb, numbers, size)
            else:
                with patch.object(options, "_write_admission", _no_admission):
                    used[which] = await spent(never, verb, numbers, size)
        found.append(used["never"] / used["asking"])
    return statistics.median(found)


async def main(task: meter.Task) -> None:
    async with Client(ApiServer().transport()) as asking, Client(ApiServer().transport()) as never:
        for client in (asking, never):
            await client.create(crd_manifest(Widget))
            await client.create(widget(task.objects, 1))  # discovery, decoders: once
        meter.start()
        creates = await compare(asking, never, "create", task.objects, 1)
        await compare(asking, never, "apply", task.objects, 2)
        applies = await compare(asking, never, "apply", task.objects, 3)
        meter.mark("done", creates=creates, applies=applies)


if __name__ == "__main__":
    asyncio.run(main(meter.task()))
