"""Serial numbers: counters and clocks are told from chance, chance never from a counter."""

from collections.abc import Callable
from random import Random

import pytest

from certwright.issuer.conformance.serials import SAMPLE, serial_violations
from certwright.pki.authority import new_serial


def sample(make: Callable[[int], int]) -> list[str]:
    return [one.name for one in serial_violations([make(number) for number in range(SAMPLE)])]


@pytest.mark.parametrize("bits", [63, 64, 127, 159])
def test_random_serial_numbers_are_fine(bits: int) -> None:
    chance = Random(bits)  # noqa: S311 - the same each time
    for _ in range(200):
        assert sample(lambda _: chance.getrandbits(bits)) == []


def test_our_own_are_fine() -> None:
    assert sample(lambda _: new_serial()) == []


CHANCE = Random(7)  # noqa: S311 - the same each time
PREDICTABLE: dict[str, Callable[[int], int]] = {
    "a counter": lambda number: 1000 + number,
    "a counter behind a long prefix": lambda number: (1 << 150) + number,
    "a counter in front of a long suffix": lambda number: (number + 1) << 100,
    "a clock in nanoseconds": lambda number: 1_900_000_000_000_000_000 + number * 37_003_111,
    "32 random bits": lambda _: CHANCE.getrandbits(32),
    "56 random bits": lambda _: CHANCE.getrandbits(56),
    "32 random bits behind a prefix": lambda _: (77 << 64) + CHANCE.getrandbits(32),
}


@pytest.mark.parametrize("make", PREDICTABLE.values(), ids=PREDICTABLE.keys())
def test_serial_numbers_with_little_chance_are_named(make: Callable[[int], int]) -> None:
    assert sample(make) == ["SerialPredictable"]


def test_a_few_serial_numbers_show_repeats_only() -> None:
    assert serial_violations([1, 2]) == []
    assert [one.name for one in serial_violations([5, 5])] == ["SerialRepeated"]


@pytest.mark.parametrize("serial", [0, -5, 1 << 159, 1 << 200])
def test_a_serial_number_is_positive_and_has_20_octets_at_most(serial: int) -> None:
    assert [one.name for one in serial_violations([3, serial])] == ["SerialMalformed"]
