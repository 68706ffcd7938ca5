"""Named inventories: which objects a name stands for, kept in ConfigMaps of the cluster.

Objects are entered before they are created and struck off after they are gone, so whatever
happens in between, nothing exists that no inventory knows. One ConfigMap holds several thousand
objects; what does not fit goes to further ones. An object never moves from one to another, so
no order of writes can lose it.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

from certwright.apply.cluster import Cluster, Live
from certwright.apply.refs import ObjectRef
from certwright.kube import AlreadyExists, Conflict, JsonObject, Key
from certwright.kube.kinds import ConfigMap
from certwright.kube.names import dns_label_problems

LABEL: Final = "certwright.dev/inventory"
"""On each ConfigMap of an inventory: its name."""
OBJECTS: Final = "objects"
"""The key under which a ConfigMap lists objects, one per line."""
PAGE_BYTES: Final = 700_000
"""How much goes into one ConfigMap; the server's limit is a megabyte with everything."""
ATTEMPTS: Final = 5


class InventoryError(ValueError):
    """An inventory cannot be read: says which ConfigMap, and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Page:
    """One ConfigMap of an inventory; *live* is None until it is stored."""

    name: str
    refs: tuple[ObjectRef, ...]
    live: Live | None = None

    @property
    def text(self) -> str:
        """The objects as they are stored."""
        return "".join(f"{ref.id}\n" for ref in self.refs)


@dataclass(frozen=True, slots=True)
class Inventory:
    """What is known to exist, or about to, under a name."""

    name: str
    pages: tuple[Page, ...] = ()

    @property
    def refs(self) -> list[ObjectRef]:
        """All objects, in the order they were entered."""
        return [ref for page in self.pages for ref in page.refs]

    def with_refs(self, refs: Iterable[ObjectRef], *, page_bytes: int = PAGE_BYTES) -> "Inventory":
        """Return the inventory with further objects; a known one stays in its place.

        An object that is known in another version of its group is entered in the new one.
        """
        fresh = {ref.identity: ref for ref in refs}
        pages = []
        for page in self.pages:
            kept = tuple(fresh.pop(ref.identity, ref) for ref in page.refs)
            pages.append(page if kept == page.refs else replace(page, refs=kept))
        return Inventory(self.name, tuple(_filled(pages, fresh.values(), self.name, page_bytes)))

    def without(self, refs: Collection[ObjectRef]) -> "Inventory":
        """Return the inventory without objects that are gone."""
        gone = {ref.identity for ref in refs}
        pages = []
        for page in self.pages:
            kept = tuple(ref for ref in page.refs if ref.identity not in gone)
            pages.append(page if len(kept) == len(page.refs) else replace(page, refs=kept))
        return Inventory(self.name, tuple(pages))


class Inventories:
    """Reads and writes the inventories of one namespace."""

    def __init__(self, cluster: Cluster, namespace: str, *, page_bytes: int = PAGE_BYTES) -> None:
        self.namespace = namespace
        self._cluster = cluster
        self._page_bytes = page_bytes

    async def load(self, name: str) -> Inventory:
        """Read an inventory; one that does not exist is empty.

        Raises:
            InventoryError: it cannot be trusted.
            ValueError: *name* cannot be the name of an inventory.
        """
        if problems := dns_label_problems(name):
            raise ValueError(f"inventory {name!r}: {'; '.join(problems)}")
        found = await self._cluster.list(ConfigMap, self.namespace, labels=f"{LABEL}={name}")
        pages = sorted((_page(live) for live in found), key=lambda page: page.name)
        return Inventory(name, tuple(pages))

    async def add(self, inventory: Inventory, refs: Collection[ObjectRef]) -> Inventory:
        """Enter objects that are about to be created; no call if all are known."""
        return await self._store(
            inventory, lambda now: now.with_refs(refs, page_bytes=self._page_bytes)
        )

    async def discard(self, inventory: Inventory, refs: Collection[ObjectRef]) -> Inventory:
        """Strike off objects that are gone; ConfigMaps that are empty then go, too."""
        return await self._store(inventory, lambda now: now.without(refs))

    async def _store(
        self, inventory: Inventory, change: Callable[[Inventory], Inventory]
    ) -> Inventory:
        """Write what a change makes different; start over when somebody else was faster."""
        for attempt in range(ATTEMPTS):
            try:
                return await self._write(inventory, change(inventory))
            except (Conflict, AlreadyExists):
                if attempt == ATTEMPTS - 1:
                    raise
                inventory = await self.load(inventory.name)
        return inventory

    async def _write(self, old: Inventory, new: Inventory) -> Inventory:
        before = {page.name: page for page in old.pages}
        pages = []
        for page in new.pages:
            if page is before.get(page.name):
                pages.append(page)
            elif (stored := await self._write_page(new.name, page)) is not None:
                pages.append(stored)
        return Inventory(new.name, tuple(pages))

    async def _write_page(self, inventory: str, page: Page) -> Page | None:
        live, key = page.live, Key(self.namespace, page.name)
        if live is None:
            body = _config_map(inventory, page, self.namespace)
            stored = await self._cluster.create(ConfigMap, body)
        elif page.refs:
            version = {"uid": live.uid, "resourceVersion": live.resource_version}
            patch: JsonObject = {"metadata": version, "data": {OBJECTS: page.text}}
            stored = await self._cluster.patch(ConfigMap, key, patch)
        else:
            await self._cluster.delete(ConfigMap, live)
            return None
        return replace(page, live=stored)


def _filled(
    pages: Iterable[Page], refs: Iterable[ObjectRef], name: str, page_bytes: int
) -> Iterator[Page]:
    """Yield the pages with objects added where there is room, and further pages as needed."""
    rest = deque(refs)
    taken = set()
    for page in pages:
        taken.add(page.name)
        yield _with_room_filled(page, rest, page_bytes)
    names = (_page_name(name, number) for number in count(1))
    free = (candidate for candidate in names if candidate not in taken)
    while rest:
        yield _with_room_filled(Page(next(free), (rest.popleft(),)), rest, page_bytes)


def _with_room_filled(page: Page, rest: deque[ObjectRef], page_bytes: int) -> Page:
    room = page_bytes - len(page.text.encode())
    added = []
    while rest and (room := room - len(rest[0].id.encode()) - 1) >= 0:
        added.append(rest.popleft())
    return replace(page, refs=(*page.refs, *added)) if added else page


def _page_name(name: str, number: int) -> str:
    """Name a ConfigMap; the dot keeps the second of ``a`` apart from an inventory ``a-2``."""
    return f"certwright-inventory-{name}" + (f".{number}" if number > 1 else "")


def _config_map(inventory: str, page: Page, namespace: str) -> JsonObject:
    metadata = {"namespace": namespace, "name": page.name, "labels": {LABEL: inventory}}
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    return {**head, "data": {OBJECTS: page.text}}


def _page(live: Live) -> Page:
    name = str(live.metadata["name"])
    data = live.obj.get("data") or {}
    if OBJECTS not in data:
        raise InventoryError(f"ConfigMap {name} is labelled {LABEL} and lists no {OBJECTS}")
    try:
        refs = tuple(ObjectRef.parse(line) for line in data[OBJECTS].splitlines() if line)
    except ValueError as error:
        raise InventoryError(f"ConfigMap {name}: {error}") from error
    return Page(name, refs, live)
