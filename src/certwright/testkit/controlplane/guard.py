"""Run one command that must not outlive its parent, not even one killed with SIGKILL.

Started as ``python -I guard.py COMMAND...`` with a pipe as standard input. The pipe closes when
the parent ends, however it ends; the guard then ends the command. On Linux the kernel does the
same should the guard itself be killed.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys

_GRACE_SECONDS = 5
_PR_SET_PDEATHSIG = 1


def main() -> int:
    """Run the command given as arguments until it ends or standard input closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    child = subprocess.Popen(  # noqa: S603 - the parent's own arguments
        sys.argv[1:],
        stdin=subprocess.DEVNULL,
        preexec_fn=_die_with_guard,  # noqa: PLW1509 - this process has one thread
    )
    while child.poll() is None:
        readable, _, _ = select.select([sys.stdin], [], [], 0.2)
        if readable and not os.read(sys.stdin.fileno(), 1):
            child.terminate()
            try:
                child.wait(_GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
    return child.returncode


def _die_with_guard() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
