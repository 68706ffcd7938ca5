from datetime import timedelta

import pytest

from certwright.runtime import DONE, WAIT, RequeueAfter, again


def test_again_accepts_a_duration_or_seconds() -> None:
    assert again(after=timedelta(minutes=2)).after == 120.0
    assert again(after=1.5).after == 1.5


def test_the_outcomes_can_be_told_apart() -> None:
    assert DONE != WAIT
    assert DONE.after is None
    assert WAIT.after is None


@pytest.mark.parametrize("nonsense", [0, -1, timedelta(), float("inf"), float("nan")])
def test_a_duration_that_would_spin_or_never_end_is_refused(nonsense: float | timedelta) -> None:
    with pytest.raises(ValueError, match="positive and finite"):
        again(after=nonsense)
    with pytest.raises(ValueError, match="positive and finite"):
        RequeueAfter("not yet", after=nonsense)
