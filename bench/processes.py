"""The processes of a benchmark: servers, and the subjects that are measured."""

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from threading import Timer
from typing import IO, Any, Self

import msgspec

from bench.meter import Task
from bench.workload import FIRST_VERSION

ROOT = Path(__file__).parents[1]
PATIENCE_SECONDS = 600
"""How long a subject may take; official client and kopf need half a minute on a quiet machine."""
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")

_LOCAL = urllib.request.build_opener(urllib.request.ProxyHandler({}))

Marks = dict[str, dict[str, Any]]


class SubjectFailed(Exception):
    """A subject ended before it was done."""


class Child:
    """A running command that ends with its context."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        environment: Mapping[str, str] = os.environ,
        log: IO[bytes] | None = None,
        patience_seconds: float = PATIENCE_SECONDS,
        root: Path = ROOT,
    ) -> None:
        self._process = subprocess.Popen(
            command,
            cwd=root,
            env={**environment, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"},
            stdin=subprocess.PIPE,
            stdout=log or subprocess.PIPE,
            stderr=log,
            text=True,
        )
        self.title = str(command[0])
        self._timer = Timer(patience_seconds, self._process.kill)
        self._timer.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._process.kill()
        self._process.communicate()

    def pause(self) -> None:
        """Let the process do nothing until it is resumed."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a process go on that was paused."""
        self._process.send_signal(signal.SIGCONT)

    def cpu(self) -> float:
        """Return the processor time the process has used so far."""
        return cpu_of(self._process.pid)

    def exact_cpu(self) -> float:
        """Return the same, exact to less than a clock tick, of threads that have not ended."""
        tasks = Path(f"/proc/{self._process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text("ascii").split()[0]) for task in tasks) / 1e9

    def rss(self) -> int:
        """Return the bytes of memory the process occupies."""
        status = Path(f"/proc/{self._process.pid}/status").read_text("ascii")
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024

    def line(self) -> dict[str, Any]:
        """Wait for the next line, which is JSON."""
        assert self._process.stdout is not None
        text = self._process.stdout.readline()
        if not text:
            raise SubjectFailed(f"{self.title} ended with status {self._process.wait()}")
        return json.loads(text)

    def go_on(self, line: str = "") -> None:
        """Send the line the process waits for."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()


class Program(Child):
    """A running module of this package, here or in another checkout, that writes JSON lines."""

    def __init__(
        self,
        module: str,
        *args: str,
        patience_seconds: float = PATIENCE_SECONDS,
        root: Path = ROOT,
    ) -> None:
        path = os.pathsep.join([str(root / "src"), str(root / "examples")])
        super().__init__(
            [sys.executable, "-m", f"bench.{module}", *args],
            environment={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"},
            patience_seconds=patience_seconds,
            root=root,
        )
        self.title = module


def cpu_of(pid: int) -> float:
    """Return the processor time a process has used so far, children that ended aside."""
    stat = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2]
    return sum(map(int, stat.split()[11:13])) / TICKS_PER_SECOND


@dataclass(frozen=True)
class Run:
    """How one run of one subject went."""

    marks: Marks
    calls: dict[str, int]
    server_cpu: float

    def cpu(self, since: str = "start", until: str = "done") -> float:
        """Return the processor seconds between two marks."""
        return self.marks[until]["cpu"] - self.marks[since]["resumed"]

    def grown(self, until: str = "done") -> int:
        """Return by how many bytes the process has grown since the start."""
        return self.marks[until]["rss"] - self.marks["start"]["rss"]

    def calls_text(self) -> str:
        """Return the calls in a cell of a table."""
        return ", ".join(f"{verb} {count:,}" for verb, count in sorted(self.calls.items()))

    def total_cpu(self) -> float:
        """Return the processor seconds from start to end, without those of the marks."""
        marks = list(self.marks.values())
        return sum(after["cpu"] - before["resumed"] for before, after in pairwise(marks))


def measure(
    subject: str, canned: "CannedServer | None" = None, *, root: Path = ROOT, **options: Any
) -> Run:
    """Run a subject to its end; what it asks to be released, the canned server releases."""
    task = msgspec.json.encode(Task(**options)).decode()
    before: dict[str, Any] = canned.control("reset") if canned else {"cpu": 0.0}
    marks: Marks = {}
    with Program(f"subjects.{subject}", task, root=root) as program:
        while "done" not in marks:
            line = program.line()
            marks[f"round {len(marks)}" if line["mark"] == "round" else line["mark"]] = line
            if canned and line["release"]:
                canned.control("release", events=line["release"])
    after: dict[str, Any] = canned.control("usage") if canned else {"cpu": 0.0, "calls": {}}
    return Run(marks, after["calls"], after["cpu"] - before["cpu"])


class CannedServer:
    """A running `bench.cannedserver`."""

    def __init__(self, url: str, objects: int, events: int) -> None:
        self._url = url
        self._options = {
            "server": url,
            "objects": objects,
            "events": events,
            "last_version": FIRST_VERSION + objects + events,
        }

    def measure(self, subject: str, *, root: Path = ROOT, **options: Any) -> Run:
        """Run a subject against this server to its end."""
        return measure(subject, self, root=root, **self._options, **options)

    def control(self, action: str, events: int = 0) -> dict[str, Any]:
        """Tell the server what to do; return what it has done so far."""
        url = f"{self._url}/bench/{action}?events={events}"
        with _LOCAL.open(urllib.request.Request(url, method="POST")) as answer:
            return json.load(answer)


@contextlib.contextmanager
def canned_server(objects: int, events: int) -> Iterator[CannedServer]:
    """Run the canned server for the duration of the context."""
    size = (str(objects), str(events))
    with Program("cannedserver", *size, patience_seconds=20 * PATIENCE_SECONDS) as program:
        port = program.line()["port"]
        yield CannedServer(f"http://127.0.0.1:{port}", objects, events)


def median(runs: list[Run], figure: Callable[[Run], float]) -> float:
    """Return the median of a figure over runs."""
    return statistics.median(map(figure, runs))
