"""The text of a value as a flag takes it, by the type of the flag.

JSON and YAML know numbers, and the flags of Go programs know several kinds of them. What is written
never has an exponent, and a duration never lacks its unit.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, Final

from certwright.kube.durations import parse_nanoseconds
from certwright.operators.certmanager.flags.table import KnownFlag
from certwright.operators.certmanager.request import FlagValue

LONGEST: Final = 16384
"""Characters of one value; all arguments of a process together have little more room."""
_NUMBER: Final = re.compile(r"[0-9]+(\.[0-9]+)?", re.ASCII)
_PAIR: Final = re.compile(r"[^=,\s]+=[^,]*")


class InvalidValue(ValueError):
    """A value that its flag does not take; the text says what it takes."""


def texts_of(flag: KnownFlag, value: FlagValue) -> tuple[str, ...]:
    """Return the value as text, one for each argument; `InvalidValue` if the flag takes no such."""
    items = _TYPES[flag.type](value)
    if sum(len(item) + 1 for item in items) > LONGEST:
        raise InvalidValue(f"is longer than {LONGEST} characters")
    if any("\0" in item for item in items):
        raise InvalidValue("contains a NUL character")
    if flag.type in _MANY and flag.style != "repeat":
        return (",".join(items),)
    return items or ("",)


def _string(value: FlagValue) -> tuple[str, ...]:
    return (_scalar(value, "a string"),)


def _bool(value: FlagValue) -> tuple[str, ...]:
    if isinstance(value, bool):
        return ("true" if value else "false",)
    if value in ("true", "false"):
        return (str(value),)
    raise InvalidValue("must be true or false")


def _int(value: FlagValue) -> tuple[str, ...]:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return (str(value),)
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return (str(int(value)),)
    raise InvalidValue("must be a whole number that is not negative, such as 10250")


def _float(value: FlagValue) -> tuple[str, ...]:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return (value,)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15:
        return (_decimal(value),)
    raise InvalidValue("must be a number that is not negative, such as 20 or 0.5")


def _duration(value: FlagValue) -> tuple[str, ...]:
    text = value if isinstance(value, str) else _decimal(value) if _is_number(value) else ""
    if _NUMBER.fullmatch(text) and text != "0":
        raise InvalidValue(
            f"is a duration and needs a unit: write {text}s for seconds, {text}m for minutes or "
            f"{text}h for hours"
        )
    try:
        negative = parse_nanoseconds(text) < 0
    except ValueError as error:
        raise InvalidValue("must be a duration such as 15s, 1h30m or 100ms") from error
    if negative:
        raise InvalidValue("must be a duration that is not negative")
    return (text,)


def _list(value: FlagValue) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(item.strip() for item in value.split(",")) if value else ()
    if isinstance(value, Sequence):
        return tuple(_scalar(item, "a list of strings") for item in value)
    if isinstance(value, Mapping):
        return _map(value)
    raise InvalidValue("must be a list, or a text with commas")


def _map(value: FlagValue) -> tuple[str, ...]:
    if isinstance(value, Mapping):
        pairs = [f"{key}={_scalar(item, 'a map of texts')}" for key, item in value.items()]
    else:
        pairs = list(_list(value))
    if not all(_PAIR.fullmatch(pair) for pair in pairs):
        raise InvalidValue("must be a map, or texts of the form name=value")
    return tuple(sorted(pairs))


_TYPES: Final[Mapping[str, Callable[[FlagValue], tuple[str, ...]]]] = {
    "s": _string,
    "b": _bool,
    "i": _int,
    "f": _float,
    "d": _duration,
    "l": _list,
    "m": _map,
}
_MANY: Final = frozenset("lm")


def _scalar(value: Any, what: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if _is_number(value):
        return _decimal(value)
    raise InvalidValue(f"must be {what}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _decimal(value: Any) -> str:
    """Return a number without an exponent, and without a fraction if it is whole."""
    if isinstance(value, float):
        if value.is_integer():
            value = int(value)
        elif isfinite(value):
            return f"{value:.15f}".rstrip("0")
    return str(value)
