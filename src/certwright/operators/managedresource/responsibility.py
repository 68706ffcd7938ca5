"""Which instance cares for a ManagedResource: classes, their finalizers, and hand-over.

An instance has a class. The finalizer it puts on a ManagedResource says that it has objects in
its target. When ``spec.class`` changes, the old instance, whose finalizer is there, deletes them
and releases it; only then the new one begins.

An instance of class ``*`` cares for all. Every finalizer of the family is its own: nobody else is
there to release them, so it waits for none.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from certwright.api.managedresources import DEFAULT_CLASS, ManagedResource
from certwright.api.resourcekeys import FINALIZER

ALL: Final = "*"


def class_of(resource: ManagedResource) -> str:
    """Return the class a ManagedResource asks for."""
    return resource.spec.class_ or DEFAULT_CLASS


@dataclass(frozen=True, slots=True)
class ResourceClass:
    """The class of an instance."""

    name: str = DEFAULT_CLASS

    @property
    def finalizer(self) -> str:
        """What marks a ManagedResource whose objects are in our target."""
        return FINALIZER if self.name in {DEFAULT_CLASS, ALL} else f"{FINALIZER}-{self.name}"

    def responsible(self, resource: ManagedResource) -> bool:
        """Say whether a ManagedResource asks for this instance."""
        return self.name in {ALL, class_of(resource)}

    def held(self, resource: ManagedResource) -> list[str]:
        """Return the finalizers that are ours to release; none if we never began."""
        return [name for name in resource.metadata.finalizers if self._is_ours(name)]

    def held_by_others(self, resource: ManagedResource) -> list[str]:
        """Return the finalizers of other classes."""
        family = _family(resource.metadata.finalizers)
        return [name for name in family if not self._is_ours(name)]

    def leaving(self, resource: ManagedResource) -> bool:
        """Say whether the objects are ours to clean up, since another class is asked for."""
        return bool(self.held(resource)) and not self.responsible(resource)

    def waits(self, resource: ManagedResource) -> bool:
        """Say whether another instance has to clean up before we begin."""
        if not self.responsible(resource):
            return False
        first = next(iter(_family(resource.metadata.finalizers)), "")
        return bool(first) and not self._is_ours(first)

    def concerns(self, resource: ManagedResource) -> bool:
        """Say whether a ManagedResource is our business at all."""
        return self.responsible(resource) or bool(self.held(resource))

    def _is_ours(self, finalizer: str) -> bool:
        if self.name == ALL:
            return bool(_family([finalizer]))
        return finalizer == self.finalizer


def _family(finalizers: Iterable[str]) -> list[str]:
    """Return the finalizers of all instances, whatever their class."""
    return [f for f in finalizers if f == FINALIZER or f.startswith(f"{FINALIZER}-")]
