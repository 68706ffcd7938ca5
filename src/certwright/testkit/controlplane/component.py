"""One process of the control plane: started under a guard, its output kept in a log file."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from certwright.testkit.controlplane.errors import ComponentFailed

_GUARD = Path(__file__).with_name("guard.py")
"""Run as a file, isolated: importing the package would cost each guard half a second."""
_STOP_SECONDS = 10


class Component:
    """A running process. It ends with its context, and at the latest with this process."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self.name = name
        self.log = log
        self._process = process

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone."""
        return self._process.returncode is not None

    def failure(self, what: str) -> ComponentFailed:
        """Describe a failure of this component with the end of its log."""
        tail = "\n  ".join(self.log.read_text("utf-8", "replace").splitlines()[-8:])
        return ComponentFailed(f"{self.name} {what}; its log is {self.log}\n  {tail}")

    async def stop(self) -> None:
        """End the process and wait for it."""
        assert self._process.stdin is not None
        self._process.stdin.close()  # the guard takes the end of its input as the order to stop
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()


@asynccontextmanager
async def running(name: str, command: Sequence[str | Path], log: Path) -> AsyncIterator[Component]:
    """Run a command for the duration of the context."""
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", str(_GUARD), *map(str, command),
            stdin=asyncio.subprocess.PIPE, stdout=output, stderr=output,
            start_new_session=True,  # Ctrl-C reaches us first; we end our processes in order
        )  # fmt: skip
    component = Component(name, process, log)
    try:
        yield component
    finally:
        await component.stop()
