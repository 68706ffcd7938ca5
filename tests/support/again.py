"""Run the tests of the real control plane; try the few that failed once more, alone.

Each of them starts an API server and programs beside it, several at a time on few processors:
a webhook may not get a turn within its seconds. What passes alone is named at the end and is not
forgotten: it shows a race, of the product or of the test.

Run as ``python -m tests.support.again OPTIONS``, with the options of pytest.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

MOST = 3
"""More failures than that are no accident."""
FAILED = 1
"""How pytest ends if tests ran and some failed."""
_CACHE = Path(".pytest_cache/v/cache/lastfailed")


def to_repeat(code: int, failed: Mapping[str, bool]) -> list[str]:
    """Return which tests deserve a second run, by how the first ended."""
    tests = [one for one, still in failed.items() if still]
    return tests if code == FAILED and 0 < len(tests) <= MOST else []


def alone(options: Sequence[str], tests: Sequence[str]) -> list[str]:
    """Return the options of a second run: these tests, one after the other."""
    kept = list(options)
    if "-n" in kept:
        at = kept.index("-n")
        del kept[at : at + 2]
    return [*kept, "-n", "0", *tests]


def main(options: list[str]) -> int:
    """Run once, twice if need be; return how it ended."""
    _CACHE.unlink(missing_ok=True)
    code = _pytest(options)
    failed = json.loads(_CACHE.read_text()) if _CACHE.exists() else {}
    tests = to_repeat(code, failed)
    if not tests:
        return code
    sys.stdout.write(f"\n{len(tests)} failed beside others; once more, alone\n")
    sys.stdout.flush()
    code = _pytest(alone([one for one in options if not one.startswith("tests/")], tests))
    if not code:
        sys.stdout.write("\nfailed beside others and passed alone, a race to be found:\n")
        sys.stdout.writelines(f"  {one}\n" for one in tests)
    return code


def _pytest(options: Sequence[str]) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *options], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
