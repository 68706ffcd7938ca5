"""The pytest plugin, seen from a project that uses it."""

import os
import subprocess
import sys
from pathlib import Path

CONFIG = """
[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
"""

EITHER = """
import asyncio
from certwright.kube.kinds import ConfigMap
from certwright.testkit.builders import config_map

async def test_either(cluster):
    await cluster.create(config_map("a"))
    assert await cluster.names(ConfigMap, labels="!x") >= {"a"}
    assert type(asyncio.get_running_loop()).__name__ == "VirtualLoop"

async def test_plain():
    assert type(asyncio.get_running_loop()).__name__ != "VirtualLoop"
"""


def run(folder: Path, source: str, *arguments: str, **environment: str) -> str:
    (folder / "pytest.ini").write_text(CONFIG)
    (folder / "test_sample.py").write_text(source)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CERTWRIGHT")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env=kept | environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=50,
    )
    return done.stdout


def test_only_tests_with_an_embedded_cluster_get_virtual_time(tmp_path: Path) -> None:
    output = run(tmp_path, EITHER, "-v")
    assert "2 passed" in output
    assert "test_either PASSED" in output  # and no [embedded] in its name


def test_with_the_real_control_plane_a_test_exists_twice(tmp_path: Path) -> None:
    output = run(tmp_path, EITHER, "--collect-only", "-q", "--certwright-real")
    assert "test_sample.py::test_either[embedded]" in output
    assert "test_sample.py::test_either[real]" in output
    output = run(tmp_path, EITHER, "--collect-only", "-q", "-m", "real", CERTWRIGHT_TEST_REAL="1")
    assert "1/3 tests collected (2 deselected)" in output


def test_real_tests_are_left_out_and_said_to_be(tmp_path: Path) -> None:
    source = """
import pytest

async def test_fixture(real_cluster): ...

async def test_beside_cert_manager(cert_manager_cluster): ...

@pytest.mark.real
def test_marked(): ...

def test_other(): ...
"""
    output = run(tmp_path, source)
    assert "3 test(s) need the real control plane and were left out: --certwright-real" in output
    assert "1 passed, 3 deselected" in output


def test_without_go_the_fix_is_the_reason_for_the_skip(tmp_path: Path) -> None:
    """Where binaries are neither in the cache nor to be built."""
    (tmp_path / "conftest.py").write_text('import sys\nsys.executable = "/nowhere/python"\n')
    source = "def test_certificates(cert_manager): ...\n"
    without = {"PATH": "/nowhere", "CERTWRIGHT_CACHE": str(tmp_path / "cache")}
    output = run(tmp_path, source, "-rs", "--certwright-real", "-p", "no:randomly", **without)
    assert "1 skipped" in output
    assert "there is no Go: install Go 1.26 or newer" in output


def test_fixtures_of_the_same_name_are_left_alone(tmp_path: Path) -> None:
    source = """
import asyncio
import pytest

@pytest.fixture
def cluster():
    return "mine"

async def test_mine(cluster):
    assert cluster == "mine"
    assert type(asyncio.get_running_loop()).__name__ != "VirtualLoop"
"""
    assert "1 passed" in run(tmp_path, source)


def test_an_embedded_cluster_outside_virtual_time_says_what_to_do(tmp_path: Path) -> None:
    source = """
from certwright.testkit import EmbeddedCluster

async def test_wrong():
    EmbeddedCluster()
"""
    output = run(tmp_path, source)
    assert "TypeError: an embedded cluster needs virtual time" in output


def test_pytest_starts_without_what_only_the_fixtures_need(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['pytest_asyncio'] = None\n")
    output = run(
        tmp_path,
        "def test_other(): ...\n",
        "-p",
        "certwright.testkit.plugin",
        PYTHONPATH=str(tmp_path),
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
    )
    assert "1 passed" in output
