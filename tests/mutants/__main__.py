"""The command line: ``python -m tests.mutants``."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.mutants.claims import claims, number_of
from tests.mutants.mutant import COMPLETE, PARTS, SCENARIOS, Mutant, load
from tests.mutants.run import Fate, failing, trials

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Try the mutants; return 0 if each of them was noticed and each scenario has one."""
    parser = argparse.ArgumentParser(description="Try mutants of the product on the tests.")
    choices = [*SCENARIOS, *PARTS]
    parser.add_argument("--spec", choices=choices, help="by default that of --only, or MR")
    parser.add_argument("--only", nargs="*", default=[], metavar="SCENARIO")
    parser.add_argument("--file", default="", help="only mutants of files with this in their path")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    options = parser.parse_args()
    spec = options.spec or (options.only[0].rpartition("-")[0] if options.only else "MR")
    claimed = claims(ROOT)
    mutants = [m for m in load(spec) if not options.only or m.scenario in options.only]
    wrong = _missing(spec, mutants, claimed, options.only)
    ready = [m for m in mutants if m.tests(claimed) and options.file in m.file]
    if not ready:  # pytest without a test would run all there are
        _say("\n".join([*wrong, f"no mutant of {spec} to try"]))
        return 1
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tests = sorted({test for mutant in ready for test in mutant.tests(claimed)})
        _say(f"{len(tests)} claiming tests without any mutant …")
        if failed := failing(ROOT, Path(folder), tests, options.jobs):
            _say("\n".join(["They must pass before mutants can be tried:", *failed]))
            return 1
        tried = trials(ROOT, Path(folder), ready, claimed, options.jobs)
        for number, trial in enumerate(tried, start=1):
            line = f"{number:4}/{len(ready)} {trial.fate:8} {trial.seconds:6.1f} s  {trial.mutant}"
            _say(line)
            if trial.fate is not Fate.KILLED:
                wrong.append(f"{trial.fate} {trial.mutant}\n         {trial.detail}")
    _say("\n".join(["", *wrong, f"{len(ready)} mutants tried, {len(wrong)} problem(s)"]))
    return 1 if wrong else 0


def _missing(
    spec: str, mutants: list[Mutant], claimed: dict[str, list[str]], only: list[str]
) -> list[str]:
    """Return which scenarios have no mutant, and which mutants no test."""
    if spec in PARTS:
        return []
    every = [f"{spec}-{number}" for number in range(1, SCENARIOS[spec] + 1)]
    wanted = only or [name for name in every if spec in COMPLETE or name in claimed]
    have = {mutant.scenario for mutant in mutants}
    found = [f"NO MUTANT {name}" for name in sorted(wanted, key=number_of) if name not in have]
    return found + [f"NO TEST claims {name}" for name in sorted(have - set(claimed))]


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a program


if __name__ == "__main__":
    sys.exit(main())
