"""Regular expressions over names, in linear time."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.operators.rollout.patterns import LONGEST, NamePattern, PatternError


@pytest.mark.parametrize(
    ("expression", "name", "expected"),
    [
        ("web-tls", "web-tls", True),
        ("web-tls", "web-tls-2", False),
        ("web-.*", "web-", True),
        ("web-.+", "web-", False),
        ("^web$", "web", True),
        ("a|b|cc", "cc", True),
        ("(ab)+", "ababab", True),
        ("(?:ab)?c", "c", True),
        ("[a-c]{2,3}", "abc", True),
        ("[a-c]{2,3}", "abca", False),
        ("[^a-c]x", "dx", True),
        (r"v\d+\.\d", "v12.3", True),
        (r"\w{3}", "a-b", False),
        ("a{2,}", "aaaa", True),
        ("a.c", "a.c", True),
        ("[]x]y", "]y", True),
    ],
)
def test_expressions(expression: str, name: str, *, expected: bool) -> None:
    assert NamePattern.parse(expression).matches(name) is expected
    assert bool(re.fullmatch(expression, name)) is expected


@pytest.mark.parametrize("expression", ["(a+)+b", "(a|a)*b", "(a*)*b", "(.*)*b", "((a?){20}){20}b"])
def test_expressions_that_make_others_backtrack(expression: str) -> None:
    began = time.process_time()
    assert not NamePattern.parse(expression).matches("a" * 250)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "expression",
    ["(", ")", "*a", "a{3", "a{9999}", "a{3,2}", "[a", "[z-a]", r"\p", r"(\w)\1", "(?=a)", "a^b",
     "x" * (LONGEST + 1), "(" * 40 + ")" * 40, "((a{60}){60}){60}", "a\\"],
)  # fmt: skip
def test_what_is_not_supported_is_refused(expression: str) -> None:
    with pytest.raises(PatternError):
        NamePattern.parse(expression)


ATOMS = st.sampled_from(["a", "b", "-", ".", "[ab]", "[^a]", "(ab)", "(a|b)", r"\d"])
REPEATS = st.sampled_from(["", "*", "+", "?", "{2}", "{1,2}"])
EXPRESSIONS = st.lists(st.tuples(ATOMS, REPEATS), max_size=5).map(
    lambda parts: "".join(atom + repeat for atom, repeat in parts)
)


@given(EXPRESSIONS, st.text("ab-1", max_size=8))
def test_it_matches_what_python_matches(expression: str, name: str) -> None:
    expected = bool(re.fullmatch(expression, name))
    assert NamePattern.parse(expression).matches(name) is expected
