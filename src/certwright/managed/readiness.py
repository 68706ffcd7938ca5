"""Whether a ManagedResource is applied and healthy, and if not, what is in the way."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from certwright.kube import JsonObject

APPLIED: Final = "ResourcesApplied"
HEALTHY: Final = "ResourcesHealthy"
PROGRESSING: Final = "ResourcesProgressing"

_SHOWN: Final = 10
"""How many objects a message names."""


@dataclass(frozen=True)
class Readiness:
    """Whether a ManagedResource is ready; *blockers* is empty when nothing is in the way."""

    blockers: tuple[str, ...]

    @property
    def ready(self) -> bool:
        """Whether nothing is in the way."""
        return not self.blockers

    def __str__(self) -> str:
        return "; ".join(self.blockers) or "ready"


def readiness(managed_resource: JsonObject, *, rolled_out: bool = False) -> Readiness:
    """Check that the present spec is applied and healthy; with *rolled_out* also rolled out."""
    metadata = managed_resource.get("metadata") or {}
    status = managed_resource.get("status") or {}
    blockers = []
    if metadata.get("deletionTimestamp"):
        blockers.append("it is being deleted")
    generation, observed = metadata.get("generation") or 0, status.get("observedGeneration") or 0
    if observed != generation:
        blockers.append(f"generation {generation} is not applied yet (observed: {observed})")
    blockers += _unless(status, APPLIED, "True")
    blockers += _unless(status, HEALTHY, "True")
    if rolled_out:
        blockers += _unless(status, PROGRESSING, "False")
    if blockers:
        blockers += _objects(status, blockers)
    return Readiness(tuple(blockers))


def deletion_blockers(managed_resource: JsonObject) -> str:
    """Return what delays the deletion of a ManagedResource, as text."""
    status = managed_resource.get("status") or {}
    blockers = _unless(status, APPLIED, "True")
    blockers += _objects(status, blockers)
    finalizers = (managed_resource.get("metadata") or {}).get("finalizers") or []
    if finalizers:
        blockers.append(f"finalizers: {', '.join(finalizers)}")
    return "; ".join(blockers)


def _unless(status: JsonObject, type_: str, wanted: str) -> list[str]:
    condition = _condition(status, type_)
    if condition is None:
        return [f"{type_} is not known yet"]
    found = condition.get("status")
    if found == wanted:
        return []
    reason, message = condition.get("reason") or "", condition.get("message") or ""
    return [f"{type_} is {found} ({reason}): {message.removesuffix('.')}"]


def _condition(status: JsonObject, type_: str) -> JsonObject | None:
    conditions: list[Any] = status.get("conditions") or []
    return next((one for one in conditions if one.get("type") == type_), None)


def _objects(status: JsonObject, blockers: Iterable[str]) -> list[str]:
    """Return a line for each object in trouble that the blockers do not mention yet."""
    mentioned = "; ".join(blockers)
    found = []
    for one in status.get("objects") or []:
        where = f"{one['namespace']}/" if one.get("namespace") else ""
        why = one.get("message") or one.get("reason") or one.get("health") or ""
        if not why or why.removesuffix(".") not in mentioned:
            found.append(f"{one.get('kind')} {where}{one.get('name')}: {why}")
    return found[:_SHOWN]
