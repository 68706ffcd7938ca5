"""The newest snapshot of each node, and those who are to be told of the next."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from certwright.xds.snapshot import NodeKey, NodeSnapshot

Listener = Callable[[NodeSnapshot | None], None]


@dataclass(slots=True)
class _Place:
    snapshot: NodeSnapshot | None = None
    listeners: set[Listener] = field(default_factory=set)


class SnapshotStore:
    """Snapshots by namespace and node-id. Writing one tells the streams of that node."""

    def __init__(self) -> None:
        self._places: dict[NodeKey, _Place] = {}
        self._owners: dict[str, set[str]] = {}

    def __len__(self) -> int:
        return sum(place.snapshot is not None for place in self._places.values())

    def __iter__(self) -> Iterator[NodeKey]:
        return (key for key, place in list(self._places.items()) if place.snapshot is not None)

    def get(self, key: NodeKey) -> NodeSnapshot | None:
        """Return the snapshot of a node; None if it has none."""
        place = self._places.get(key)
        return place.snapshot if place else None

    def put(self, key: NodeKey, snapshot: NodeSnapshot) -> bool:
        """Publish a snapshot; return whether it differs from the one before."""
        place = self._places.setdefault(key, _Place())
        if place.snapshot is not None:
            if place.snapshot == snapshot:
                return False
            snapshot = snapshot.sharing(place.snapshot)
        self._owners.setdefault(key.node_id, set()).add(key.namespace)
        self._publish(place, snapshot)
        return True

    def remove(self, key: NodeKey) -> None:
        """Forget the snapshot of a node. Its clients keep what they have until they restart."""
        place = self._places.get(key)
        if place is None or place.snapshot is None:
            return
        owners = self._owners[key.node_id]
        owners.discard(key.namespace)
        if not owners:
            del self._owners[key.node_id]
        self._publish(place, None)
        self._tidy(key, place)

    def owners(self, node_id: str) -> frozenset[str]:
        """Return the namespaces that have a snapshot for a node-id."""
        return frozenset(self._owners.get(node_id, ()))

    def listen(self, key: NodeKey, listener: Listener) -> None:
        """Call a function with each snapshot of a node from now on."""
        self._places.setdefault(key, _Place()).listeners.add(listener)

    def unlisten(self, key: NodeKey, listener: Listener) -> None:
        """Stop calling a function."""
        place = self._places.get(key)
        if place is not None:
            place.listeners.discard(listener)
            self._tidy(key, place)

    def _publish(self, place: _Place, snapshot: NodeSnapshot | None) -> None:
        place.snapshot = snapshot
        for listener in list(place.listeners):
            listener(snapshot)

    def _tidy(self, key: NodeKey, place: _Place) -> None:
        # A client may ask for any number of node-ids, one stream at a time: none is kept for it.
        if place.snapshot is None and not place.listeners:
            del self._places[key]
