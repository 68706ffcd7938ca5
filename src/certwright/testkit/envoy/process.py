"""Envoy as a process: one that checks a bootstrap and ends, or one that serves."""

import asyncio
import json
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from certwright.kube import JsonObject
from certwright.testkit.controlplane.component import ServerProcess, running
from certwright.testkit.envoy.admin import EnvoyAdmin
from certwright.testkit.envoy.binary import find_envoy

_CHECK_SECONDS: Final = 60.0
_START_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.02
_ALWAYS: Final = ("--disable-hot-restart", "--concurrency", "1")


class RunningEnvoy:
    """One Envoy that runs; it ends with the context that started it."""

    def __init__(self, process: ServerProcess, admin: EnvoyAdmin) -> None:
        self.admin = admin
        self._process = process

    @property
    def log(self) -> str:
        """What it has written so far."""
        return self._process.log.read_text("utf-8", "replace")

    async def until(self, condition: Callable[[], Awaitable[bool]], seconds: float = 60.0) -> None:
        """Wait until a condition holds; a failure shows the end of Envoy's log."""
        try:
            async with asyncio.timeout(seconds):
                while not await condition():
                    if self._process.has_ended:
                        raise self._process.failure("ended")
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            raise self._process.failure(f"was not as expected after {seconds:g} s") from None


def check_bootstrap(
    bootstrap: JsonObject, *, files: Path | None = None, arguments: Sequence[str] = ()
) -> str:
    """Return why Envoy refuses a bootstrap; empty if it accepts it.

    The bootstrap may name files relative to *files*. Raises `EnvoyMissing` if there is no Envoy.
    """
    binary = find_envoy()
    with tempfile.TemporaryDirectory(prefix="envoy-") as folder:
        path = Path(folder, "bootstrap.json")
        path.write_text(json.dumps(bootstrap), "utf-8")
        done = subprocess.run(  # noqa: S603 - our own arguments
            [binary, "--mode", "validate", "-c", path, "--log-level", "critical", *_ALWAYS,
             *arguments],
            cwd=files or folder, capture_output=True, check=False, timeout=_CHECK_SECONDS,
        )  # fmt: skip
    if done.returncode == 0:
        return ""
    return (done.stderr or done.stdout).decode("utf-8", "replace").strip() or "no reason given"


@asynccontextmanager
async def envoy(
    bootstrap: JsonObject, folder: Path, *, name: str = "envoy", arguments: Sequence[str] = ()
) -> AsyncIterator[RunningEnvoy]:
    """Run Envoy until the context ends; its bootstrap and log are in *folder*.

    Its administration interface listens on a free port, whatever the bootstrap says. Raises
    `EnvoyMissing` if there is no Envoy, `ComponentFailed` if it ends before it listens.
    """
    binary = find_envoy()
    address = {"socket_address": {"address": "127.0.0.1", "port_value": 0}}
    whole = {**bootstrap, "admin": {**bootstrap.get("admin", {}), "address": address}}
    path, admin_path = folder / f"{name}.json", folder / f"{name}.admin"
    path.write_text(json.dumps(whole), "utf-8")
    admin_path.unlink(missing_ok=True)
    command: list[str | Path] = [
        binary, "-c", path, "--admin-address-path", admin_path, "--log-level", "warning",
        *_ALWAYS, *arguments,
    ]  # fmt: skip
    async with running(name, command, folder / f"{name}.log") as process:
        async with asyncio.timeout(_START_SECONDS):
            while not (text := _written(admin_path)):
                if process.has_ended:
                    raise process.failure("ended")
                await asyncio.sleep(_POLL_SECONDS)
        host, _, port = text.rpartition(":")
        yield RunningEnvoy(process, EnvoyAdmin(host, int(port)))


def _written(path: Path) -> str:
    """Return the address in a file, once it is complete."""
    try:
        text = path.read_text("utf-8").strip()
    except OSError:
        return ""
    return text if text.rpartition(":")[2].isdigit() else ""
