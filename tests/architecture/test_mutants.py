"""Mutants still apply to the code, and each scenario has one. ``make mutants`` tries them."""

from pathlib import Path

import pytest
from tests.mutants.claims import claims, number_of
from tests.mutants.mutant import COMPLETE, PARTS, SCENARIOS, load
from tests.mutants.run import failing


@pytest.mark.parametrize("spec", [*SCENARIOS, *PARTS])
def test_every_mutant_applies(root: Path, spec: str) -> None:
    stale = [
        f"{mutant}\n    {problem}" for mutant in load(spec) if (problem := mutant.problem(root))
    ]
    assert not stale, (
        "the code has changed below these mutants; in tests/mutants, let their old and new texts "
        "break the same behaviour in the new code, then try them with make mutants "
        "ONLY=<scenario>:\n" + "\n".join(stale)
    )


@pytest.mark.parametrize("spec", SCENARIOS)
def test_every_scenario_has_a_mutant_and_a_test(root: Path, spec: str) -> None:
    wanted = {f"{spec}-{number}" for number in range(1, SCENARIOS[spec] + 1)}
    have = {mutant.scenario for mutant in load(spec)}
    claimed = set(claims(root))
    missing = sorted((wanted if spec in COMPLETE else wanted & claimed) - have, key=number_of)
    assert not missing, f"add a mutant for each of {missing} in tests/mutants/{spec}"
    unclaimed = sorted((wanted if spec in COMPLETE else have) - claimed, key=number_of)
    assert not unclaimed, f"no test claims {unclaimed}"
    assert not have - wanted, f"there is no scenario {sorted(have - wanted, key=number_of)}"


@pytest.mark.parametrize("part", PARTS)
def test_every_mutant_of_a_part_names_a_test(root: Path, part: str) -> None:
    for mutant in load(part):
        path, _, name = mutant.test.partition("::")
        text = (root / path).read_text("utf-8") if (root / path).is_file() else ""
        assert f"def {name}(" in text if name else text, f"{mutant}: there is no {mutant.test!r}"


def test_tests_that_fail_without_a_mutant_are_named(tmp_path: Path) -> None:
    tests = tmp_path / "tree" / "tests"
    tests.mkdir(parents=True)
    tests.joinpath("test_it.py").write_text("def test_a(): pass\n\ndef test_b(): assert False\n")
    names = ["tests/test_it.py::test_a", "tests/test_it.py::test_b"]
    failed = failing(tests.parent, tmp_path / "copy", names, jobs=0)
    assert [line.split(" - ")[0] for line in failed] == ["FAILED tests/test_it.py::test_b"]
