"""Durations as Go writes them: ``1h30m0s``, ``1.5h``, ``100ms``.

Go counts whole nanoseconds, `timedelta` microseconds: what is smaller is cut off towards zero.
Values outside Go's range (about 292 years) are refused in both directions.
"""

import re
from datetime import timedelta

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, the micro sign
    "μs": 1_000,  # U+03BC, the Greek letter, which Go reads too
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_TERM = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]+)")
_LIMIT = 1 << 63


def parse_duration(text: str) -> timedelta:
    """Read a Go duration, cut off below microseconds; `ValueError` if *text* is none Go knows."""
    nanoseconds = parse_nanoseconds(text)
    microseconds = abs(nanoseconds) // 1_000
    return timedelta(microseconds=microseconds if nanoseconds >= 0 else -microseconds)


def format_duration(duration: timedelta) -> str:
    """Write a duration as Go would: ``1h30m0s``, ``1.5s``; `ValueError` if beyond Go's range."""
    return format_nanoseconds(duration // timedelta(microseconds=1) * 1_000)


def parse_nanoseconds(text: str) -> int:
    """Read a Go duration as nanoseconds; `ValueError` if it is none, or beyond Go's range."""
    unsigned = text[1:] if text[:1] in {"+", "-"} else text
    if unsigned == "0":
        return 0
    total = position = 0
    while position < len(unsigned) or position == 0:
        term = _TERM.match(unsigned, position)
        if term is None or not (term[1] or term[2]):
            raise ValueError(f"{text!r} is not a duration such as 1h30m, 1.5s or 100ms")
        unit = _UNITS.get(term[3])
        if unit is None:
            raise ValueError(f"{text!r} has the unit {term[3]!r}; use ns, us, ms, s, m or h")
        total += int(term[1] or "0") * unit + _fraction(term[2] or "", unit)
        position = term.end()
    if total > (_LIMIT if text.startswith("-") else _LIMIT - 1):
        raise ValueError(f"{text!r} is longer than the 292 years a duration can hold")
    return -total if text.startswith("-") else total


def format_nanoseconds(nanoseconds: int) -> str:
    """Write nanoseconds exactly as Go prints a duration; `ValueError` beyond Go's range."""
    if not -_LIMIT <= nanoseconds < _LIMIT:
        raise ValueError(f"{nanoseconds} ns is longer than the 292 years a duration can hold")
    if nanoseconds == 0:
        return "0s"
    sign, rest = ("-" if nanoseconds < 0 else ""), abs(nanoseconds)
    if rest < 1_000:
        return f"{sign}{rest}ns"
    if rest < 1_000_000:
        return f"{sign}{_decimal(rest, 3)}µs"
    if rest < 1_000_000_000:
        return f"{sign}{_decimal(rest, 6)}ms"
    minutes, rest = divmod(rest, _UNITS["m"])
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, 9)}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    if hours:
        text = f"{hours}h{text}"
    return sign + text


def _fraction(digits: str, unit: int) -> int:
    """Return the nanoseconds of a fraction.

    Go computes it with a 64-bit float from the digits that fit an int64; doing the same is
    the only way to agree with it on the last nanosecond.
    """
    number, scale = 0, 1.0
    for digit in digits:
        if number > (_LIMIT - 1) // 10:
            break
        number = number * 10 + int(digit)
        scale *= 10
    return int(float(number) * (float(unit) / scale))


def _decimal(value: int, places: int) -> str:
    whole, fraction = divmod(value, 10**places)
    if not fraction:
        return str(whole)
    return f"{whole}.{fraction:0{places}d}".rstrip("0")
