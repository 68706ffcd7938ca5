"""Mutants still apply to the code, and each scenario has one. ``make mutants`` tries them."""

from pathlib import Path

import pytest
from tests.mutants.claims import claims, number_of
from tests.mutants.mutant import SCENARIOS, load


@pytest.mark.parametrize("spec", SCENARIOS)
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
    missing = sorted(wanted - have, key=number_of)
    assert not missing, f"add a mutant for each of {missing} in tests/mutants/{spec}"
    assert not wanted - claimed, f"no test claims {sorted(wanted - claimed, key=number_of)}"
    assert not have - wanted, f"there is no scenario {sorted(have - wanted, key=number_of)}"
