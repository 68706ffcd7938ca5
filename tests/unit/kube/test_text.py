import pytest

from certwright.kube.text import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("gateway é", "gateway é"),
        ("a\nb\x1b[31m", "a\\nb\\x1b[31m"),
        ("\u202ereversed", "\\u202ereversed"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_is_not_printable_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown
