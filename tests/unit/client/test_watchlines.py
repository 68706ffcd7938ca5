"""Chunks become lines wherever the network cut them."""

from itertools import count, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.client.errors import LineTooLong
from certwright.client.reader import LineSplitter

LINES = st.lists(st.binary(min_size=1, max_size=40).filter(lambda line: b"\n" not in line))


@given(lines=LINES, cuts=st.lists(st.integers(0, 500)))
def test_chunk_boundaries_mean_nothing(lines: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    splitter = LineSplitter()
    found = [line for start, end in pairwise(edges) for line in splitter.feed(stream[start:end])]
    assert found == lines
    assert splitter.unfinished == 0


def test_an_unfinished_line_is_kept_and_counted() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"one\ntw") == [b"one"]
    assert splitter.unfinished == 2
    assert splitter.feed(b"o") == []
    assert splitter.unfinished == 3
    assert splitter.feed(b"\n\nthree\n") == [b"two", b"three"]
    assert splitter.unfinished == 0


def test_a_line_at_the_limit_passes() -> None:
    splitter = LineSplitter(limit=4)
    assert splitter.feed(b"12") == []
    assert splitter.feed(b"34\n") == [b"1234"]


@pytest.mark.parametrize(
    "chunks",
    [[b"12345"], [b"12", b"345"], [b"12", b"345\n"], [b"1\n12345\n"], [b"12345\n1"]],
    ids=repr,
)
def test_a_longer_line_is_refused_finished_or_not(chunks: list[bytes]) -> None:
    splitter = LineSplitter(limit=4)
    with pytest.raises(LineTooLong, match="exceeds 4 bytes"):
        list(map(splitter.feed, chunks))


def test_a_line_that_never_ends_is_refused_at_the_bound() -> None:
    splitter = LineSplitter(limit=1000)
    fed = []

    def feed_on() -> None:
        for n in count():
            fed.append(n)
            splitter.feed(b"x" * 100)

    with pytest.raises(LineTooLong):
        feed_on()
    assert len(fed) == 11
