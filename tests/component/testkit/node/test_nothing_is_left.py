"""Nothing outlives the node: no process, port or folder."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from tests.support.node.rig import PATIENCE_SECONDS, QUICK, PodRig, embedded_rig

from certwright.apiserver import ApiServer
from certwright.client import Client
from certwright.kube.kinds import Pod
from certwright.testkit.node import Program, local_node
from certwright.testkit.node.process.processes import Launch, StartFailed, local_processes


def marked(mark: str) -> list[int]:
    """Return the processes whose command line holds a mark."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                words = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in words and int(process.name) != os.getpid():
                found.append(int(process.name))
    return found


async def until_some(mark: str, count: int) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(marked(mark)) < count:
            await asyncio.sleep(0.02)


async def until_none(mark: str) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while marked(mark):
            await asyncio.sleep(0.02)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text("ascii").split()[3])


async def play_pods(count: int, batch: int) -> None:
    mark = f"sleep 86{os.getpid()}"
    script = f"trap 'exit 0' TERM; {mark} & (setsid {mark} &); wait"
    ports: set[int] = set()
    async with embedded_rig() as rig:
        root = rig.node.services.folder
        for first in range(0, count, batch):
            names = [f"p{number}" for number in range(first, min(first + batch, count))]
            for name in names:
                await rig.run(
                    {"command": ["sh", "-c", script], "ports": [{"containerPort": 80}]}, name=name
                )
            for number, name in enumerate(names):
                pod = await rig.ready(name)
                worker = rig.node.pods[pod["metadata"]["uid"]]
                ports |= {local for _, local in rig.node.services.ports.addresses.values()}
                assert worker.folder.exists()
                grace = 0 if number % 2 else 1
                await rig.client.delete(Pod, rig.key(name), grace_seconds=grace)
            for name in names:
                await rig.gone(name)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while rig.node.pods:
                await asyncio.sleep(0.02)
        assert list(root.iterdir()) == []
        assert not rig.node.services.ports.addresses
        assert len(rig.node.services.ports) == 0
        assert rig.node.services.processes.running == 0
        await until_none(mark.replace(" ", "\0"))
    assert not root.exists()
    assert len(ports) >= count // 2


async def test_pods_that_come_and_go_leave_nothing() -> None:
    await play_pods(12, 6)


@pytest.mark.real  # needs no server but time
@pytest.mark.timeout(300)
async def test_two_hundred_pods_leave_nothing() -> None:
    await play_pods(200, 25)


async def test_pods_end_with_the_node() -> None:
    mark = f"85{os.getpid()}"
    client = Client(ApiServer().transport(), field_manager="test")
    async with local_node(client, settings=QUICK) as node:
        rig = PodRig(client, "default", node)
        await rig.run({"command": ["sh", "-c", f"trap '' TERM; sleep {mark} & wait; sleep {mark}"]})
        await until_some(f"sleep\0{mark}", 1)
    assert not marked(mark)
    assert not node.services.folder.exists()


NODE = """
    import asyncio
    from tests.support.node.rig import embedded_rig

    async def main():
        async with embedded_rig() as rig:
            script = "trap '' TERM; (setsid sleep MARK &); sleep MARK"
            await rig.run({"command": ["sh", "-c", script]})
            await rig.ready()
            print("ready", flush=True)
            await asyncio.sleep(1000)

    asyncio.run(main())
"""


async def test_everything_dies_with_a_node_that_is_killed() -> None:
    mark = f"84{os.getpid()}"
    root = Path(__file__).parents[4]
    program = textwrap.dedent(NODE).replace("MARK", mark)
    with subprocess.Popen(  # noqa: ASYNC220 - read once
        [sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    ) as node:  # fmt: skip
        assert node.stdout is not None
        assert await asyncio.to_thread(node.stdout.readline) == b"ready\n"
        try:
            await until_some(f"sleep\0{mark}", 2)
        finally:
            node.send_signal(signal.SIGKILL)
    await until_none(f"sleep\0{mark}")


async def test_everything_dies_with_the_supervisor(tmp_path: Path) -> None:
    mark = f"83{os.getpid()}"
    async with local_processes() as processes:
        launch = Launch(["sleep", mark], {"PATH": os.environ["PATH"]}, tmp_path, tmp_path / "log")
        process = await processes.start(launch)
        os.kill(parent_of(process.pid), signal.SIGKILL)
        await until_none(f"sleep\0{mark}")


async def test_a_program_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    async with local_processes() as processes:
        with pytest.raises(StartFailed, match="No such file or directory"):
            await processes.start(Launch(["no-such"], {"PATH": "/bin"}, tmp_path, tmp_path / "l"))
        with pytest.raises(StartFailed, match="null byte"):
            await processes.start(Launch(["true"], {"A": "\0"}, tmp_path, tmp_path / "l"))
        folder = tmp_path / "no-such-folder"
        with pytest.raises(StartFailed):
            await processes.start(Launch(["true"], {"PATH": "/bin"}, folder, tmp_path / "l"))


async def test_logs_are_kept_on_request(tmp_path: Path) -> None:
    async with embedded_rig(QUICK) as rig:
        await rig.run({"command": ["sh", "-c", "echo hello; sleep 1000"]})
        await rig.prints("hello")
        rig.node.keep_logs(tmp_path)
        kept = tmp_path / f"{rig.namespace}.p" / "main" / "0.log"
        assert kept.read_text("utf-8") == "hello\n"


async def test_a_pod_that_cannot_be_run_does_not_end_the_others() -> None:
    client = Client(ApiServer().transport(), field_manager="test")
    wrong: Any = (1,)
    async with local_node(client, settings=QUICK, images={"wrong:*": Program(wrong)}) as node:
        rig = PodRig(client, "default", node)
        await rig.run({"image": "wrong:1"}, name="wrong")
        told = await rig.event("FailedSync", name="wrong")
        assert told["message"] == "Error syncing pod, skipping: ExceptionGroup"
        await rig.run({"command": ["sleep", "1000"]})
        await rig.ready()
        assert len(node.pods) == 1
