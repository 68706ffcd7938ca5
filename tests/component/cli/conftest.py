"""The command line as a process of its own: signals, files and exit codes are the point."""

import asyncio
import io
import json
import os
import re
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.cli.forkserver import ForkedProcess, ForkServer

from certwright.apiserver import ApiServer
from certwright.cli.main import main
from certwright.client import Client, connect
from certwright.kube import JsonObject, Key, Resource
from certwright.testkit.controlplane.component import free_ports

EXAMPLES = Path(__file__).parents[3] / "examples"
SECONDS = 50


class Running:
    """A certwright process; its output is read line by line, stderr included."""

    def __init__(self, process: ForkedProcess) -> None:
        self.process = process
        self.lines: list[str] = []

    async def line(self, part: str) -> str:
        """Read on until a line contains *part*; return it."""
        async with asyncio.timeout(SECONDS):
            while raw := await self.process.stdout.readline():
                self.lines.append(raw.decode().rstrip("\n"))
                if part in self.lines[-1]:
                    return self.lines[-1]
        raise AssertionError(f"no line contains {part!r}:\n" + "\n".join(self.lines))

    async def end(self, signal: int | None = None) -> int:
        """Send a signal if given, wait for the end and return the exit code."""
        if signal is not None:
            self.process.send_signal(signal)
        async with asyncio.timeout(SECONDS):
            rest = await self.process.stdout.read()
            self.lines += rest.decode().splitlines()
            return await self.process.wait()

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """Import the command line once for all its processes."""
    server = ForkServer()
    yield server
    server.close()


@pytest.fixture
async def start(
    tmp_path: Path, fork_server: ForkServer
) -> AsyncIterator[Callable[..., Awaitable[Any]]]:
    """Start the command line in an empty folder, with a place of its own for temporary files."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()

    def environment() -> dict[str, str]:
        others = {"KUBECONFIG", "KUBERNETES_SERVICE_HOST"}
        known = {name: value for name, value in os.environ.items() if name not in others}
        # Columns: else tables end where the terminal of the tests does.
        return known | {"TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1", "COLUMNS": "500"}

    async with AsyncExitStack() as stack:

        async def start(*words: object) -> Running:
            process = await fork_server.start([*map(str, words)], tmp_path, environment())
            stack.push_async_callback(put_to_rest, process)
            return Running(process)

        yield start


async def put_to_rest(process: ForkedProcess) -> None:
    if process.returncode is None:
        process.kill()
    await process.communicate()


@pytest.fixture
def examples() -> Path:
    return EXAMPLES


@pytest.fixture
def until() -> Callable[..., Awaitable[Any]]:
    """Ask again and again until the answer is yes; what else to do about another process?"""

    async def until(question: Callable[..., Any]) -> int | JsonObject:
        async with asyncio.timeout(SECONDS):
            while not (answer := await question()):
                await asyncio.sleep(0.05)
        value: int | JsonObject = answer
        return value

    return until


class Done:
    """What a command printed, and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    def rows(self, head: str) -> list[list[str]]:
        """Return the first three cells of each line of the table that begins with *head*."""
        lines = self.out.splitlines()
        table = lines[next(i for i, line in enumerate(lines) if line.startswith(head)) + 1 :]
        return [re.split(" {3,}", line)[:3] for line in table if " " * 3 in line]


class Ask:
    """Asks the server, from tests that are not coroutines."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig

    def __call__(self, question: Callable[..., Any]) -> Any:
        async def ask() -> Any:
            async with connect(kubeconfig=self._kubeconfig) as client:
                return await question(client)

        return asyncio.run(ask())

    def names(self, kind: Resource, labels: str = "") -> set[str]:
        found = self(lambda client: client.list(kind, "default", labels=labels))
        return {item["metadata"]["name"] for item in found.items}

    def patch(self, kind: Resource, name: str, patch: JsonObject) -> Any:
        return self(lambda client: client.patch(kind, Key("default", name), patch))

    def delete(self, kind: Resource, name: str) -> Any:
        return self(lambda client: client.delete(kind, Key("default", name)))


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Path]:
    """Serve the embedded API server from a thread; give the kubeconfig."""
    kubeconfig = tmp_path / "listening.kubeconfig"
    ready, ended = threading.Event(), []

    async def serve() -> None:
        stop = asyncio.Event()
        ended.append((asyncio.get_running_loop(), stop))
        async with ApiServer(rbac=True).serve() as endpoint:
            endpoint.write_kubeconfig(kubeconfig)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="api-server")
    thread.start()
    assert ready.wait(SECONDS)
    yield kubeconfig
    loop, stop = ended[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join()


@pytest.fixture
def cli(
    listening: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Any]:
    """Run the command line in this process, against the listening server."""
    monkeypatch.setenv("KUBECONFIG", str(listening))
    monkeypatch.setenv("COLUMNS", "500")  # else tables end where the terminal of the tests does
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))

    def run(*words: str | Path) -> Done:
        monkeypatch.setattr(sys, "argv", ["certwright", *map(str, words)])
        code: Any = 0
        try:
            main()
        except SystemExit as ending:
            code = ending.code or 0
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return run


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Any]:
    """Write manifests into a file; return its path."""

    def write(*objects: JsonObject, name: str = "app.yaml") -> str:
        path = tmp_path / name
        path.write_text(yaml.safe_dump_all(objects), "utf-8")
        return str(path)

    return write


@pytest.fixture
def in_thread() -> Callable[..., Any]:
    """Do something beside the command that runs in this thread; a context that ends with it."""

    @contextmanager
    def run(work: Callable[[], None]) -> Iterator[None]:
        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(work)
            yield
            done.result(SECONDS)

    return run


@pytest.fixture
def ask(listening: Path) -> Ask:
    return Ask(listening)


@pytest.fixture
def as_reader_of(ask: Ask, listening: Path) -> Callable[..., Any]:
    """Allow somebody to read some resources and nothing else; give the words to be that one."""

    def allow(*resources: str) -> tuple[str, ...]:
        group = "rbac.authorization.k8s.io"
        head = {"apiVersion": f"{group}/v1", "metadata": {"name": "reader"}}
        rules = [{"apiGroups": ["*"], "resources": [*resources], "verbs": ["get", "list"]}]
        role = {"apiGroup": group, "kind": "ClusterRole", "name": "reader"}
        subjects = [{"apiGroup": group, "kind": "User", "name": "reader"}]

        async def question(client: Client) -> None:
            await client.create({**head, "kind": "ClusterRole", "rules": rules})
            binding = {"kind": "ClusterRoleBinding", "roleRef": role, "subjects": subjects}
            await client.create({**head, **binding})

        ask(question)
        config = json.loads(listening.read_text("utf-8"))
        config["users"][0]["user"]["as"] = "reader"
        path = listening.with_name("reader.kubeconfig")
        path.write_text(json.dumps(config), "utf-8")
        return ("--kubeconfig", str(path))

    return allow


@pytest.fixture
def unused_tcp_port() -> int:
    """A port for a process that is about to start; pytest-asyncio's may be a connection's by then."""
    return free_ports(1)[0]


@pytest.fixture
def unused_tcp_port_factory() -> Callable[[], int]:
    """``unused_tcp_port_factory()``: one more."""
    return lambda: free_ports(1)[0]
