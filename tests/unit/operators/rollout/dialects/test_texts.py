"""Values of annotations: bounded, and refused with the reason."""

from datetime import UTC, datetime

import pytest

from certwright.operators.rollout.dialects.texts import (
    LONGEST,
    MOST,
    is_true,
    label_time,
    listed,
    names,
    read_map,
    write_map,
)


def test_lists_are_split_at_commas_and_each_part_counts_once() -> None:
    assert listed(" a, b,,a ,") == ["a", "b"]
    assert listed("") == []


@pytest.mark.parametrize("text", ["x" * (LONGEST + 1), ",".join(map(str, range(MOST + 1)))])
def test_lists_are_bounded(text: str) -> None:
    with pytest.raises(ValueError, match="more than the"):
        listed(text)


@pytest.mark.parametrize("name", ["A", "-a", "a/b", "a_b", "a" * 254])
def test_what_no_object_is_called_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not the name of an object"):
        names(f"fine,{name}")


@pytest.mark.parametrize(
    "text", [None, "", "null", "[]", "7", '"x"', "{", '{"a": 1}', "[" * 9000, "{}" + " " * LONGEST]
)
def test_what_is_no_map_is_an_empty_one(text: str | None) -> None:
    assert read_map(text) == {}


def test_maps_are_written_in_the_order_of_their_names() -> None:
    assert write_map({"b": "2", "a": "1"}) == '{"a":"1","b":"2"}'
    assert read_map('{"b":"2","a":"1","c":null}') == {"a": "1", "b": "2"}


@pytest.mark.parametrize("text", ["true", "1", "T"])
def test_true_as_go_reads_it(text: str) -> None:
    assert is_true(text)


@pytest.mark.parametrize("text", [None, "", "yes", "false", "tRUE"])
def test_anything_else_is_not_true(text: str | None) -> None:
    assert not is_true(text)


def test_times_in_labels_have_no_leading_zeros_in_dates() -> None:
    now = datetime(2021, 3, 2, 16, 7, 5, tzinfo=UTC)
    assert label_time(now) == "2021-3-2.1607"
    assert label_time(now, seconds=True) == "2021-3-2.160705"
