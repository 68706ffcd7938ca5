"""What holds restarts back, in every dialect."""

from datetime import timedelta

import pytest

from certwright.operators.rollout.dialects.restraint import parse_window, restrained
from certwright.operators.rollout.policy import RolloutPolicy

_PREFIX = "rollout.certwright.dev/"


def held(**annotations: str) -> RolloutPolicy:
    written = {_PREFIX + name.replace("_", "-"): value for name, value in annotations.items()}
    return restrained(RolloutPolicy(dialect="any"), written)


def test_nothing_is_held_back_by_default() -> None:
    assert held() == RolloutPolicy(dialect="any")


def test_all_of_it() -> None:
    policy = held(
        window="30 2 * * 6 for 4h in Europe/Berlin",
        minimum_interval="1h",
        quiet="45s",
        check_certificates="false",
        paused="true",
    )
    assert policy.problems == ()
    assert policy.window == parse_window("30 2 * * 6 for 4h in Europe/Berlin")
    assert policy.minimum_interval == timedelta(hours=1)
    assert policy.quiet == timedelta(seconds=45)
    assert policy.check_certificates is False
    assert policy.paused == "annotation rollout.certwright.dev/paused"


def test_why_it_is_paused_is_told_in_short() -> None:
    assert held(paused="migration").paused.endswith("; migration")
    assert len(held(paused="x" * 10_000).paused) < 300
    assert held(paused="false").paused == ""


def test_no_quiet_time_at_all_can_be_asked_for() -> None:
    assert held(quiet="0s").quiet == timedelta()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("window", "0 2 * * 6"),
        ("window", "0 2 * * 6 for ever"),
        ("window", "0 2 * * 6 for 4h in Atlantis"),
        ("window", "0 25 * * 6 for 4h"),
        ("minimum_interval", "tomorrow"),
        ("minimum_interval", "-1h"),
        ("quiet", "9000h"),
        ("check_certificates", "maybe"),
    ],
)
def test_what_makes_no_sense_is_named(name: str, value: str) -> None:
    (problem,) = held(**{name: value}).problems
    assert problem.startswith(f"annotation {_PREFIX}{name.replace('_', '-')}: ")
