from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.runtime.serve.logs import redact_text
from certwright.runtime.writes.events import BURST, NOTE_BYTES, shorten, spend


@given(st.text(), st.integers(3, 64))
def test_a_note_is_cut_to_bytes_and_stays_text(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert len(short.encode()) <= limit
    assert short == text or len(text.encode()) > limit


def test_half_a_surrogate_pair_becomes_text() -> None:
    assert shorten("a\ud800b", 64) == "a?b"


def test_a_long_note_says_that_it_goes_on() -> None:
    note = shorten("ü" * 2000, NOTE_BYTES)
    assert note.endswith("ü…")
    assert len(note.encode()) in {NOTE_BYTES, NOTE_BYTES - 1}


def test_a_short_note_is_not_copied() -> None:
    note = "Signed."
    assert shorten(redact_text(note), NOTE_BYTES) is note


def take(times: list[float]) -> Iterator[bool]:
    """Return whether there was a token at each of these times."""
    full_at = times[0] if times else 0.0
    for at in times:
        spent = spend(full_at, at)
        full_at = full_at if spent is None else spent
        yield spent is not None


@pytest.mark.parametrize("start", [0.0, 0.1, 1e9 / 3])
def test_a_burst_passes_then_one_per_period(start: float) -> None:
    times = [start] * 26 + [start + 299, start + 301, start + 302]
    assert list(take(times)) == [True] * 25 + [False, False, True, False]


@given(st.lists(st.floats(0, 1e6), max_size=200))
def test_a_bucket_never_gives_more_than_burst_and_refill(times: list[float]) -> None:
    assert sum(take(sorted(times))) <= BURST + max(times, default=0) / 300 + 1


def test_a_bucket_is_never_more_than_full() -> None:
    assert list(take([0.0, *[1e6] * 26]))[1:] == [True] * 25 + [False]
