"""The parent of all processes of a node: starts them, reports their ends, takes them along.

Run as ``python -I -S supervisor.py`` with a socket as standard input; one JSON object per line in
each direction. When the socket closes, because the node ended in whatever way, everything this
process started is killed, also what has left its parent: those processes become children of this
one. Should this process itself be killed, the kernel kills its direct children.
"""

import contextlib
import ctypes
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CHUNK = 65536
_MARK = "CERTWRIGHT_PROCESS"
"""The variable by which descendants of a process are known."""


class Supervisor:
    """Starts processes on request and tells how they ended."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._running: dict[int, tuple[str, subprocess.Popen[bytes]]] = {}
        self._received = b""

    def serve(self) -> None:
        """Work until the channel closes; then kill everything."""
        wake, woken = os.pipe()
        for end in (wake, woken):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        with selectors.DefaultSelector() as selector:
            selector.register(self._channel, selectors.EVENT_READ)
            selector.register(wake, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj == wake:
                        with contextlib.suppress(BlockingIOError):
                            os.read(wake, _CHUNK)
                        self._reap()
                    elif not self._receive():
                        self._kill_all()
                        return

    def _receive(self) -> bool:
        chunk = self._channel.recv(_CHUNK)
        if not chunk:
            return False
        *lines, self._received = (self._received + chunk).split(b"\n")
        for line in lines:
            order = json.loads(line)
            if order["do"] == "start":
                self._start(order)
            else:
                self._signal(order)
        return True

    def _start(self, order: dict[str, Any]) -> None:
        try:
            with Path(order["log"]).open("ab") as log:
                process = subprocess.Popen(  # noqa: S603 - what the node asks for
                    order["command"],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env={**order["environment"], _MARK: order["id"]},
                    cwd=order["folder"],
                    start_new_session=True,
                    preexec_fn=_die_with_parent,  # noqa: PLW1509 - this process has one thread
                )
        except (OSError, ValueError) as error:  # ValueError: a null byte in a word or variable
            why = error.strerror if isinstance(error, OSError) else None
            self._tell({"id": order["id"], "error": why or str(error)})
            return
        self._running[process.pid] = (order["id"], process)
        self._tell({"id": order["id"], "pid": process.pid})

    def _signal(self, order: dict[str, Any]) -> None:
        for pid, (name, _) in self._running.items():
            if name == order["id"]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, order["signal"])

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self._running:
                name, process = self._running.pop(pid)
                code = os.waitstatus_to_exitcode(status)
                process.returncode = code  # it was reaped here
                _kill_left_behind(pid, name)
                self._tell({"id": name, "exit": code if code >= 0 else 128 - code})

    def _tell(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # the node is gone; `serve` notices
            self._channel.sendall(json.dumps(message).encode() + b"\n")

    def _kill_all(self) -> None:
        while children := _children():
            for pid in children:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(-1, 0)


def _kill_left_behind(group: int, name: str) -> None:
    """Kill what a process left behind: its group, and children of ours that carry its mark.

    What such a child leaves behind comes to this process in turn, so this goes on until
    nothing with the mark is found.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    while marked := [pid for pid in _children() if _carries(pid, name)]:
        for pid in marked:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _carries(pid: int, name: str) -> bool:
    """Return whether a process was started by one of ours; one that has ended was not."""
    try:
        variables = Path("/proc", str(pid), "environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return f"{_MARK}={name}".encode() in variables


def _children() -> list[int]:
    try:
        return [
            int(pid)
            for pid in Path("/proc/self/task", str(os.getpid()), "children")
            .read_text("ascii")
            .split()
        ]
    except OSError:
        return []


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> None:
    """Serve the socket that is standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the node's business
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    Supervisor(socket.socket(fileno=os.dup(0))).serve()


if __name__ == "__main__":
    main()
