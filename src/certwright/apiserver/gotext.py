"""JSON values printed the way Go prints them: the server's messages quote them so."""

from typing import Any

import orjson

_ESCAPED = str.maketrans(
    {
        "<": "\\u003c",
        ">": "\\u003e",
        "&": "\\u0026",
        "\N{LINE SEPARATOR}": "\\u2028",
        "\N{PARAGRAPH SEPARATOR}": "\\u2029",
    }
)


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
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def type_name(value: Any) -> str:
    """Print the type of a value like ``%T``."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case int():
            return "int64"
        case float():
            return "float64"
        case dict():
            return "map[string]interface {}"
        case None:
            return "%!s(<nil>)"
    return "[]interface {}"
