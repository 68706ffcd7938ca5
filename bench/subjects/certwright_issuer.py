"""The issuer `ca` as its own command runs it, its log in a file beside the kubeconfig."""

import asyncio
import os
import sys
import threading
import time
from pathlib import Path

from bench import meter
from certwright.issuers.ca import app


class Stalls:
    """The longest stretch in which the event loop did not come round.

    *cpu_ms* is what all threads of this process computed in such a stretch: signing in another
    thread counts if it holds up the loop, and at times also if it does not. *wall_ms* includes
    the time other processes took the core away.
    """

    def __init__(self) -> None:
        self.cpu_ms = self.wall_ms = 0.0

    async def watch(self) -> None:
        while True:
            cpu, wall = time.process_time(), time.perf_counter()
            await asyncio.sleep(0)
            self.cpu_ms = max(self.cpu_ms, (time.process_time() - cpu) * 1000)
            self.wall_ms = max(self.wall_ms, (time.perf_counter() - wall) * 1000)

    def follow(self) -> None:
        """Start over at a line on standard input, and tell at the next."""
        sys.stdin.readline()
        self.cpu_ms = self.wall_ms = 0.0
        sys.stdin.readline()
        meter.mark("done", cpu_ms=self.cpu_ms, wall_ms=self.wall_ms)


def main(task: meter.Task) -> None:
    log = os.open(Path(task.kubeconfig).with_name("issuer.log"), os.O_WRONLY | os.O_CREAT)
    os.dup2(log, sys.stderr.fileno())
    if task.stalls:
        stalls, watching = Stalls(), set()

        @app.on_startup
        async def watch() -> None:
            watching.add(asyncio.get_running_loop().create_task(stalls.watch()))

        threading.Thread(target=stalls.follow, daemon=True).start()
    meter.start()
    # Without a Lease: paused for as long as requests are made, the process would lose it.
    app.main(["run", f"--kubeconfig={task.kubeconfig}", "--no-leader-elect"])


if __name__ == "__main__":
    main(meter.task())
