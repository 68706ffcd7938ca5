"""One process of the control plane: started under a guard, its output kept in a log file."""

import asyncio
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from certwright.testkit.controlplane.errors import ComponentFailed

_GUARD = Path(__file__).with_name("guard.py")
"""Run as a file, isolated: importing the package would cost each guard half a second."""
_STOP_SECONDS = 10
_GIVEN_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST_PORT = 10_240
_ENOUGH_PORTS = 5_000
"""Among fewer, two processes would choose the same too often."""


class ServerProcess:
    """A process that ends with its context, and at the latest with this process."""

    def __init__(self, name: str, command: Sequence[str | Path], log: Path) -> None:
        self.name = name
        self.log = log
        self._command = [str(word) for word in command]
        self._process: asyncio.subprocess.Process | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone."""
        return self._process is None or self._process.returncode is not None

    @property
    def lost_its_port(self) -> bool:
        """Whether it ended because another process was faster to take a free port."""
        return self.has_ended and b"address already in use" in self.log.read_bytes()

    def failure(self, what: str) -> ComponentFailed:
        """Describe a failure of this component with the end of its log."""
        tail = "\n  ".join(self.log.read_text("utf-8", "replace").splitlines()[-8:])
        return ComponentFailed(f"{self.name} {what}; its log is {self.log}\n  {tail}")

    async def start(self) -> None:
        """Start the process, the first time or again."""
        assert self.has_ended, f"{self.name} runs already"
        with self.log.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", str(_GUARD), *self._command,
                stdin=asyncio.subprocess.PIPE, stdout=output, stderr=output,
                start_new_session=True,  # Ctrl-C reaches us first; we end our processes in order
            )  # fmt: skip

    async def stop(self) -> None:
        """End the process, if it runs, and wait for it."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()  # the guard takes the end of its input as the order to stop
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()


@asynccontextmanager
async def running(
    name: str, command: Sequence[str | Path], log: Path
) -> AsyncIterator[ServerProcess]:
    """Run a command for the duration of the context."""
    component = ServerProcess(name, command, log)
    try:
        await component.start()
        yield component
    finally:
        await component.stop()


def free_ports(count: int) -> list[int]:
    """Return ports of 127.0.0.1 that are free now; another process may still be faster.

    Where that is known, they are not among those that the kernel gives away by itself, which
    connections of any process use up and free again all the time.
    """
    sockets: list[socket.socket] = []
    try:
        while len(sockets) < count:
            one = socket.socket()
            try:
                one.bind(("127.0.0.1", _any_port()))
            except OSError:  # taken: try another one
                one.close()
            else:
                sockets.append(one)
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def _any_port() -> int:
    try:
        lowest_given = int(_GIVEN_PORTS.read_text("ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 0
    choice = lowest_given - _LOWEST_PORT
    return _LOWEST_PORT + secrets.randbelow(choice) if choice > _ENOUGH_PORTS else 0
