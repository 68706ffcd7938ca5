"""String formats and patterns of schemas.

Patterns are written for Go's RE2, which runs in linear time; Python's engine backtracks.
A pattern from a CRD is therefore translated where the two dialects differ, refused when it
is huge, and only ever run on strings of bounded length.
"""

import base64
import binascii
import ipaddress
import re
import uuid
from collections.abc import Callable
from datetime import date
from functools import lru_cache

from certwright.kube.durations import parse_duration
from certwright.kube.timestamps import parse_time

PATTERN_LIMIT = 4096
SUBJECT_LIMIT = 100_000
"""Longer strings are taken as not matching, rather than risking minutes of backtracking."""


def matches(pattern: str, value: str) -> bool:
    """Return whether a pattern is found in *value*; an invalid pattern is found in nothing."""
    compiled = compile_pattern(pattern)
    return (
        compiled is not None and len(value) <= SUBJECT_LIMIT and compiled.search(value) is not None
    )


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> re.Pattern[str] | None:
    """Return a Go pattern for Python's engine, or None when it is not a pattern."""
    if len(pattern) > PATTERN_LIMIT:
        return None
    translated = re.sub(r"(?<!\\)((?:\\\\)*)\\z", r"\1\\Z", pattern)
    # In Go, $ without (?m) matches at the very end only, not before a last newline.
    translated = _anchor_ends(translated)
    try:
        return re.compile(translated)
    except (re.error, RecursionError, OverflowError):
        return None


def _anchor_ends(pattern: str) -> str:
    result, in_class, index = [], False, 0
    multiline = "(?m" in pattern or "(?sm" in pattern or "(?im" in pattern
    while index < len(pattern):
        char = pattern[index]
        if char == "\\":
            result.append(pattern[index : index + 2])
            index += 2
            continue
        if char == "[":
            in_class = True
        elif char == "]":
            in_class = False
        result.append(r"\Z" if char == "$" and not in_class and not multiline else char)
        index += 1
    return "".join(result)


def is_valid(name: str, value: str) -> bool:
    """Return whether *value* has the format; formats the API server does not know hold always."""
    check = _CHECKS.get(name)
    return check is None or check(value)


def parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    """Return a check whether a text can be read."""

    def check(value: str) -> bool:
        try:
            parse(value)
        except ValueError:
            return False
        return True

    return check


def _base64(value: str) -> None:
    try:
        base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error


def _uuid(version: int | None) -> Callable[[str], bool]:
    def parse(value: str) -> None:
        if uuid.UUID(value).version != version and version is not None:
            raise ValueError(f"not of version {version}")

    return parses(parse)


def _cidr(value: str) -> None:
    if "/" not in value:
        raise ValueError("no prefix length")
    ipaddress.ip_interface(value)


_HOSTNAME = re.compile(r"(?!.{254})[a-zA-Z0-9_]([-a-zA-Z0-9_]{0,61}[a-zA-Z0-9_])?"
                       r"(\.[a-zA-Z0-9_]([-a-zA-Z0-9_]{0,61}[a-zA-Z0-9_])?)*\.?")  # fmt: skip
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_URI = re.compile(r"(/|[A-Za-z][A-Za-z0-9+.-]*:)[^\s]*")
_MAC = re.compile(r"([0-9A-Fa-f]{2}[:-]){5}([0-9A-Fa-f]{2})|([0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}")

_CHECKS: dict[str, Callable[[str], bool]] = {
    "date-time": parses(parse_time),
    "datetime": parses(parse_time),
    "date": parses(date.fromisoformat),
    "duration": parses(parse_duration),
    "byte": parses(_base64),
    "ipv4": parses(ipaddress.IPv4Address),
    "ipv6": parses(ipaddress.IPv6Address),
    "cidr": parses(_cidr),
    "uuid": _uuid(None),
    "uuid3": _uuid(3),
    "uuid4": _uuid(4),
    "uuid5": _uuid(5),
    "hostname": lambda value: bool(_HOSTNAME.fullmatch(value)),
    "email": lambda value: bool(_EMAIL.fullmatch(value)),
    "uri": lambda value: bool(_URI.fullmatch(value)),
    "mac": lambda value: bool(_MAC.fullmatch(value)),
}
