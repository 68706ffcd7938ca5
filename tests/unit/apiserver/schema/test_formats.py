import pytest

from certwright.apiserver.schema import formats


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date-time", "2024-01-01T00:00:00+02:00", "2024-01-01"),
        ("date", "2024-01-01", "2024-13-01"),
        ("duration", "1h30m", "an hour"),
        ("byte", "Zm9v", "!"),
        ("ipv4", "1.2.3.4", "1.2.3"),
        ("ipv6", "::1", "1.2.3.4"),
        ("cidr", "10.0.0.0/8", "10.0.0.0"),
        ("uuid", "5a3b1c34-3c9f-4c1b-8a52-8b3d1a2c4e5f", "x"),
        ("uuid3", "6fa459ea-ee8a-3ca4-894e-db77e160355e", "5a3b1c34-3c9f-4c1b-8a52-8b3d1a2c4e5f"),
        ("hostname", "a.example", "-a"),
        ("email", "a@b.c", "a"),
        ("uri", "https://a.b/c", "a b"),
        ("mac", "00:11:22:33:44:55", "00:11"),
    ],
)
def test_formats(name: str, good: str, bad: str) -> None:
    assert formats.is_valid(name, good)
    assert not formats.is_valid(name, bad)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^a+$", "aaa", True),
        ("^a+$", "aaa\n", False),  # Python's $ would match before the newline
        ("b", "abc", True),
        (r"^a\z", "a", True),
        (r"^[$]a$", "$a", True),
        ("(?m)^a$", "b\na\nc", True),
        ("(", "anything", False),
        ("a" * 5000, "a", False),
    ],
)
def test_patterns_mean_what_they_mean_in_go(pattern: str, text: str, *, found: bool) -> None:
    assert formats.matches(pattern, text) is found


def test_huge_texts_are_not_searched() -> None:
    assert not formats.matches("(a+)+$", "a" * 200_000)
