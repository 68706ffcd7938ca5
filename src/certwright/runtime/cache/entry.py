"""One cached object: its bytes, and the part of its metadata everybody asks for.

Bytes are the cheapest thing Python can keep: one object, invisible to the garbage
collector. A reconcile that needs the rest decodes it, which takes microseconds.
"""

from typing import Any, TypeVar

import msgspec
import orjson
from msgspec import Struct

from certwright.kube.identity import Key
from certwright.kube.objects import JsonObject, Object
from certwright.runtime.errors import BadObject

T = TypeVar("T", bound=Object)
S = TypeVar("S", bound=Struct)


class CachedOwner(Struct, frozen=True, gc=False, rename="camel"):
    """An owner reference, as far as mapping and indexing need it."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False


class Meta(Struct, frozen=True, gc=False):
    """The metadata kept at hand for every cached object."""

    resource_version: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None
    label_pairs: tuple[str, ...] = ()
    """Names and values in turn: half the size of a dict, and there is one per object."""
    finalizers: tuple[str, ...] = ()
    owners: tuple[CachedOwner, ...] = ()

    @property
    def labels(self) -> dict[str, str]:
        """The labels, as a fresh dict."""
        pairs = self.label_pairs
        return dict(zip(pairs[::2], pairs[1::2], strict=True))

    @property
    def deleting(self) -> bool:
        """True when deletion was asked for and finalizers hold the object."""
        return self.deletion_timestamp is not None

    @property
    def controller(self) -> CachedOwner | None:
        """The one owner that controls the object, if any."""
        return next((owner for owner in self.owners if owner.controller), None)


class Entry(Struct, frozen=True, gc=False, eq=False):
    """One object of a store. Compares by identity."""

    key: Key
    meta: Meta
    raw: bytes
    own_fields: bytes = b""
    """JSON array of the managedFields entries of our own managers, without their times; empty if
    there are none."""
    malformed: str = ""
    """What is wrong with the metadata, when the server delivered it in the wrong shape."""
    writer: int = 0
    """Which writer of this process wrote this state, see `Store.note_write`; 0 if none did."""

    @property
    def uid(self) -> str:
        """The object's uid, decoded on each access: it is long, unique, and rarely needed.

        Empty when it has none, or none of the right shape.
        """
        uid = self._decode(_Identified).metadata.uid
        return uid if isinstance(uid, str) else ""

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations, decoded on each access: they can be large and are rarely needed."""
        return self._decode(_Annotated).metadata.annotations or {}

    @property
    def managed_fields(self) -> list[JsonObject]:
        """The managedFields entries of our own field managers, decoded on each access."""
        entries: list[JsonObject] = orjson.loads(self.own_fields) if self.own_fields else []
        return entries

    def obj(self) -> JsonObject:
        """Return the object as a fresh dict, without managedFields."""
        decoded: JsonObject = orjson.loads(self.raw)
        return decoded

    def as_(self, kind: type[T]) -> T:
        """Return the object as a fresh instance of a typed kind.

        Raises:
            BadObject: the object does not have the shape *kind* declares.
        """
        return self._decode(kind)

    def _decode(self, kind: type[S]) -> S:
        try:
            return msgspec.json.decode(self.raw, type=kind)
        except msgspec.ValidationError as error:
            raise self._bad(kind, str(error)) from error

    def _bad(self, kind: type[Any], why: str) -> BadObject:
        """Say which object, which field, and what to do: the text ends up on a condition."""
        what, _, path = why.partition(" - at `$")
        where = path.rstrip("`").lstrip(".") or "the object"
        name = kind.resource.kind if issubclass(kind, Object) else _kind_of(self.raw)
        return BadObject(
            f"{name} {self.key} cannot be read: {where}: {what}; correct the object, or align "
            f"the schema of its CustomResourceDefinition with the controller's version"
        )


def version_number(resource_version: str) -> int | None:
    """Return a resourceVersion as a number, or None when this server's cannot be compared."""
    return int(resource_version) if resource_version.isdecimal() else None


def is_newer(entry: Entry, old: Entry) -> bool:
    """Return whether an entry may replace *old*; where versions have no order, any other may."""
    given, held = entry.meta.resource_version, old.meta.resource_version
    if given == held:
        return False
    if given.isdecimal() and held.isdecimal():
        return int(given) > int(held)
    return True


def is_older(entry: Entry, old: Entry) -> bool:
    """Return whether an entry is known to be of a state before *old*."""
    given, held = entry.meta.resource_version, old.meta.resource_version
    return given.isdecimal() and held.isdecimal() and int(given) < int(held)


class _Identity(Struct):
    uid: Any = ""


class _Identified(Struct):
    metadata: _Identity


class _Annotations(Struct):
    annotations: dict[str, str] | None = None


class _Annotated(Struct):
    metadata: _Annotations


class _Kinded(Struct):
    kind: Any = "object"


def _kind_of(raw: bytes) -> str:
    return str(msgspec.json.decode(raw, type=_Kinded).kind)
