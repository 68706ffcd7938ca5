"""What kubectl makes of unquoted scalars.

The table was recorded from the YAML library of kubectl 1.36: what it wrote as JSON for
``v: <text>``, read back the way Kubernetes reads JSON. It is data, not opinion.
"""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.apply.manifests.limits import Budget
from certwright.apply.manifests.scalars import json_number, key_text, resolve_plain
from certwright.apply.manifests.yamldocument import DocumentError, read_yaml
from certwright.kube import JsonObject

TRUE = "y Y yes Yes YES on On ON true True TRUE"
FALSE = "n N no No NO off Off OFF false False FALSE"
NULL = "~ null Null NULL"
TEXT = """
    yEs oN tRue nUll None none 0xZZ 0b2 _1 1e400 -1e400 .e1 . + -- .Nan inf nan NaN Infinity 0x1p4
    0x1.8p1 .0x1 ._1 .1__1 .1_ .1_e1 .5e400 .Infinity 12:30:45 1:20 190:20:30 12:30:45.5 2001-01-01
    2001-1-1 2001-12-14t21:59:43.10-05:00 2001-12-15T02:59:43Z 2001-12-14T21:59:43.5+02:00
    2001-12-14T1:2:3Z 2001-13-45 2001-01 2001-01-01T00:00:00 = << 1,000 0.1.2 1.2.3 v1 100m 1Gi -_
    0o 0x 0b 0o8 1a e1 1e 1e+ -0b-1 0xFFFFFFFFFFFFFFFFF
"""
NUMBERS = [
    ("0", 0), ("-0", 0), ("+1", 1), ("10", 10), ("010", 8), ("0o10", 8), ("0O10", 8), ("-010", -8),
    ("+010", 8), ("08", 8), ("09", 9), ("0x1F", 31), ("0X1f", 31), ("-0x10", -16), ("0b101", 5),
    ("0B101", 5), ("-0b101", -5), ("+0b11", 3), ("0b-101", -5), ("0b+1", 1), ("1_000", 1000),
    ("1__0", 10), ("0x_1f", 31), ("0_8", 8), ("1_", 1), ("0b1_0", 2), ("+_1", 1), ("0_", 0),
    ("00", 0), ("007", 7), ("0777", 511), ("20010101", 20010101),
    ("9223372036854775807", 9223372036854775807), ("-9223372036854775808", -9223372036854775808),
    ("-0x8000000000000000", -9223372036854775808),
    ("9223372036854775808", 9.223372036854776e18), ("0x8000000000000000", 9.223372036854776e18),
    ("18446744073709551615", 1.8446744073709552e19), ("-9223372036854775809", -9.223372036854776e18),
    ("18446744073709551616", 1.8446744073709552e19), ("07777777777777777777777777", 7.777777777777778e24),
    ("123456789012345678901234567890", 1.2345678901234568e29),
    ("1.0", 1), ("1.5", 1.5), (".5", 0.5), ("-.5", -0.5), ("+.5", 0.5), ("5.", 5), ("1e3", 1000),
    ("1E3", 1000), ("1e+3", 1000), ("1e-3", 0.001), ("1.e1", 10), ("1e20", 1e20), ("1e21", 1e21),
    ("0e0", 0), ("-0.0", 0), ("12e03", 12000), ("685.230_15e+03", 685230.15), ("1.5_0", 1.5),
    (".5e1", 5), (".1_1", 0.11), (".1e1_0", 1000000000), ("1e308", 1e308), ("4.9e-324", 5e-324),
    ("1234567890123456789.0", 1234567890123456800),
]  # fmt: skip
KEYS = [
    ("yes", "true"), ("off", "false"), ("1", "1"), ("010", "8"), ("0x10", "16"), ("1.0", "1"),
    ("1.5", "1.5"), ("1e3", "1000"), ("100000.0", "100000"), ("999999.5", "999999.5"),
    ("1e6", "1e+06"), ("1234567.0", "1.234567e+06"), ("16777217.0", "1.6777216e+07"),
    ("123456789.5", "1.2345679e+08"), ("3.14159265358979", "3.1415927"), ("0.0001", "0.0001"),
    ("1e-5", "1e-05"), ("1e21", "1e+21"), ("1e-50", "0"), ("1.5e300", ".inf"), ("-1e39", "-.inf"),
    (".inf", ".inf"), (".nan", ".nan"), ("2001-01-01", "2001-01-01"), ("web", "web"), ("''", ""),
    ("+18446744073709551615", "1.8446744e+19"),
]  # fmt: skip


