"""Values of flags: what each type takes, and how it is written."""

from typing import Any

import pytest
from tests.support.certmanager.samplebundle import SampleFlag

from certwright.operators.certmanager.flags.values import LONGEST, InvalidValue, texts_of


def text(kind: str, value: Any, style: str = "comma") -> tuple[str, ...]:
    return texts_of(SampleFlag("x", kind, style), value)


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [
        ("s", "a b", "a b"),
        ("s", 10250, "10250"),
        ("s", 1000000.0, "1000000"),
        ("s", True, "true"),
        ("b", True, "true"),
        ("b", False, "false"),
        ("b", "true", "true"),
        ("b", "false", "false"),
        pytest.param("i", 1000000, "1000000", marks=pytest.mark.scenario("CMD-47")),
        ("i", 1e6, "1000000"),
        ("i", 60000000000, "60000000000"),
        ("i", "10250", "10250"),
        ("i", 0, "0"),
        ("f", 20, "20"),
        ("f", 0.5, "0.5"),
        ("f", 0.00001, "0.00001"),
        ("f", 1e6, "1000000"),
        ("f", "12.5", "12.5"),
        pytest.param("d", "15s", "15s", marks=pytest.mark.scenario("CMD-46")),
        ("d", "1h30m", "1h30m"),
        ("d", "0", "0"),
        ("d", 0, "0"),
        pytest.param(
            "l", ["a:1", "b:2", "c:3"], "a:1,b:2,c:3", marks=pytest.mark.scenario("CMD-12")
        ),
        ("l", "a,b", "a,b"),
        ("l", [], ""),
        ("l", {"b": 1, "a": 2}, "a=2,b=1"),
        ("m", {"B": False, "A": True}, "A=true,B=false"),
        ("m", ["B=false", "A=true"], "A=true,B=false"),
        ("m", "B=false,A=true", "A=true,B=false"),
    ],
)
def test_what_is_written(kind: str, value: Any, written: str) -> None:
    assert text(kind, value) == (written,)


@pytest.mark.scenario("CMD-12")
def test_lists_are_repeated_where_the_table_says_so() -> None:
    assert text("l", ["a", "b", "c"], "repeat") == ("a", "b", "c")
    assert text("l", "a,b", "repeat") == ("a", "b")
    assert text("l", [], "repeat") == ("",)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("s", ["a"]),
        ("s", {"a": 1}),
        ("b", "yes"),
        ("b", 1),
        ("b", "True"),
        ("i", "1e6"),
        ("i", 1.5),
        ("i", True),
        ("i", -1),
        ("i", "-1"),
        ("i", "٣"),
        ("f", "x"),
        ("f", -0.5),
        ("f", True),
        ("f", float("nan")),
        ("f", float("inf")),
        ("d", "soon"),
        ("d", "-1s"),
        ("d", True),
        ("d", ["1s"]),
        ("l", 5),
        ("l", [["a"]]),
        ("l", [{"a": 1}]),
        ("m", "nothing"),
        ("m", {"a": {"b": 1}}),
        ("m", 5),
        ("s", "a\0b"),
        ("s", "a" * (LONGEST + 1)),
        ("l", ["a" * 100] * LONGEST),
    ],
)
def test_what_is_refused(kind: str, value: Any) -> None:
    with pytest.raises(InvalidValue):
        text(kind, value)


@pytest.mark.scenario("CMD-46")
@pytest.mark.parametrize("value", ["15", 15, 15.0])
def test_a_duration_without_unit_is_explained(value: Any) -> None:
    with pytest.raises(InvalidValue, match="needs a unit: write 15s for seconds, 15m for minutes"):
        text("d", value)
