"""What of a run with a real control plane is tried a second time."""

import pytest
from tests.support.again import FAILED, alone, to_repeat


@pytest.mark.parametrize(
    ("code", "failed", "again"),
    [
        (FAILED, {"a.py::b": True}, ["a.py::b"]),
        (0, {"a.py::b": True}, []),
        (2, {"a.py::b": True}, []),
        (FAILED, {f"a.py::{n}": True for n in range(4)}, []),
        (FAILED, {}, []),
    ],
    ids=["one", "none failed", "interrupted", "too many", "unknown"],
)
def test_few_failures_are_tried_again(code: int, failed: dict[str, bool], again: list[str]) -> None:
    assert to_repeat(code, failed) == again


def test_the_second_run_is_alone() -> None:
    options = ["-n", "3", "--certwright-real", "-m", "real or kubectl"]
    assert alone(options, ["a.py::b"]) == [*options[2:], "-n", "0", "a.py::b"]
