"""Which kinds the server serves, and where their objects are kept."""

from collections.abc import Iterable, Iterator

from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.storage.storage import Collection, Storage, StoredRecord
from certwright.kube.objects import Resource

_STORED_AS = {("events.k8s.io", "events"): ("", "events")}
"""Resources of two groups that are the same objects."""


class Registry:
    """The served kinds by address; custom ones come and go with their definitions."""

    def __init__(self, storage: Storage, kinds: Iterable[ServedKind]) -> None:
        self._storage = storage
        self._by_address: dict[tuple[str, str, str], ServedKind] = {}
        self._stored_as: dict[tuple[str, str], ServedKind] = {}
        for kind in kinds:
            self.add(kind)

    def __iter__(self) -> Iterator[ServedKind]:
        return iter(self._by_address.values())

    def add(self, kind: ServedKind) -> None:
        """Serve a kind, in place of what was served at its address."""
        resource = kind.resource
        self._by_address[resource.group, resource.version, resource.plural] = kind
        if kind.versions:
            stored = kind.versions[kind.storage_version]  # which need not be served
            self._stored_as[resource.group, resource.plural] = stored
        elif kind.storage_version in {"", resource.version}:
            self._stored_as[resource.group, resource.plural] = kind

    def remove(self, group: str, plural: str) -> None:
        """Serve a resource no longer, in any version."""
        for address in [a for a in self._by_address if a[0] == group and a[2] == plural]:
            del self._by_address[address]
        self._stored_as.pop((group, plural), None)

    def find(self, group: str, version: str, plural: str) -> ServedKind | None:
        """Return the kind served at an address."""
        return self._by_address.get((group, version, plural))

    def has_group_version(self, group: str, version: str) -> bool:
        """Return whether anything is served under a group and version."""
        return any(address[:2] == (group, version) for address in self._by_address)

    def has_built_in_group(self, group: str) -> bool:
        """Return whether a built-in kind is served under a group."""
        return any(
            address[0] == group and not kind.custom for address, kind in self._by_address.items()
        )

    def storage_kind(self, kind: ServedKind) -> ServedKind:
        """Return the version in which objects of a kind are stored."""
        return self._stored_as.get(self._place(kind.resource), kind)

    def collection(self, kind: ServedKind) -> Collection:
        """Return where the objects of a kind are kept."""
        return self._storage.collection(*self._place(kind.resource))

    def collection_of(self, record: StoredRecord) -> Collection:
        """Return where a record is kept."""
        return self.collection(record.kind)

    def kind_named(self, group: str, kind: str) -> ServedKind | None:
        """Return a version, the stored one if possible, of a kind named as owners name it."""
        found = None
        for served in self._by_address.values():
            if served.resource.group == group and served.resource.kind == kind:
                found = self.storage_kind(served)
        return found

    @staticmethod
    def _place(resource: Resource) -> tuple[str, str]:
        address = (resource.group, resource.plural)
        return _STORED_AS.get(address, address)
