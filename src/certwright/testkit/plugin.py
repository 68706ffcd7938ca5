"""The pytest plugin: fixtures that give a test its cluster, embedded or real.

An async test that uses an embedded cluster runs on a `VirtualLoop` whose seed is derived
from the test's name, unless it is marked ``real_time``; every other test keeps the loop it would
have without this plugin.

pytest loads this module in every project that has certwright installed, so it imports
nothing that is not needed and its options carry certwright's name.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest

try:
    from pytest_asyncio import fixture as async_fixture
except ImportError:  # then the fixtures cannot be used; pytest itself must start all the same
    async_fixture = pytest.fixture  # type: ignore[assignment]

if TYPE_CHECKING:
    from certwright.testkit.certmanager import CertManager
    from certwright.testkit.cluster import Cluster
    from certwright.testkit.controlplane import ControlPlane
    from certwright.testkit.embedded import EmbeddedCluster
    from certwright.testkit.real import RealCluster

REAL = "CERTWRIGHT_TEST_REAL"
SEEDS = "CERTWRIGHT_SEEDS"
REPLAY = "CERTWRIGHT_REPLAY"

REAL_TIME = "real_time"
"""The marker of tests whose controllers talk to something over a socket."""

_LOOP_PARAMETER = "_asyncio_loop_factory"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options; each has an environment variable that says the same."""
    group = parser.getgroup("certwright", "certwright: clusters and simulation")
    group.addoption(
        "--certwright-real",
        action="store_true",
        default=os.environ.get(REAL, "") not in {"", "0"},
        help=f"also run tests on the real control plane (or set {REAL}=1)",
    )
    group.addoption(
        "--certwright-seeds",
        metavar="N",
        help=f"how many seeds each simulation campaign runs (or set {SEEDS})",
    )
    group.addoption(
        "--certwright-replay",
        metavar="RUN",
        help=f"repeat one run of a simulation, as named in its failure (or set {REPLAY})",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, and tell the simulation what was asked for."""
    config.addinivalue_line("markers", "real: needs the real control plane (--certwright-real)")
    config.addinivalue_line("markers", f"{REAL_TIME}: gives `cluster` real time, and sockets")
    for option, variable in (("--certwright-seeds", SEEDS), ("--certwright-replay", REPLAY)):
        if value := config.getoption(option):
            os.environ[variable] = value


@pytest.hookimpl(optionalhook=True, trylast=True)
def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Give each test the loops its cluster needs; a test with two runs twice."""
    either = _uses(item, "cluster")
    if not either and not _uses(item, "embedded_cluster"):
        return {"asyncio": asyncio.new_event_loop}
    from certwright.testkit.time.virtual import VirtualLoop

    factories: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
        "embedded": asyncio.new_event_loop
        if item.get_closest_marker(REAL_TIME)
        else partial(VirtualLoop, crc32(item.nodeid.encode()))
    }
    if either and config.getoption("--certwright-real"):
        factories["real"] = _new_real_loop
    return factories


def _uses(item: pytest.Item, fixture: str) -> bool:
    """Return whether a test asks for a fixture of this plugin, and not for another of that name."""
    found = getattr(item, "_fixtureinfo", None)
    definitions = found.name2fixturedefs.get(fixture, ()) if found else ()
    return any(definition.func.__module__ == __name__ for definition in definitions[-1:])


