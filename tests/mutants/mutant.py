"""Mutants as data: read from the files of a spec, checked, and applied to a copy of the tree."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

FOLDER = Path(__file__).parent
SCENARIOS = {"MR": 104, "CMD": 82, "CM": 64, "DS": 66, "ISS": 102}
"""How many scenarios each spec with mutants has."""
COMPLETE = {"MR", "ISS", "DS"}
"""Specs of which each scenario is claimed; of the others, each that is claimed has a mutant."""
PARTS = ("admission", "installs", "node", "rollouts", "webhook", "workloads")
"""Parts of the product without numbered scenarios: each of their mutants names the test."""


@dataclass(frozen=True)
class Mutant:
    """A change that the tests of a scenario must notice."""

    file: str
    old: str
    new: str
    why: str
    scenario: str = ""
    test: str = ""
    """The one that must fail, as pytest names it, where no scenario is claimed."""

    def __str__(self) -> str:
        return f"{self.scenario} {self.file}: {self.why}".strip()

    def tests(self, claims: dict[str, list[str]]) -> list[str]:
        """Return the tests of which one must fail."""
        return [self.test] if self.test else claims.get(self.scenario, [])

    def source(self, root: Path) -> Path:
        """Return the file it changes."""
        return root / "src/certwright" / self.file

    def problem(self, root: Path) -> str:
        """Return why it cannot be applied; empty if it can."""
        path = self.source(root)
        if not path.is_file():
            return f"there is no file src/certwright/{self.file}"
        times = path.read_text("utf-8").count(self.old)
        if times != 1:
            return f"its old text is in the file {times} times, not once: {self.old!r}"
        return "" if self.old != self.new else "old and new text are the same"

    def apply(self, root: Path, number: int) -> None:
        """Change a copy of the tree. Compiled code is recognised by its time: each has another."""
        path = self.source(root)
        text = path.read_text("utf-8")
        path.write_text(text.replace(self.old, self.new), "utf-8")
        time = path.stat().st_mtime + 10 * (number + 1)
        os.utime(path, (time, time))


def load(spec: str) -> list[Mutant]:
    """Return the mutants of a spec in the order of their scenarios, or those of a part."""
    if spec in PARTS:
        return list(_read(FOLDER / "parts" / f"{spec}.yaml"))
    found = [one for path in sorted((FOLDER / spec).glob("*.yaml")) for one in _read(path)]
    return sorted(found, key=lambda mutant: int(mutant.scenario.rpartition("-")[2]))


def _read(path: Path) -> Iterator[Mutant]:
    for row in yaml.safe_load(path.read_text("utf-8")):
        yield Mutant(**row)
