"""Which object is meant: kind, namespace and name, as inventories and messages spell them."""

from functools import lru_cache
from typing import NamedTuple

from certwright.kube import GroupVersionKind, JsonObject, Key


class ObjectRef(NamedTuple):
    """Points at one object of a cluster, whether it exists or not.

    A tuple, as `Key` is: a pass makes and compares dozens of them.
    """

    api_version: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, obj: JsonObject) -> "ObjectRef":
        """Return what points at *obj*; what a careless manifest leaves out is empty."""
        metadata = obj.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        return cls(
            _text(obj.get("apiVersion")),
            _text(obj.get("kind")),
            _text(metadata.get("namespace")),
            _text(metadata.get("name")),
        )

    @classmethod
    def parse(cls, text: str) -> "ObjectRef":
        """Read an `id`: ``apiVersion/kind/namespace/name``; `ValueError` if it is none."""
        parts = text.rsplit("/", 3)
        if len(parts) != 4 or not (parts[0] and parts[1] and parts[3]) or parts[0].count("/") > 1:
            raise ValueError(f"{text!r} is not of the form apiVersion/kind/namespace/name")
        return cls(*parts)

    @property
    def group(self) -> str:
        """The API group, empty for the core."""
        return _group(self.api_version)

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind; `ValueError` if ``apiVersion`` or ``kind`` is missing or malformed."""
        return _kind(self.api_version, self.kind)

    @property
    def key(self) -> Key:
        """Where the object lives."""
        return Key(self.namespace, self.name)

    @property
    def id(self) -> str:
        """``apiVersion/kind/namespace/name``, as conditions and logs name the object."""
        return f"{self.api_version}/{self.kind}/{self.namespace}/{self.name}"

    @property
    def possible(self) -> bool:
        """Whether there can be such an object, so that its `id` leads back to it."""
        try:
            again = ObjectRef.parse(self.id)
        except ValueError:
            return False
        return again == self and self.id.isprintable() and " " not in self.id

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What stays the same when an object is written in another version of its group."""
        return (_group(self.api_version), self.kind, self.namespace, self.name)

    def __str__(self) -> str:
        return f"{self.kind or 'object without kind'} {self.key}".rstrip()


_kind = lru_cache(maxsize=1024)(GroupVersionKind.parse)


@lru_cache(maxsize=1024)
def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def _text(part: object) -> str:
    return "" if part is None else str(part)
