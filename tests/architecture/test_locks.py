"""What is installed is pinned with hashes, and the pins fit what is asked for."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)


def pins(lock: Path) -> dict[str, set[str]]:
    """Return the versions of each package in a lock: one, unless platforms differ."""
    found: dict[str, set[str]] = {}
    for name, version, _ in _PIN.findall(lock.read_text("utf-8")):
        found.setdefault(canonicalize_name(name), set()).add(version)
    return found


def wanted(*extras: str) -> list[Requirement]:
    optional = PROJECT["optional-dependencies"]
    texts = [*PROJECT["dependencies"], *(text for extra in extras for text in optional[extra])]
    return [Requirement(text) for text in texts]


def sources(*names: str) -> list[Requirement]:
    lines = [
        line
        for name in names
        for line in (ROOT / "requirements" / name).read_text("utf-8").splitlines()
    ]
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def misfits(needed: list[Requirement], locked: dict[str, set[str]]) -> list[str]:
    return [
        str(one)
        for one in needed
        if one.name != "certwright"
        and not any(one.specifier.contains(v) for v in locked.get(canonicalize_name(one.name), ()))
    ]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_every_pin_has_hashes_and_no_lock_names_a_server(lock: Path) -> None:
    text = lock.read_text("utf-8")
    assert "://" not in text
    assert "index-url" not in text
    bare = [name for name, _, rest in _PIN.findall(text) if "--hash=sha256:" not in rest]
    assert pins(lock)
    assert not bare


def test_the_locks_fit_what_is_asked_for() -> None:
    folder = ROOT / "requirements"
    extras = re.search(
        r"^RUN_EXTRAS := (.+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE
    )
    assert extras is not None
    runtime = pins(folder / "runtime.txt")
    assert not misfits(wanted(*extras[1].split()), runtime), "run make lock"
    every = [name for name in PROJECT["optional-dependencies"] if name != "testkit"]
    assert not misfits([*wanted(*every), *sources("dev.in")], pins(folder / "dev.txt"))
    for name in ("bench", "bootstrap", "go", "helm", "envoy"):
        assert not misfits(sources(f"{name}.in"), pins(folder / f"{name}.txt")), "run make lock"


def test_what_runs_is_what_was_tested() -> None:
    tested = pins(ROOT / "requirements" / "dev.txt")
    runtime = pins(ROOT / "requirements" / "runtime.txt")
    assert {name: tested.get(name) for name in runtime} == runtime


def test_nothing_is_installed_without_hashes() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    installs = [
        line.strip() for line in makefile.splitlines() if re.search(r"pip (install|sync)", line)
    ]
    assert len(installs) >= 5
    assert [
        line for line in installs if "--require-hashes" not in line and "-e ." not in line
    ] == []
