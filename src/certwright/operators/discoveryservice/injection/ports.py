"""The ports of a sidecar, from two annotations: ``http:8080,dns:5353:UDP`` and ``http:18080``."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from certwright.kube import JsonObject

PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
LOWEST, HIGHEST = 1024, 65535
"""Envoy runs without the right to listen on lower ones."""
MOST_PORTS: Final = 100

_NAME = re.compile(r"(?=.*[a-z])[a-z0-9]([a-z0-9]|-(?=[a-z0-9])){0,14}")
"""As the API server asks for: at most 15 characters, with a letter, no two dashes in a row."""
_NUMBER = re.compile(r"[0-9]{1,5}")


class BadItem(ValueError):
    """An item of a list that cannot be followed; the message names it."""


@dataclass(frozen=True, slots=True)
class SidecarPort:
    """One port of the Envoy container."""

    name: str
    number: int
    protocol: str = ""
    """As it was written; the API server takes none for TCP."""
    host_port: int = 0

    def as_json(self) -> JsonObject:
        """Return the port as a container has it."""
        port: JsonObject = {"name": self.name, "containerPort": self.number}
        if self.protocol:
            port["protocol"] = self.protocol
        if self.host_port:
            port["hostPort"] = self.host_port
        return port


def read_ports(text: str, host_ports: Mapping[str, int]) -> Iterator[SidecarPort | str]:
    """Yield the ports that an annotation lists, and warnings; `BadItem` if one cannot be followed.

    *host_ports* are the ports of the node by name.
    """
    names: set[str] = set()
    for item in _items(text):
        name, _, rest = item.partition(":")
        number, *further = rest.split(":")
        if not number:
            raise BadItem(f"{item!r} is not name:port or name:port:protocol")
        if not _NAME.fullmatch(name):
            raise BadItem(
                f"{item!r}: {name!r} is not the name of a port (at most 15 of a-z, 0-9, -)"
            )
        if name in names:
            raise BadItem(f"{item!r}: there is another port {name!r}")
        if further and further[0] not in PROTOCOLS:
            raise BadItem(f"{item!r}: the protocol is not one of {', '.join(PROTOCOLS)}")
        if len(further) > 1:
            yield f"what follows the protocol in {item!r} is ignored"
        names.add(name)
        protocol = further[0] if further else ""
        yield SidecarPort(name, _number(item, number), protocol, host_ports.get(name, 0))


def read_host_ports(text: str) -> dict[str, int]:
    """Return the ports of the node by name; `BadItem` if an item cannot be followed."""
    found: dict[str, int] = {}
    for item in _items(text):
        name, _, number = item.partition(":")
        if not name or not number or ":" in number:
            raise BadItem(f"{item!r} is not name:hostPort")
        if name in found:
            raise BadItem(f"{item!r}: there is another port {name!r}")
        found[name] = _number(item, number)
    return found


def _items(text: str) -> list[str]:
    items = [item.strip() for item in text.split(",")]
    if len(items) > MOST_PORTS:
        raise BadItem(f"{len(items)} ports are more than {MOST_PORTS}")
    return items if text.strip() else []


def _number(item: str, text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise BadItem(f"{item!r}: {text!r} is not a port")
    number = int(text)
    if not LOWEST <= number <= HIGHEST:
        raise BadItem(f"{item!r}: port {number} is not between {LOWEST} and {HIGHEST}")
    return number
