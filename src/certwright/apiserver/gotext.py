"""Values printed the way Go prints them: messages and columns of kube-apiserver show them so."""

from datetime import datetime, timedelta
from typing import Any, Final

import orjson

_MINDED = "<>&\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}"
_ESCAPED = str.maketrans({char: f"\\u{ord(char):04x}" for char in _MINDED})


_QUOTED = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def json_text(value: Any) -> str:
    """Print a value as JSON: keys sorted, what HTML minds escaped."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode().translate(_ESCAPED)


def plain(value: Any) -> str:
    """Print a value like ``%v``."""
    match value:
        case dict():
            return "map[" + " ".join(f"{k}:{plain(value[k])}" for k in sorted(value)) + "]"
        case list():
            return "[" + " ".join(plain(item) for item in value) + "]"
        case None:
            return "<nil>"
        case bool():
            return str(value).lower()
    return str(value)


def syntax(value: Any) -> str:
    """Print a value like ``%#v``."""
    match value:
        case dict():
            inner = ", ".join(f"{quoted(k)}:{syntax(value[k])}" for k in sorted(value))
            return f"map[string]interface {{}}{{{inner}}}"
        case list():
            return "[]interface {}{" + ", ".join(syntax(item) for item in value) + "}"
        case str():
            return quoted(value)
        case None:
            return "interface {}(nil)"
    return plain(value)


def quoted(text: str) -> str:
    """Print a string like ``%q``."""
    return f'"{text.translate(_QUOTED)}"'


def type_name(value: Any) -> str:
    """Print the type of a value like ``%T``."""
    names = {bool: "bool", str: "string", int: "int64", float: "float64",
             dict: "map[string]interface {}", type(None): "%!s(<nil>)"}  # fmt: skip
    return names.get(type(value), "[]interface {}")


def json_type(value: Any) -> str:
    """Return what Go's JSON decoder calls the type of a value."""
    names = {dict: "object", list: "array", str: "string", bool: "bool", type(None): "null"}
    return names.get(type(value), "number")


_AGES: Final = (
    # up to, large unit, small unit (shown unless zero)
    (timedelta(minutes=2), "s", ""),
    (timedelta(minutes=10), "m", "s"),
    (timedelta(hours=3), "m", ""),
    (timedelta(hours=8), "h", "m"),
    (timedelta(hours=48), "h", ""),
    (timedelta(days=8), "d", "h"),
    (timedelta(days=730), "d", ""),
    (timedelta(days=2920), "y", "d"),
    (timedelta.max, "y", ""),
)
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "y": 365 * 86400}


def age(created: datetime, now: datetime) -> str:
    """Return how long ago something was, as kubectl shortens it."""
    elapsed = now - created
    if elapsed < timedelta(0):
        return "<invalid>" if elapsed < timedelta(seconds=-1) else "0s"
    large, small = next((large, small) for limit, large, small in _AGES if elapsed < limit)
    seconds = int(elapsed.total_seconds())
    count, rest = divmod(seconds, _SECONDS[large])
    rest = rest // _SECONDS[small] if small else 0
    return f"{count}{large}{rest}{small}" if rest else f"{count}{large}"
