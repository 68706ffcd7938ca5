"""What an engine remembers of the objects it applied, so that it need not compare twice."""

from msgspec import Struct

from certwright.apply.wanted import Rules
from certwright.kube import Key, Resource


class Applied(Struct, frozen=True):
    """What is known of an object after it was applied, or found to be as wanted."""

    digest: bytes
    """Of what was wanted."""
    sent: bytes
    """Of what that came to, given what the object held."""
    rules: Rules
    uid: str
    version: str
    projection: str
    """Of what our fields held."""


class Memory:
    """Remembers, per object, what was applied and what became of it.

    Forgetting is never wrong, it costs a comparison; so it may be bounded, and is lost with
    the process.
    """

    def __init__(self) -> None:
        self._applied: dict[tuple[Resource, Key], Applied] = {}
        self._deleted: dict[tuple[Resource, Key], str] = {}

    def __len__(self) -> int:
        return len(self._applied)

    def get(self, resource: Resource, key: Key) -> Applied | None:
        """Return what is known of an object."""
        return self._applied.get((resource, key))

    def note(self, resource: Resource, key: Key, applied: Applied) -> None:
        """Remember an object; one that was deleted is back."""
        self._applied[resource, key] = applied
        self._deleted.pop((resource, key), None)

    def note_deleted(self, resource: Resource, key: Key, uid: str) -> None:
        """Remember that an object was told to go."""
        self._applied.pop((resource, key), None)
        self._deleted[resource, key] = uid

    def was_deleted(self, resource: Resource, key: Key) -> bool:
        """Say whether the object was told to go and is not known to be back."""
        return (resource, key) in self._deleted

    def forget(self, resource: Resource, key: Key) -> None:
        """Forget an object that is gone."""
        self._applied.pop((resource, key), None)
        self._deleted.pop((resource, key), None)
