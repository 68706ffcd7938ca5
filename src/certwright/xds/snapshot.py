"""What a node shall have: immutable, and encoded once however many streams it is sent to.

A resource is kept as the bytes of its ``google.protobuf.Any``. A response is put together from
such bytes, so no stream encodes what another has encoded already.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from types import MappingProxyType
from typing import Final, NamedTuple

from certwright.xds.typeurls import rank
from certwright.xds.wire import text_field, wrapped

_SELECTIONS: Final = 32
"""So many selections of names are kept per set: Envoys of one node ask for the same ones."""
_VERSION_DIGITS: Final = 16


class NodeKey(NamedTuple):
    """Whose configuration: the namespace of its certificate, and the node-id that it names."""

    namespace: str
    node_id: str

    def __str__(self) -> str:
        """Return both for people; clients may name anything, also what steers a terminal."""
        shown = self.node_id if self.node_id.isprintable() else repr(self.node_id)[1:-1]
        return f"{self.namespace}/{shown}"


@dataclass(frozen=True, slots=True)
class XdsResource:
    """One resource, encoded. The repr does not show its content, which may be a key."""

    type_url: str
    name: str
    version: str
    """Another one for other content."""
    body: bytes = field(repr=False)
    """The encoded ``google.protobuf.Any``."""


def resource(type_url: str, name: str, encoded: bytes, *, version: str = "") -> XdsResource:
    """Return a resource of its encoded message; its version is a digest of it unless given."""
    body = text_field(1, type_url) + wrapped(2, encoded)
    return XdsResource(type_url, name, version or _digest([encoded]), body)


class ResourceSelection(NamedTuple):
    """The resources of a set that a stream asked for, with their encoding for a response."""

    versions: Mapping[str, str]
    """Version by name of resource."""
    body: bytes
    """Version, resources and type of a ``DiscoveryResponse``; the nonce is added at the end."""


class ResourceSet:
    """All resources of one type, under one version."""

    def __init__(self, type_url: str, resources: Iterable[XdsResource], version: str = "") -> None:
        named = {one.name: one for one in resources}
        self.type_url = type_url
        self.resources: Mapping[str, XdsResource] = MappingProxyType(named)
        self.version = version or _digest(
            part.encode() for name in sorted(named) for part in (name, named[name].version)
        )
        self._selections: dict[frozenset[str], ResourceSelection] = {}

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ResourceSet)
            and self.type_url == other.type_url
            and self.version == other.version
            and self.resources == other.resources
        )

    def __hash__(self) -> int:
        return hash((self.type_url, self.version))

    def __repr__(self) -> str:
        return f"ResourceSet({self.type_url!r}, {list(self.resources)}, {self.version!r})"

    @cached_property
    def all(self) -> ResourceSelection:
        """Every resource, for a stream that asked for no name in particular."""
        return self.choose(self.resources)

    def select(self, names: frozenset[str]) -> ResourceSelection:
        """Return the resources with these names, as far as they exist."""
        found = self._selections.get(names)
        if found is None:
            if len(self._selections) >= _SELECTIONS:
                self._selections.clear()
            found = self._selections[names] = self.choose(names)
        return found

    def choose(self, names: Iterable[str]) -> ResourceSelection:
        """Return the resources with these names in the order of names, encoded anew."""
        chosen = [self.resources[name] for name in sorted(names) if name in self.resources]
        body = b"".join(
            [
                text_field(1, self.version),
                *(wrapped(2, one.body) for one in chosen),
                text_field(4, self.type_url),
            ]
        )
        return ResourceSelection({one.name: one.version for one in chosen}, body)


class NodeSnapshot:
    """The configuration of one node: a set of resources per type."""

    def __init__(self, sets: Iterable[ResourceSet]) -> None:
        ordered = sorted(sets, key=lambda one: (rank(one.type_url), one.type_url))
        self.types: Mapping[str, ResourceSet] = MappingProxyType(
            {one.type_url: one for one in ordered}
        )

    @classmethod
    def of(
        cls, resources: Iterable[XdsResource], versions: Mapping[str, str] | None = None
    ) -> "NodeSnapshot":
        """Return the snapshot with these resources; *versions* by type, else digests of them."""
        by_type: dict[str, list[XdsResource]] = {}
        for one in resources:
            by_type.setdefault(one.type_url, []).append(one)
        given = versions or {}
        types = by_type.keys() | given.keys()
        return cls(ResourceSet(url, by_type.get(url, ()), given.get(url, "")) for url in types)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeSnapshot) and self.types == other.types

    def __hash__(self) -> int:
        return hash(tuple(self.types.values()))

    def __repr__(self) -> str:
        return f"NodeSnapshot({list(self.types.values())})"

    def sharing(self, earlier: "NodeSnapshot") -> "NodeSnapshot":
        """Return this snapshot with the sets of an earlier one where they are equal.

        What is the same object was encoded already, and streams see at a glance that they have it.
        """
        return NodeSnapshot(
            kept if (kept := earlier.types.get(url)) == one and kept is not None else one
            for url, one in self.types.items()
        )


def _digest(parts: Iterable[bytes]) -> str:
    digest = sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:_VERSION_DIGITS]
