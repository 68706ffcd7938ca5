"""The functions Kubernetes adds to CEL, for the expression library.

Values of Kubernetes' own types (quantities, URLs, addresses) travel through the library as
maps with one private key, because it knows plain types only. Methods are functions of
their receiver: ``a.isLessThan(b)`` calls ``isLessThan(a, b)``.
"""

import ipaddress
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from certwright.apiserver.schema import formats
from certwright.kube.names import (
    dns1035_label_problems,
    dns_label_problems,
    dns_subdomain_problems,
    label_value_problems,
    qualified_name_problems,
)
from certwright.kube.quantities import Quantity

_QUANTITY: Final = "\0quantity"
_URL: Final = "\0url"
_ADDRESS: Final = "\0address"
_FORMAT: Final = "\0format"

Value = dict[str, Any]


def _quantity(text: str) -> Value:
    return {_QUANTITY: Quantity.parse(text).nanos}


def _nanos(value: Any) -> int:
    return int(value[_QUANTITY]) if isinstance(value, dict) else int(value) * 10**9


def _compare(left: Value, right: Any) -> int:
    """Compare two quantities, or two versions of anything ordered."""
    a, b = _nanos(left), _nanos(right)
    return (a > b) - (a < b)


def _is_integer(value: Value) -> bool:
    return _nanos(value) % 10**9 == 0


def _as_integer(value: Value) -> int:
    if not _is_integer(value):
        raise ValueError("cannot convert value to integer")
    return _nanos(value) // 10**9


def _url(text: str) -> Value:
    parts = urlsplit(text)
    if not parts.scheme and not text.startswith("/"):
        raise ValueError(f"URL parse error during conversion from string: {text}")
    return {_URL: text}


def _url_part(part: str) -> Callable[[Value], Any]:
    def of(value: Value) -> Any:
        parts = urlsplit(value[_URL])
        port = str(parts.port) if parts.port else ""
        host = parts.hostname or ""
        shown = f"[{host}]" if ":" in host else host
        return {
            "scheme": parts.scheme,
            "host": f"{shown}:{port}" if port else shown,
            "hostname": host,
            "port": port,
            "path": parts.path,
            "query": parse_qs(parts.query),
        }[part]

    return of


def _ip(text: str) -> Value:
    return {_ADDRESS: str(ipaddress.ip_address(text))}


def _cidr(text: str) -> Value:
    if "/" not in text:
        raise ValueError(f"{text} has no prefix length")
    return {_ADDRESS: str(ipaddress.ip_interface(text))}


def _network(value: Any) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    text = value[_ADDRESS] if isinstance(value, dict) else value
    return ipaddress.ip_network(text, strict=False)


def _contains(outer: Value, inner: Any) -> bool:
    a, b = _network(outer), _network(inner)
    return a.version == b.version and b.subnet_of(a)  # type: ignore[arg-type]


def _find(text: str, pattern: str) -> str:
    found = _find_all(text, pattern, 1)
    return found[0] if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    compiled = formats.compile_pattern(pattern)
    if compiled is None or len(text) > formats.SUBJECT_LIMIT:
        raise ValueError(f"invalid pattern {pattern!r}")
    found = [match[0] for match in compiled.finditer(text)]
    return found if limit < 0 else found[:limit]


def _index_of(container: Any, item: Any, offset: int = 0) -> int:
    if isinstance(container, str):
        return container.find(item, offset)
    return next((i for i, value in enumerate(container) if value == item), -1)


def _last_index_of(container: Any, item: Any) -> int:
    if isinstance(container, str):
        return container.rfind(item)
    return next((i for i in reversed(range(len(container))) if container[i] == item), -1)


def _format(template: str, arguments: list[Any]) -> str:
    """Fill in ``%s``, ``%d``, ``%f`` and the like, as Kubernetes allows in messages."""
    return template % tuple(_shown(value) for value in arguments)


def _shown(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict) and len(value) == 1 and next(iter(value)).startswith("\0"):
        return next(iter(value.values()))
    return value


_NAMED: Final[dict[str, Callable[[str], list[str]]]] = {
    "dns1123Label": dns_label_problems,
    "dns1123Subdomain": dns_subdomain_problems,
    "dns1035Label": dns1035_label_problems,
    "qualifiedName": qualified_name_problems,
    "labelValue": label_value_problems,
    "uri": lambda text: [] if formats.is_valid("uri", text) else ["invalid URI"],
    "uuid": lambda text: [] if formats.is_valid("uuid", text) else ["does not match the UUID form"],
    "byte": lambda text: [] if formats.is_valid("byte", text) else ["invalid base64"],
    "date": lambda text: [] if formats.is_valid("date", text) else ["invalid date"],
    "datetime": lambda text: [] if formats.is_valid("date-time", text) else ["invalid datetime"],
}


def functions(optional: Any) -> dict[str, Callable[..., Any]]:
    """Return the functions by name; *optional* is the library's class of optional values."""

    def validate(named: Value, text: str) -> Any:
        problems = _NAMED[named[_FORMAT]](text)
        return optional.of(problems) if problems else optional.none()

    return {
        "quantity": _quantity,
        "isQuantity": formats.parses(_quantity),
        "compareTo": _compare,
        "isLessThan": lambda a, b: _compare(a, b) < 0,
        "isGreaterThan": lambda a, b: _compare(a, b) > 0,
        "sign": lambda a: (_nanos(a) > 0) - (_nanos(a) < 0),
        "add": lambda a, b: {_QUANTITY: _nanos(a) + _nanos(b)},
        "sub": lambda a, b: {_QUANTITY: _nanos(a) - _nanos(b)},
        "isInteger": _is_integer,
        "asInteger": _as_integer,
        "asApproximateFloat": lambda a: _nanos(a) / 10**9,
        "url": _url,
        "isURL": formats.parses(_url),
        "getScheme": _url_part("scheme"),
        "getHost": _url_part("host"),
        "getHostname": _url_part("hostname"),
        "getPort": _url_part("port"),
        "getEscapedPath": _url_part("path"),
        "getQuery": _url_part("query"),
        "ip": _ip,
        "isIP": formats.parses(_ip),
        "cidr": _cidr,
        "isCIDR": formats.parses(_cidr),
        "family": lambda value: _network(value).version,
        "containsIP": _contains,
        "containsCIDR": _contains,
        "prefixLength": lambda value: _network(value).prefixlen,
        "find": _find,
        "findAll": _find_all,
        "isSorted": lambda items: all(a <= b for a, b in pairwise(items)),
        "indexOf": _index_of,
        "lastIndexOf": _last_index_of,
        "format": _format,
        "validate": validate,
        **{f"format.{name}": partial(dict, {_FORMAT: name}) for name in _NAMED},
    }
