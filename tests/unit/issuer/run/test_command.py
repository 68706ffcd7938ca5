"""What is typed wrongly is told in one line."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

EXAMPLE = Path(__file__).parents[4] / "examples" / "issuer.py"


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    path = tmp_path / "kubeconfig"
    config = {
        "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "a", "context": {"cluster": "a"}}],
        "current-context": "a",
    }
    path.write_text(yaml.safe_dump(config), "utf-8")
    return path


def test_an_address_in_use_is_named(kubeconfig: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        words: list[str | Path] = [
            "--no-preflight",
            "--no-leader-elect",
            "--kubeconfig",
            kubeconfig,
        ]
        done = subprocess.run(  # it configures logs: a process of its own
            [sys.executable, EXAMPLE, "run", *words, "--probes", address],
            capture_output=True,
            check=False,
            text=True,
        )
    assert done.returncode == 2
    told = done.stderr.splitlines()[-1]
    assert told == f"error: --probes {address}: Address already in use; choose another"


TELLS_ITS_LOOP = """
import asyncio, os, signal, sys
from certwright.issuers.selfsigned import app

@app.on_startup
async def tell():
    print(type(asyncio.get_running_loop()).__module__, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)

app.main(sys.argv[1:])
"""


def test_it_runs_on_uvloop_where_that_is_installed(kubeconfig: Path) -> None:
    words: list[str | Path] = [
        "run",
        "--no-preflight",
        "--no-leader-elect",
        "--kubeconfig",
        kubeconfig,
    ]
    done = subprocess.run(
        [sys.executable, "-c", TELLS_ITS_LOOP, *words], capture_output=True, check=False, text=True
    )
    assert done.stdout.split() == ["uvloop"], done.stderr


FAILS_AT_START = """
import sys
from certwright.issuers.selfsigned import app

@app.on_startup
def read_token():
    open("/nowhere/token")

app.main(sys.argv[1:])
"""


def test_a_failing_startup_is_told_with_the_authors_line(kubeconfig: Path, tmp_path: Path) -> None:
    program = tmp_path / "mine.py"
    program.write_text(FAILS_AT_START, "utf-8")
    words = ["run", "--no-preflight", "--no-leader-elect", "--kubeconfig", str(kubeconfig)]
    done = subprocess.run(
        [sys.executable, program, *words], capture_output=True, check=False, text=True
    )
    assert done.returncode == 1
    what, where = done.stderr.partition("not started:\n")[2].splitlines()
    assert what.startswith("the function read_token of on_startup raised FileNotFoundError: [Errno")
    assert where == '  mine.py:7 in read_token: open("/nowhere/token")'
