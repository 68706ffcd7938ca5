"""The issuer `ca` as its own command runs it, its log in a file beside the kubeconfig."""

import asyncio
import os
import sys
import threading
import time
from pathlib import Path

from bench import meter
from certwright.issuers.ca import app


def follow(stalls: meter.Stalls) -> None:
    """Start over at a line on standard input, and tell at the next."""
    sys.stdin.readline()
    stalls.reset()
    sys.stdin.readline()
    meter.mark("done", stall_ms=stalls.cpu_ms, wall_ms=stalls.wall_ms)


def main(task: meter.Task) -> None:
    log = os.open(Path(task.kubeconfig).with_name("issuer.log"), os.O_WRONLY | os.O_CREAT)
    os.dup2(log, sys.stderr.fileno())
    if task.stalls:
        # Signing in another thread counts if it keeps the interpreter's lock: not if it computes
        # beside the loop, which the first clock leaves out, nor what it waits for a processor,
        # which the second one does.
        stalls, watching = meter.Stalls(meter.unqueued_time, time.process_time), set()

        @app.on_startup
        async def watch() -> None:
            watching.add(asyncio.get_running_loop().create_task(stalls.watch()))

        threading.Thread(target=follow, args=[stalls], daemon=True).start()
    meter.start()
    # Without a Lease: paused for as long as requests are made, the process would lose it.
    app.main(["run", f"--kubeconfig={task.kubeconfig}", "--no-leader-elect"])


if __name__ == "__main__":
    main(meter.task())
