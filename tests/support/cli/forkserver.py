"""Processes of the command line that need not import it again.

Half of the time of a short command goes into imports. A `ForkServer` has them behind it: each
process is its fork, with arguments, folder, environment and output of its own. From there on it is
a process like others: it gets signals, and ends as Python does.

    python -m tests.support.cli.forkserver <fd>   # what `ForkServer` starts
"""

import asyncio
import importlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parents[3]
PRELOADED = (
    "certwright.cli.main",
    "certwright.cli.run.process",
    "certwright.cli.resourcemanager.command",
    "certwright.cli.up.up",
    "pydantic",
)
_MESSAGE = 2**20


class ForkedProcess:
    """One process, as far as tests use `asyncio.subprocess.Process`."""

    def __init__(self, pid: int, stdout: asyncio.StreamReader, end: socket.socket) -> None:
        self.pid = pid
        self.stdout = stdout
        self.returncode: int | None = None
        self._end = end

    def send_signal(self, number: int) -> None:
        """Send a signal, if the process has not ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End the process at once."""
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        """Return the exit code; as for others, negative after a signal."""
        if self.returncode is None:
            self.returncode = await _number(self._end)
            self._end.close()
        return self.returncode

    async def communicate(self) -> tuple[bytes, None]:
        """Return the rest of the output when the process has ended."""
        rest = await self.stdout.read()
        await self.wait()
        return rest, None


class ForkServer:
    """A process that has imported the command line and waits for somebody to need a fork."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-m", __name__, str(theirs.fileno())]
            self._process = subprocess.Popen(
                command, cwd=ROOT, pass_fds=[theirs.fileno()], start_new_session=True
            )
        self._socket = ours

    def close(self) -> None:
        """End the server; what it started goes on."""
        self._socket.close()
        self._process.wait()

    async def start(self, words: list[str], cwd: Path, env: Mapping[str, str]) -> ForkedProcess:
        """Start the command line; standard error goes where the output goes."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        out, into = os.pipe()
        message = json.dumps({"words": words, "cwd": str(cwd), "env": dict(env)})
        with theirs:
            socket.send_fds(self._socket, [message.encode()], [into, theirs.fileno()])
        os.close(into)
        stdout = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stdout), os.fdopen(out, "rb", 0)
        )
        ours.setblocking(False)
        return ForkedProcess(await _number(ours), stdout, ours)


async def _number(sender: socket.socket) -> int:
    return int(await asyncio.get_running_loop().sock_recv(sender, _MESSAGE))


def _serve(requests: socket.socket) -> None:
    """Fork at each request; return in the fork that is to run the command line."""
    for name in PRELOADED:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the forks in between are not waited for
    while True:
        message, fds, _, _ = socket.recv_fds(requests, _MESSAGE, 2)
        if not message:
            os._exit(0)
        if os.fork() == 0:
            requests.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            into, end = fds
            pid = os.fork()
            if pid:
                _report(pid, into, end)
            os.close(end)
            _become(into, **json.loads(message))
            return
        for fd in fds:
            os.close(fd)


def _report(pid: int, into: int, end: int) -> NoReturn:
    """Tell which process it is, and how it ended."""
    os.close(into)
    os.write(end, str(pid).encode())
    _, status = os.waitpid(pid, 0)
    os.write(end, str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _become(into: int, words: list[str], cwd: str, env: dict[str, str]) -> None:
    """Take over what makes a process another one."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, fd in ((nothing, 0), (into, 1), (into, 2)):
        os.dup2(source, fd)
    os.close(nothing)
    os.close(into)
    streams: list[Any] = [
        io.TextIOWrapper(os.fdopen(fd, "wb", 0, closefd=False), "utf-8", write_through=True)
        for fd in (1, 2)
    ]
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__ = streams  # type: ignore[misc]
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.path[0] = ""
    sys.argv = ["certwright", *words]


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
    importlib.import_module("certwright.cli.main").main()
