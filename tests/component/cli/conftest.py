"""The command line as a process of its own: signals, files and exit codes are the point."""

import asyncio
import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"
SECONDS = 30


class Running:
    """A certwright process; its output is read line by line, stderr included."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[str] = []

    async def line(self, part: str) -> str:
        """Read on until a line contains *part*; return it."""
        assert self.process.stdout is not None
        async with asyncio.timeout(SECONDS):
            while raw := await self.process.stdout.readline():
                self.lines.append(raw.decode().rstrip("\n"))
                if part in self.lines[-1]:
                    return self.lines[-1]
        raise AssertionError(f"no line contains {part!r}:\n" + "\n".join(self.lines))

    async def end(self, signal: int | None = None) -> int:
        """Send a signal if given, wait for the end and return the exit code."""
        assert self.process.stdout is not None
        if signal is not None:
            self.process.send_signal(signal)
        async with asyncio.timeout(SECONDS):
            rest = await self.process.stdout.read()
            self.lines += rest.decode().splitlines()
            return await self.process.wait()

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@pytest.fixture
async def start(tmp_path):
    """Start the command line in an empty folder, with a place of its own for temporary files."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"KUBECONFIG", "KUBERNETES_SERVICE_HOST"}
    }
    environment |= {"TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1"}

    async with AsyncExitStack() as stack:

        async def start(*words: object) -> Running:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", "from certwright.cli.main import main; main()",
                *map(str, words), cwd=tmp_path, env=environment,
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )  # fmt: skip
            stack.push_async_callback(put_to_rest, process)
            return Running(process)

        yield start


async def put_to_rest(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.communicate()


@pytest.fixture
def examples() -> Path:
    return EXAMPLES


@pytest.fixture
def until():
    """Ask again and again until the answer is yes; what else to do about another process?"""

    async def until(question):
        async with asyncio.timeout(SECONDS):
            while not (answer := await question()):
                await asyncio.sleep(0.05)
        return answer

    return until
