"""Processes of a node, through the supervisor that starts them and takes them along."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

_SUPERVISOR = Path(__file__).with_name("supervisor.py")
"""Run as a file, isolated: importing the package would cost half a second."""
_END_SECONDS = 10


class StartFailed(OSError):
    """A program could not be started; the message says why."""


@dataclass(frozen=True, slots=True, repr=False)
class Launch:
    """What to run, and where its output goes. No repr: variables may be secret."""

    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    log: Path


@dataclass(eq=False, slots=True)
class LocalProcess:
    """One process that was started."""

    id: str
    pid: int
    exited: asyncio.Future[int] = field(repr=False)
    """Its exit code; 128 and the signal's number if a signal ended it."""
    _owner: "Processes" = field(repr=False)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal; nothing happens if it has ended."""
        if not self.exited.done():
            self._owner.order({"do": "signal", "id": self.id, "signal": int(number)})


class Processes:
    """All processes of one node."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._numbers = count(1)
        self._starting: dict[str, asyncio.Future[int]] = {}
        self._exits: dict[str, asyncio.Future[int]] = {}

    @property
    def running(self) -> int:
        """How many processes run."""
        return len(self._exits) - len(self._starting)

    async def start(self, launch: Launch) -> LocalProcess:
        """Start a process; `StartFailed` says why it cannot be."""
        loop = asyncio.get_running_loop()
        name = str(next(self._numbers))
        started: asyncio.Future[int] = loop.create_future()
        exited: asyncio.Future[int] = loop.create_future()
        self._starting[name], self._exits[name] = started, exited
        self.order({
            "do": "start", "id": name, "command": list(launch.command),
            "environment": dict(launch.environment), "folder": str(launch.folder),
            "log": str(launch.log),
        })  # fmt: skip
        return LocalProcess(name, await started, exited, self)

    async def run(self, launch: Launch, seconds: float) -> int:
        """Run a process to its end and return its code; `TimeoutError` after so many seconds."""
        process = await self.start(launch)
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(process.exited)
        finally:
            process.send(signal.SIGKILL)

    def order(self, message: Mapping[str, object]) -> None:
        """Send an order to the supervisor."""
        self._writer.write(json.dumps(message).encode() + b"\n")

    async def listen(self, reader: asyncio.StreamReader) -> None:
        """Take the supervisor's reports until it ends."""
        while line := await reader.readline():
            report = json.loads(line)
            name = report["id"]
            if "exit" in report:
                _settle(self._exits.pop(name), report["exit"])
            elif "pid" in report:
                _settle(self._starting.pop(name), report["pid"])
            else:
                self._exits.pop(name).cancel()
                started = self._starting.pop(name)
                if not started.done():
                    started.set_exception(StartFailed(report["error"]))


def _settle(future: asyncio.Future[int], value: int) -> None:
    if not future.done():
        future.set_result(value)


@asynccontextmanager
async def local_processes() -> AsyncIterator[Processes]:
    """Run a supervisor; when the context is left, everything it started has ended."""
    ours, theirs = socket.socketpair()
    with theirs:
        supervisor = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", str(_SUPERVISOR),
            stdin=theirs.fileno(), start_new_session=True,
            env={"PATH": os.environ.get("PATH", os.defpath)},
        )  # fmt: skip
    reader, writer = await asyncio.open_connection(sock=ours, limit=2**20)
    processes = Processes(writer)
    stack = AsyncExitStack()  # closed without the caller's exception: a group would wrap it
    group = await stack.enter_async_context(asyncio.TaskGroup())
    listening = group.create_task(processes.listen(reader))
    try:
        yield processes
    finally:
        writer.close()
        listening.cancel()
        await stack.aclose()
        try:
            async with asyncio.timeout(_END_SECONDS):
                await supervisor.wait()
        except TimeoutError:
            supervisor.kill()
            await supervisor.wait()
