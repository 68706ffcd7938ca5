"""A guarded process never outlives its parent, however the parent ends."""

import signal
import subprocess
import sys
from enum import IntEnum
from importlib.util import find_spec

import pytest

found = find_spec("certwright.testkit.controlplane.guard")
assert found is not None
GUARD = str(found.origin)

PARENT = """
import subprocess, sys
guard = subprocess.Popen(
    [sys.executable, "-I", sys.argv[1],
     sys.executable, "-c", "print('started', flush=True); import threading; threading.Event().wait()"],
    stdin=subprocess.PIPE,
)
guard.wait()
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_command_dies_with_its_parent(how: IntEnum) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, GUARD], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"started\n"
    parent.send_signal(how)
    # The pipe is held by parent, guard and command: its end means that none is left.
    assert parent.stdout.read() == b""
    parent.stdout.close()
    parent.wait()


def test_the_guard_reports_how_the_command_ended() -> None:
    with subprocess.Popen(
        [sys.executable, "-I", GUARD, sys.executable, "-c", "raise SystemExit(7)"],
        stdin=subprocess.PIPE,
    ) as guard:
        assert guard.wait() == 7
