"""ManagedResources that wait for others, which must be applied and healthy first.

The spec names them (``dependsOn``), or an annotation, which Gardener's definition knows as well.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import ManagedResource
from certwright.managed.readiness import APPLIED, HEALTHY


def dependencies(resource: ManagedResource) -> list[str]:
    """Return what must be ready first, as the spec and an annotation name it, each once."""
    listed = [dependency.name for dependency in resource.spec.depends_on]
    noted = names_in(resource.metadata.annotations.get(keys.DEPENDS_ON, ""))
    return [*dict.fromkeys([*listed, *noted])]


def names_in(text: str) -> list[str]:
    """Return the names that an annotation lists."""
    return [name.strip() for name in text.split(",") if name.strip()]


Lookup: TypeAlias = Callable[[str], ManagedResource | None]
"""Returns a ManagedResource of the same namespace by its name."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """Why nothing may be written yet."""

    message: str
    cyclic: bool = False
    """Waiting will not help: a spec has to change."""


def blocked_by(resource: ManagedResource, lookup: Lookup) -> Blocked | None:
    """Return what keeps a ManagedResource from being applied; None if nothing does."""
    cycle = find_cycle(resource.metadata.name, lookup)
    if cycle:
        return Blocked(f"The dependencies form a cycle: {' → '.join(cycle)}.", cyclic=True)
    missing = [f"{name} {why}" for name in dependencies(resource) if (why := unready(lookup(name)))]
    return (
        Blocked(f"Waiting for other ManagedResources: {', '.join(missing)}.") if missing else None
    )


def unready(resource: ManagedResource | None) -> str:
    """Return why others have to wait for a ManagedResource; empty if they need not."""
    if resource is None:
        return "does not exist"
    if resource.metadata.deletion_timestamp is not None:
        return "is being deleted"
    if resource.status.observed_generation != resource.metadata.generation:
        return "is not applied yet"
    true = {c.type for c in resource.status.conditions if c.status == "True"}
    if APPLIED not in true:
        return "is not applied"
    return "" if HEALTHY in true else "is not healthy"


def find_cycle(name: str, lookup: Lookup) -> tuple[str, ...]:
    """Return a cycle that leads from *name* back to it, empty if there is none.

    It begins with the name that sorts first, so everybody on it tells the same.
    """
    trail: list[str] = [name]
    branches = [iter(_names(lookup(name)))]
    seen = {name}
    while branches:
        following = next(branches[-1], None)
        if following is None:
            branches.pop()
            trail.pop()
        elif following == name:
            start = trail.index(min(trail))
            turned = [*trail[start:], *trail[:start]]
            return (*turned, turned[0])
        elif following not in seen:
            seen.add(following)
            trail.append(following)
            branches.append(iter(_names(lookup(following))))
    return ()


def _names(resource: ManagedResource | None) -> Iterable[str]:
    return () if resource is None else dependencies(resource)
