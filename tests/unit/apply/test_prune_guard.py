import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.apply import PruneGuard
from certwright.apply.objectset.prune import Held
from certwright.operators.managedresource.messages import objection
from certwright.operators.managedresource.policy import confirmation


@pytest.mark.parametrize(
    ("before", "removed", "confirmed", "held"),
    [
        (9, 9, None, False),
        (10, 5, None, False),
        (10, 6, None, True),
        (10, 10, None, True),
        (20, 10, None, False),
        (20, 11, None, True),
        (10, 6, "true", False),
        (10, 6, "6", False),
        (10, 6, "7", False),
        (10, 6, "5", True),
        (10, 6, "True", True),
        (10, 6, "", True),
        (10, 6, "-6", True),
        (10, 6, "six", True),
        (0, 0, None, False),
    ],
)
def test_when_a_deletion_has_to_be_confirmed(
    before: int, removed: int, confirmed: str | None, *, held: bool
) -> None:
    answer = confirmation(confirmed)
    assert PruneGuard().holds(before=before, removed=removed, confirmed=answer) is held


def test_what_it_says() -> None:
    assert objection(Held(removed=12, before=20), 50) == (
        "12 of 20 objects are no longer wanted, which is more than 50 %; if that is right, annotate the "
        "ManagedResource with resources.certwright.dev/confirm-prune=12"
    )


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_a_hundred_percent_switches_it_off(before: int, removed: int) -> None:
    guard = PruneGuard(percent=100)
    assert not guard.holds(before=before, removed=min(removed, before), confirmed=0)


@given(st.integers(1, 10_000), st.integers(1, 10_000))
def test_confirming_what_it_asks_for_is_enough(before: int, removed: int) -> None:
    guard, removed = PruneGuard(objects=1, percent=0), min(removed, before)
    assert guard.holds(before=before, removed=removed, confirmed=0)
    assert not guard.holds(before=before, removed=removed, confirmed=confirmation(str(removed)))
