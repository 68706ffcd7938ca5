"""The least that restarts workloads: a watch of Secrets, a timer, and a patch.

It keeps no record, so it forgets what it has not done when it ends, and it reads no policy.
"""

import asyncio
from hashlib import sha256

from bench import meter
from bench.rolloutworkload import MARKS, NAMESPACE, WINDOW_SECONDS
from certwright.client import Client, connect
from certwright.kube import Key
from certwright.kube.kinds import Deployment, Secret
from certwright.runtime import Cache, Entry, configure_logs

AT_ONCE = 16
"""As many as ours writes."""


class Loop:
    """Restarts a workload a while after the last change of one of its Secrets."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._due: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    def on_secret(self, old: Entry | None, new: Entry | None) -> None:
        if old is None or new is None or old.obj().get("data") == new.obj().get("data"):
            return
        name = new.key.name.rpartition("-")[0]
        digest = sha256(new.raw).hexdigest()
        if (timer := self._timers.pop(name, None)) is not None:
            timer.cancel()
        loop = asyncio.get_running_loop()
        put = self._due.put_nowait
        self._timers[name] = loop.call_later(WINDOW_SECONDS, put, (name, digest))

    async def work(self) -> None:
        while True:
            name, digest = await self._due.get()
            annotations = {MARKS[0]: digest}
            patch = {"spec": {"template": {"metadata": {"annotations": annotations}}}}
            await self._client.patch(Deployment, Key(NAMESPACE, name), patch)


async def main(task: meter.Task) -> None:
    configure_logs(level="warning")
    async with connect(kubeconfig=task.kubeconfig) as client, asyncio.TaskGroup() as group:
        cache, loop = Cache(client), Loop(client)
        cache.store(Secret).listen(loop.on_secret)
        meter.start()
        for _ in range(AT_ONCE):
            group.create_task(loop.work())
        await cache.run()


if __name__ == "__main__":
    asyncio.run(main(meter.task()))
