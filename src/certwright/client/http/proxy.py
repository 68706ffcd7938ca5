"""The proxy that the environment asks for, by the rules of Go's HTTP client.

``HTTPS_PROXY``, ``HTTP_PROXY`` and ``NO_PROXY`` in either case. Loopback addresses are never
proxied. ``NO_PROXY`` lists host names (subdomains included), addresses and networks, each
optionally with a port, or ``*``.
"""

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

_PORTS = {"http": 80, "https": 443}


def proxy_for(server: str, environ: Mapping[str, str]) -> str:
    """Return the proxy URL for a server, or the empty string for a direct connection."""
    url = urlsplit(server)
    name = f"{url.scheme}_proxy"
    proxy = environ.get(name.upper()) or environ.get(name) or ""
    if not proxy or not url.hostname:
        return ""
    excluded = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    port = url.port or _PORTS[url.scheme]
    if _is_direct(url.hostname, port, excluded):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_direct(host: str, port: int, excluded: str) -> bool:
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    entries = (entry.strip().lower() for entry in excluded.split(","))
    return any(_matches(host.lower(), address, port, entry) for entry in entries if entry)


def _matches(host: str, address: IPv4Address | IPv6Address | None, port: int, entry: str) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        try:
            return address is not None and address in ip_network(entry, strict=False)
        except ValueError:
            return False
    name, _, wanted_port = entry.rpartition(":")
    if wanted_port.isdigit() and _address(entry) is None:
        if int(wanted_port) != port:
            return False
        entry = name
    entry = entry.strip("[]")
    if address is not None:
        return address == _address(entry)
    suffix = entry.removeprefix("*").removeprefix(".")
    return host.endswith(f".{suffix}") or (host == suffix and not entry.startswith((".", "*")))


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None
