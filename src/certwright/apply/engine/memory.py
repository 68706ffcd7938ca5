"""What an engine remembers of the objects it applied, so that it need not compare twice."""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b

import orjson
from msgspec import Struct

from certwright.apply.cluster import Live
from certwright.apply.engine.declared import Rules
from certwright.kube import Conflict, JsonObject, Key, Resource
from certwright.kube.comparison import difference, is_applied
from certwright.kube.ownership import FieldSet, projection_hash

Place = tuple[Resource, Key]


class Applied(Struct, frozen=True):
    """What is known of an object after it was applied, or found to be as wanted."""

    digest: bytes
    """Of what was wanted."""
    sent: bytes
    """Of what that came to, given what the object held."""
    rules: Rules
    uid: str
    version: str
    projection: str = ""
    """Of what our fields held, where they are applied."""
    difference: bytes | None = None
    """Of what was not as sent, where objects are replaced; see `difference_of`. None if that was
    not looked at: an object that was created needs no second look before it changes."""


class Memory:
    """Remembers, per object, what was applied and what became of it.

    Forgetting is never wrong, it costs a comparison. Who watches the objects tells when one is
    gone (`forget`).
    """

    def __init__(self) -> None:
        self._applied: dict[Place, Applied] = {}
        self._deleted: set[Place] = set()
        self._creating: set[Place] = set()

    def __len__(self) -> int:
        return len(self._applied)

    def get(self, resource: Resource, key: Key) -> Applied | None:
        """Return what is known of an object."""
        return self._applied.get((resource, key))

    def is_applied(
        self, known: Applied | None, live: Live, own: FieldSet, sent: JsonObject
    ) -> bool:
        """Return whether applying this would change nothing.

        What was applied before is compared with what the server made of it then, and only what
        is not remembered with what is sent.
        """
        if (
            known is not None
            and known.uid == live.uid
            and known.sent == digest_of(sent)
            and known.projection == projection_hash(live.obj, own)
        ):
            return True
        return is_applied(live.obj, own, sent)

    def remember(
        self,
        place: Place,
        live: Live,
        own: FieldSet | None,
        digest: bytes,
        sent: JsonObject,
        rules: Rules,
    ) -> None:
        """Remember an object that is as wanted; one that was deleted is back."""
        self._deleted.discard(place)
        if own is None:
            self._applied.pop(place, None)
            return
        projection = projection_hash(live.obj, own)
        self._applied[place] = Applied(
            digest, digest_of(sent), rules, live.uid, live.resource_version, projection
        )

    def remember_created(self, place: Place, live: Live, digest: bytes, rules: Rules) -> None:
        """Remember an object that was created."""
        self._deleted.discard(place)
        self._applied[place] = Applied(digest, b"", rules, live.uid, live.resource_version)

    def remember_replaced(
        self, place: Place, live: Live, digest: bytes, sent: JsonObject, rules: Rules
    ) -> None:
        """Remember an object that is as wanted; *sent* is what is sent for the state it is in."""
        self._deleted.discard(place)
        left = difference_of(sent, live.obj)
        self._applied[place] = Applied(
            digest, b"", rules, live.uid, live.resource_version, difference=left
        )

    @contextmanager
    def creating(self, resource: Resource, key: Key) -> Iterator[None]:
        """Mark an object as being created within the context; `Conflict` if it already is."""
        place = (resource, key)
        if place in self._creating:
            raise Conflict(f"{resource.kind} {key} is just being created")
        self._creating.add(place)
        try:
            yield
        finally:
            self._creating.discard(place)

    def note_deleted(self, resource: Resource, key: Key) -> None:
        """Remember that an object was told to go."""
        self._applied.pop((resource, key), None)
        self._deleted.add((resource, key))

    def was_deleted(self, resource: Resource, key: Key) -> bool:
        """Return whether the object was told to go and is not known to be back."""
        return (resource, key) in self._deleted

    def forget(self, resource: Resource, key: Key) -> None:
        """Forget an object that is gone."""
        self._applied.pop((resource, key), None)
        self._deleted.discard((resource, key))


_COMPARED_METADATA = ("labels", "annotations", "ownerReferences")
_NOT_COMPARED = frozenset({"apiVersion", "kind", "metadata", "status"})


def difference_of(sent: JsonObject, live: JsonObject) -> bytes:
    """Return a digest of what of an object is not as it is sent; empty if all is.

    As long as it stays the same, what differs is what the server made of our last write: it
    filled in defaults, or a webhook had its way. When it changes, another client wrote.
    """
    left = difference(_compared(sent), _compared(live))
    return digest_of(left) if left else b""


def _compared(obj: JsonObject) -> JsonObject:
    parts: JsonObject = {name: part for name, part in obj.items() if name not in _NOT_COMPARED}
    for name in _COMPARED_METADATA:
        if value := obj["metadata"].get(name):
            parts[f"metadata.{name}"] = value
    return parts


def digest_of(obj: JsonObject) -> bytes:
    """Return what tells one manifest from another, whatever the order of its fields."""
    canonical = orjson.dumps(obj, option=orjson.OPT_SORT_KEYS)
    return blake2b(canonical, digest_size=16).digest()
