from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certwright.pki import RenewalPolicy, Validity, renewal_time
from certwright.pki.errors import RenewalPolicyError
from certwright.pki.renewal import stable_jitter

START = datetime(2030, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def days(count: int) -> Validity:
    return Validity(START, START + count * DAY)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (RenewalPolicy(), START + 60 * DAY),
        (RenewalPolicy(renew_before=10 * DAY), START + 80 * DAY),
        (RenewalPolicy(fraction=Fraction(3, 4)), START + 67.5 * DAY),
        (RenewalPolicy(fraction=Fraction(4, 5)), START + 72 * DAY),
        (
            RenewalPolicy(renew_before=timedelta(milliseconds=1)),
            START + 90 * DAY - timedelta(seconds=1),
        ),
    ],
)
def test_when_ninety_days_are_due(policy: RenewalPolicy, expected: datetime) -> None:
    assert renewal_time(days(90), policy) == expected


def test_the_result_has_whole_seconds() -> None:
    validity = Validity(START.replace(microsecond=7), START + timedelta(seconds=100))
    assert renewal_time(validity) == START + timedelta(seconds=66)


@pytest.mark.parametrize("before", [90 * DAY, 91 * DAY])
def test_a_rule_that_cannot_hold_is_refused(before: timedelta) -> None:
    with pytest.raises(RenewalPolicyError, match=r"renewBefore .* is not shorter than"):
        renewal_time(days(90), RenewalPolicy(renew_before=before))


@pytest.mark.parametrize(
    "options",
    [{"fraction": Fraction(1)}, {"fraction": Fraction(0)}, {"renew_before": timedelta(0)}],
)
def test_a_policy_that_means_nothing_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(RenewalPolicyError):
        RenewalPolicy(**options)


@pytest.mark.parametrize("jitter", [-0.1, 1.1])
def test_jitter_is_a_share(jitter: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        renewal_time(days(90), jitter=jitter)


def test_jitter_delays_by_a_tenth_of_what_remains() -> None:
    assert renewal_time(days(90), jitter=1) == START + 63 * DAY


@settings(deadline=None)
@given(
    st.integers(5, 10**9),
    st.fractions(Fraction(1, 1000), Fraction(999, 1000)),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_renewal_lies_inside_and_grows_with_jitter(
    seconds: int, fraction: Fraction, one: float, other: float
) -> None:
    validity = Validity(START, START + timedelta(seconds=seconds))
    policy = RenewalPolicy(fraction=fraction)
    early, late = (renewal_time(validity, policy, jitter=part) for part in sorted([one, other]))
    assert START <= early <= late < validity.not_after


def test_certificates_made_together_are_spread() -> None:
    times = {
        renewal_time(days(90), jitter=stable_jitter(f"shop/web-{number}")) for number in range(500)
    }
    assert len(times) > 490
    assert max(times) - min(times) > 2.8 * DAY
    assert max(times) < START + 63 * DAY


def test_jitter_is_the_same_for_the_same_identity() -> None:
    assert stable_jitter("shop/web") == stable_jitter("shop/web")
    assert stable_jitter("shop/web") != stable_jitter("shop/api")
    assert 0 <= stable_jitter("\ud800") < 1
