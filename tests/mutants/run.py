"""Runs mutants: each in a copy of the tree, with the tests that claim its scenario."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.mutant import Mutant

LIMIT_SECONDS = 900.0
_COPIED = ("src", "tests", "examples", "docs", "pyproject.toml", "README.md", "CHANGELOG.md")
_TESTS_FAILED = 1
_FAILED = ("FAILED", "ERROR")


class Fate(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    SURVIVED = "SURVIVED"
    """No test noticed it."""
    STALE = "STALE"
    """It cannot be applied: the code has changed."""
    BROKEN = "BROKEN"
    """The tests could not be run: it is no small change of behaviour."""


@dataclass(frozen=True)
class Trial:
    """How a mutant fared."""

    mutant: Mutant
    fate: Fate
    detail: str = ""
    seconds: float = 0.0


def failing(root: Path, folder: Path, tests: Sequence[str], jobs: int) -> list[str]:
    """Run tests without any mutant; return the lines that name those which fail.

    A test that fails anyway would seem to notice every mutant.
    """
    copy = _copy(root, folder / "unchanged")
    done = _pytest(copy, "-n", str(jobs), *tests)
    if done.returncode == 0:
        return []
    lines = (done.stdout + done.stderr).strip().splitlines()
    return [line for line in lines if line.startswith(_FAILED)] or lines[-5:]


def trials(
    root: Path, folder: Path, mutants: Sequence[Mutant], claims: dict[str, list[str]], jobs: int
) -> Iterator[Trial]:
    """Try mutants, several at a time, each worker in a copy of its own; yield them as they end."""
    copies: SimpleQueue[Path] = SimpleQueue()
    for number in range(jobs):
        copies.put(_copy(root, folder / str(number)))

    def attempt(number: int, mutant: Mutant) -> Trial:
        copy = copies.get()
        source = mutant.source(copy)
        text, times = source.read_bytes(), source.stat()
        try:
            return _trial(copy, number, mutant, mutant.tests(claims))
        finally:
            source.write_bytes(text)
            os.utime(source, (times.st_atime, times.st_mtime))
            copies.put(copy)

    with ThreadPoolExecutor(jobs) as pool:
        pending = []
        for number, mutant in enumerate(mutants):
            if problem := mutant.problem(root):
                yield Trial(mutant, Fate.STALE, problem)
            else:
                pending.append(pool.submit(attempt, number, mutant))
        for done in as_completed(pending):
            yield done.result()


def _copy(root: Path, target: Path) -> Path:
    target.mkdir(parents=True)
    for name in _COPIED:
        source = root / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy2(source, target / name)
    return target


def _trial(copy: Path, number: int, mutant: Mutant, tests: Sequence[str]) -> Trial:
    began = time.monotonic()
    mutant.apply(copy, number)
    try:
        done = _pytest(copy, "-x", "-n", "0", *tests, seconds=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return Trial(mutant, Fate.KILLED, "it never ended", time.monotonic() - began)
    seconds = time.monotonic() - began
    if done.returncode == 0:
        return Trial(mutant, Fate.SURVIVED, f"{len(tests)} claiming test(s) passed", seconds)
    if done.returncode != _TESTS_FAILED:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-5:])
        return Trial(mutant, Fate.BROKEN, last, seconds)
    failed = [line for line in done.stdout.splitlines() if line.startswith(_FAILED)]
    return Trial(mutant, Fate.KILLED, failed[0] if failed else "", seconds)


def _pytest(
    copy: Path, *arguments: str, seconds: float | None = None
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    if (source := copy / "src").exists():
        environment["PYTHONPATH"] = str(source)  # before the installed package: the work tree
        environment["PYTHONPYCACHEPREFIX"] = str(copy.with_suffix(".bytecode"))
    options = ("-q", "-p", "no:cacheprovider", "--no-header")
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    return subprocess.run(
        command, cwd=copy, env=environment, capture_output=True, text=True, timeout=seconds,
        check=False,
    )  # fmt: skip