def plain_number(text: str) -> float:
    value = resolve_plain(text)
    assert isinstance(value, int | float)
    return value


def meaning(text: str) -> Any:
    return read_yaml(f"v: {text}", Budget())[0]["v"]


@pytest.mark.parametrize(
    ("words", "value"), [(TRUE, True), (FALSE, False), (NULL, None)], ids=["true", "false", "null"]
)
def test_words(words: str, *, value: bool | None) -> None:
    assert {text: meaning(text) for text in words.split()} == dict.fromkeys(words.split(), value)
    assert all(type(meaning(text)) is type(value) for text in words.split())


def test_what_stays_text() -> None:
    assert [meaning(text) for text in TEXT.split()] == TEXT.split()


@pytest.mark.parametrize(("text", "value"), NUMBERS, ids=[text for text, _ in NUMBERS])
def test_numbers(text: str, value: float) -> None:
    assert meaning(text) == value
    assert type(meaning(text)) is type(value)


@pytest.mark.parametrize("text", [".nan", ".NaN", ".inf", "-.Inf", "+.INF"])
def test_numbers_that_json_does_not_have_are_refused(text: str) -> None:
    with pytest.raises(DocumentError, match="not a number in JSON"):
        meaning(text)


@pytest.mark.parametrize(("text", "key"), KEYS, ids=[text for text, _ in KEYS])
def test_keys_become_text(text: str, key: str) -> None:
    assert read_yaml(f"? {text}\n: x", Budget())[0] == {key: "x"}


@pytest.mark.parametrize("text", ["null", "~", "18446744073709551615", "[a]", "{a: b}"])
def test_what_cannot_be_a_key(text: str) -> None:
    with pytest.raises(DocumentError, match="cannot be a key"):
        read_yaml(f"? {text}\n: x", Budget())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"yes"', "yes"), ("'no'", "no"), ("|\n  yes\n", "yes\n"), (">-\n  on\n", "on"),
        ("!!str yes", "yes"), ("!!str 1", "1"), ("!!int '1'", 1), ('!!int "0x10"', 16),
        ("!!bool 'yes'", True), ("!!float 1", 1), ("!!null ''", None), ("!!binary aGVsbG8=", "hello"),
        ("!!binary /w==", "\ufffd"), ("!!timestamp 2001-01-01", "2001-01-01"), ("!foo bar", "bar"),
        ("! yes", "yes"), ("! 1", "1"), ("!!str", ""), ("!foo {a: b}", {"a": "b"}),
        ("!!set {a, b}", {"a": None, "b": None}),
    ],
)  # fmt: skip
def test_quotes_and_tags(text: str, value: int | str | JsonObject | None) -> None:
    assert meaning(text) == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("!!null x", "cannot decode !!str as a !!null"),
        ("!!int", "cannot decode !!null as a !!int"),
        ("!!int yes", "cannot decode !!bool as a !!int"),
        ("!!binary '***'", "!!binary value contains invalid base64 data"),
    ],
)
def test_tags_must_fit(text: str, problem: str) -> None:
    with pytest.raises(DocumentError) as caught:
        meaning(text)
    assert caught.value.problem == problem


@given(st.integers())
def test_integers_mean_themselves(number: int) -> None:
    value = json_number(plain_number(str(number)))
    assert value == (number if -(2**63) <= number < 2**63 else float(number))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_keep_their_value(number: float) -> None:
    value = json_number(plain_number(repr(number)))
    assert float(value) == number
    assert isinstance(value, float) or -(2**63) <= value < 2**63


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_keys_of_numbers_tell_them_apart(number: float) -> None:
    assert math.isclose(float(key_text(number)), number, rel_tol=1e-7, abs_tol=1e-45)


@given(st.text(min_size=1))
def test_any_text_means_something(text: str) -> None:
    assert isinstance(resolve_plain(text), str | int | float | bool | None)