def _new_real_loop() -> asyncio.AbstractEventLoop:
    """Make the loop of a test on the real control plane; its identity marks such tests."""
    return asyncio.new_event_loop()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that need the real control plane, and leave them out unless asked for."""
    real: list[pytest.Item] = []
    embedded: list[pytest.Item] = []
    for item in items:
        (real if _needs_real(item) else embedded).append(item)
    for item in real:
        item.add_marker("real")
    if real and not config.getoption("--certwright-real"):
        config.hook.pytest_deselected(items=real)
        items[:] = embedded
        config.stash[_LEFT_OUT] = len(real)


def _needs_real(item: pytest.Item) -> bool:
    if item.get_closest_marker("real"):
        return True
    if any(_uses(item, fixture) for fixture in ("real_cluster", "cert_manager")):
        return True
    parameters: Mapping[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    return parameters.get(_LOOP_PARAMETER) is _new_real_loop


_LEFT_OUT = pytest.StashKey[int]()


def pytest_report_collectionfinish(config: pytest.Config) -> str:
    """Report which tests were left out, and how to run them."""
    left_out = config.stash.get(_LEFT_OUT, 0)
    if not left_out:
        return ""
    return f"{left_out} test(s) need the real control plane and were left out: --certwright-real"


@async_fixture
async def embedded_cluster() -> "AsyncIterator[EmbeddedCluster]":
    """Give an embedded server and virtual time."""
    from certwright.testkit.embedded import EmbeddedCluster

    async with EmbeddedCluster() as cluster:
        yield cluster


@async_fixture
async def real_cluster(control_plane_kubeconfig: Path) -> "AsyncIterator[RealCluster]":
    """Give a namespace of its own on the real control plane."""
    from certwright.testkit.real import RealCluster

    async with RealCluster(control_plane_kubeconfig) as cluster:
        yield cluster


@async_fixture
async def cluster(request: pytest.FixtureRequest) -> "AsyncIterator[Cluster]":
    """Give the embedded or the real cluster, whichever this run of the test is for."""
    from certwright.testkit.embedded import EmbeddedCluster
    from certwright.testkit.real import RealCluster
    from certwright.testkit.realtime import RealTimeCluster

    made: Cluster
    if request.node.get_closest_marker("real"):
        made = RealCluster(request.getfixturevalue("control_plane_kubeconfig"))
    elif request.node.get_closest_marker(REAL_TIME):
        made = RealTimeCluster()
    else:
        made = EmbeddedCluster()
    async with made:
        yield made


_LOGS = pytest.StashKey[Path]()


@pytest.fixture(scope="session")
def control_plane_kubeconfig(request: pytest.FixtureRequest) -> Iterator[Path]:
    """Start the real control plane once per session and return an administrator's kubeconfig.

    When a test failed, the logs of its processes are kept.
    """
    from certwright.testkit.controlplane import control_plane
    from certwright.testkit.real import shared

    with shared(control_plane) as plane:
        yield plane.kubeconfig
        _keep_logs(request, plane)


@pytest.fixture(scope="session")
def cert_manager(request: pytest.FixtureRequest) -> "Iterator[CertManager]":
    """Start a control plane with the real cert-manager once per session.

    It is not the control plane of the other tests: there, requests must not be approved.
    """
    from certwright.testkit.certmanager import obtain_cert_manager
    from certwright.testkit.controlplane import AssetsMissing
    from certwright.testkit.real import control_plane_with_cert_manager, shared

    try:
        obtain_cert_manager()
    except AssetsMissing as missing:
        pytest.skip(str(missing))
    with shared(control_plane_with_cert_manager) as installed:
        yield installed
        _keep_logs(request, installed.plane)


@async_fixture
async def cert_manager_cluster(cert_manager: "CertManager") -> "AsyncIterator[RealCluster]":
    """Give a namespace of its own on the control plane that cert-manager runs on."""
    from certwright.testkit.real import RealCluster

    async with RealCluster(cert_manager.plane.kubeconfig) as cluster:
        yield cluster


def _keep_logs(request: pytest.FixtureRequest, plane: "ControlPlane") -> None:
    if request.session.testsfailed:
        kept = request.config.rootpath / ".pytest_cache" / "control-plane-logs"
        plane.keep_logs(kept)
        request.config.stash[_LOGS] = kept


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Report where the logs of the real control plane are, if they were kept."""
    if kept := config.stash.get(_LOGS, None):
        terminalreporter.write_line(f"logs of the real control plane are in {kept}")
