from hypothesis import given
from hypothesis import strategies as st

from certwright.runtime.events import BURST, NOTE_BYTES, TokenBucket, shorten


@given(st.text(), st.integers(3, 64))
def test_a_note_is_cut_to_bytes_and_stays_text(text, limit):
    short = shorten(text, limit)
    assert len(short.encode()) <= limit
    assert short == text or len(text.encode()) > limit


def test_half_a_surrogate_pair_becomes_text():
    assert shorten("a\ud800b", 64) == "a?b"


def test_a_long_note_says_that_it_goes_on():
    note = shorten("ü" * 2000, NOTE_BYTES)
    assert note.endswith("ü…")
    assert len(note.encode()) in {NOTE_BYTES, NOTE_BYTES - 1}


def test_a_burst_passes_then_one_per_period():
    bucket = TokenBucket(BURST, 0.0)
    assert [bucket.take(0.0) for _ in range(26)] == [True] * 25 + [False]
    assert not bucket.take(299.0)
    assert bucket.take(301.0)
    assert not bucket.take(302.0)


@given(st.lists(st.floats(0, 1e6), max_size=200))
def test_a_bucket_never_gives_more_than_burst_and_refill(times):
    bucket = TokenBucket(BURST, 0.0)
    given_out = sum(bucket.take(at) for at in sorted(times))
    assert given_out <= BURST + max(times, default=0) / 300 + 1
