"""The real kubectl, on the embedded server and, where asked for, on the real one."""

import asyncio
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import pytest
from tests.support.kubectl.ready import ready_workloads

from certwright.apiserver import ApiServer
from certwright.client import connect
from certwright.runtime import Controller, Manager
from certwright.testkit.actors import workload_controllers
from certwright.testkit.controlplane import AssetsMissing, find_assets
from certwright.testkit.controlplane.assets import kubernetes_version

SECONDS = 55
MANIFESTS = Path(__file__).parent / "manifests"


@dataclass(frozen=True)
class Answer:
    """What kubectl said, and whether it was content."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Kubectl:
    """Runs kubectl as one user, in one namespace, with a home of its own."""

    binary: str
    kubeconfig: Path
    home: Path
    namespace: str = ""

    def ask(self, *words: str, stdin: str = "", **environment: str) -> Answer:
        """Run a command, whatever comes of it."""
        where = ("--namespace", self.namespace) if self.namespace else ()
        done = subprocess.run(
            [self.binary, *where, *words],
            input=stdin, capture_output=True, text=True, check=False, timeout=SECONDS,
            cwd=MANIFESTS, env=self.environment | environment,
        )  # fmt: skip
        return Answer(done.returncode, done.stdout, done.stderr)

    def __call__(self, *words: str, stdin: str = "", **environment: str) -> str:
        """Run a command that must succeed; return what it printed."""
        answer = self.ask(*words, stdin=stdin, **environment)
        assert answer.code == 0, f"kubectl {' '.join(words)}: {answer.err or answer.out}"
        return answer.out

    def refused(self, *words: str, stdin: str = "", **environment: str) -> str:
        """Run a command that must fail; return its complaint."""
        answer = self.ask(*words, stdin=stdin, **environment)
        assert answer.code != 0, f"kubectl {' '.join(words)} succeeded: {answer.out}"
        return answer.err

    def until(self, part: str, *words: str) -> str:
        """Return what a command prints, on either channel, as soon as that has a text in it.

        Servers tell of kinds some time after these are established, or gone.
        """
        deadline = time.monotonic() + SECONDS
        while True:
            answer = self.ask(*words)
            if part in answer.out + answer.err:
                return answer.out + answer.err
            told = f"kubectl {' '.join(words)} never said {part!r}: {answer.err or answer.out}"
            assert time.monotonic() < deadline, told
            time.sleep(0.1)

    @property
    def manifests(self) -> Path:
        return MANIFESTS

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "KUBECONFIG": str(self.kubeconfig),
            "GOGC": "off",  # short-lived, and hundreds of them: collecting garbage only costs
        }


@contextmanager
def running(
    kubeconfig: Path, *, embedded: bool, controllers: Sequence[Controller]
) -> Iterator[None]:
    """Run workloads, and the embedded server if asked for, in a thread with a loop of its own."""
    ready, loops = threading.Event(), []

    async def serve() -> None:
        if embedded:
            async with ApiServer(namespace_defaults=True).serve() as endpoint:
                endpoint.write_kubeconfig(kubeconfig)
                await simulate()
        else:
            await simulate()

    async def simulate() -> None:
        async with connect(kubeconfig=kubeconfig) as client:
            manager = Manager(client, controllers)
            loops.append((asyncio.get_running_loop(), manager.stop))
            ready.set()
            await manager.run()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="kubectl-server")
    thread.start()
    assert ready.wait(SECONDS)
    try:
        yield
    finally:
        for loop, stop in loops:
            loop.call_soon_threadsafe(stop)
        thread.join()


def version_of(binary: Path | str) -> str:
    """Return the version a kubectl reports, such as ``1.36.3``; empty if it does not run."""
    asked = [str(binary), "version", "--client", "--output=json"]
    try:
        done = subprocess.run(asked, capture_output=True, check=True, timeout=SECONDS)
        return str(json.loads(done.stdout)["clientVersion"]["gitVersion"]).removeprefix("v")
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        return ""


def candidates() -> list[str]:
    """Return the kubectl that was built or named, and the one in PATH."""
    try:
        assets = find_assets()
    except AssetsMissing:  # an incomplete KUBEBUILDER_ASSETS: not our business here
        assets = None
    built = str(assets.kubectl) if assets else None
    return [found for found in (built, shutil.which("kubectl")) if found]


@pytest.fixture(scope="session")
def binary() -> str:
    """Return a kubectl of the minor version that is pinned: others print and read otherwise."""
    minor = kubernetes_version().rpartition(".")[0]
    for found in candidates():
        if version_of(found).startswith(f"{minor}."):
            return found
    pytest.skip(f"no kubectl {minor}: `make test-real` builds it, or put it into PATH")


@pytest.fixture(scope="session")
def is_pinned(binary: str) -> bool:
    """Whether this is the kubectl the transcripts were recorded with."""
    return version_of(binary) == kubernetes_version()


@pytest.fixture(scope="session")
def embedded(binary: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    folder = tmp_path_factory.mktemp("embedded")
    with running(folder / "kubeconfig", embedded=True, controllers=ready_workloads()):
        yield Kubectl(binary, folder / "kubeconfig", folder)


@pytest.fixture
def real(
    binary: str, control_plane_kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kubectl]:
    # For one test only: other tests share the control plane and want to be alone with it.
    with running(control_plane_kubeconfig, embedded=False, controllers=ready_workloads()):
        yield Kubectl(binary, control_plane_kubeconfig, tmp_path_factory.mktemp("real"))


_NUMBERS = count(1)


@contextmanager
def own_namespace(kubectl: Kubectl) -> Iterator[Kubectl]:
    name = f"kubectl-{next(_NUMBERS)}"
    kubectl("create", "namespace", name)
    try:
        yield replace(kubectl, namespace=name)
    finally:
        kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real)])
def kubectl(request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """Give kubectl in a namespace of its own; the test runs on both servers if asked for."""
    with own_namespace(request.getfixturevalue(request.param)) as mine:
        yield mine


@pytest.fixture(scope="session")
def played(binary: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """Give kubectl an embedded server with the controllers of workloads and played pods."""
    folder = tmp_path_factory.mktemp("played")
    with running(folder / "kubeconfig", embedded=True, controllers=workload_controllers()):
        yield Kubectl(binary, folder / "kubeconfig", folder)
