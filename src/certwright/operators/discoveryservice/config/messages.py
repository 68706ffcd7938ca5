"""Conditions of EnvoyConfigs and revisions: reasons for programs, messages for people."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import msgspec

from certwright.api.discoveryservices import DiscoveryCondition
from certwright.api.envoyconfigs import ReplicaReport
from certwright.operators.discoveryservice.config.assembly import SourceProblem
from certwright.operators.discoveryservice.config.choice import RevisionChoice
from certwright.xds.schema.errors import FieldProblem

OUT_OF_SYNC: Final = "CacheOutOfSync"
ROLLBACK_FAILED: Final = "RollbackFailed"
PUBLISHED: Final = "RevisionPublished"
TAINTED: Final = "RevisionTainted"
IN_SYNC: Final = "ResourcesInSync"

CANNOT_PUBLISH: Final = "CantPublishDesiredVersion"
ALL_TAINTED: Final = "AllRevisionsTainted"
FAILED_LOADING: Final = "FailedLoadingResources"
RESOURCES_FAILING: Final = "ResourcesFailing"
NODE_ID_TAKEN: Final = "NodeIDConflict"
_MOST: Final = 3
_LONGEST: Final = 1000


def condition(kind: str, holds: bool, reason: str, message: str = "") -> DiscoveryCondition:  # noqa: FBT001 - its status
    """Return a condition."""
    status = "True" if holds else "False"
    return DiscoveryCondition(type=kind, status=status, reason=reason, message=message[:_LONGEST])


def merged(
    existing: Iterable[DiscoveryCondition], new: Iterable[DiscoveryCondition], now: datetime
) -> list[DiscoveryCondition]:
    """Return conditions, updated by new ones; the time moves only when the status does."""
    found = {one.type: one for one in existing}
    for one in new:
        before = found.get(one.type)
        since: datetime | msgspec.UnsetType = now.replace(microsecond=0)
        if before is not None and before.status == one.status and before.last_transition_time:
            since = before.last_transition_time
        found[one.type] = msgspec.structs.replace(one, last_transition_time=since)
    return list(found.values())


def sync_conditions(choice: RevisionChoice, why: str) -> list[DiscoveryCondition]:
    """Return what an EnvoyConfig says about what is served; *why* not the desired version."""
    tail = f": {why}" if why else ""
    match choice.state:
        case "InSync":
            return [
                condition(OUT_OF_SYNC, False, "DesiredVersionPublished"),
                condition(ROLLBACK_FAILED, False, "DesiredVersionPublished"),
            ]
        case "Rollback":
            assert choice.published is not None
            message = (
                f"version {choice.desired} cannot be served{tail};"
                f" version {choice.published.spec.version} is served instead"
            )
            return [
                condition(OUT_OF_SYNC, True, CANNOT_PUBLISH, message),
                condition(ROLLBACK_FAILED, False, "OlderVersionPublished"),
            ]
        case _:
            message = f"no version can be served; Envoys keep what they have{tail}"
            return [
                condition(OUT_OF_SYNC, True, CANNOT_PUBLISH, message),
                condition(ROLLBACK_FAILED, True, ALL_TAINTED, message),
            ]


def conflict(other: str) -> list[DiscoveryCondition]:
    """Return what an EnvoyConfig says whose node-id an older one has."""
    message = (
        f"EnvoyConfig {other} is older and has the same nodeID; it is served. Give one of the two"
        " another nodeID, or delete it"
    )
    return [condition(OUT_OF_SYNC, True, NODE_ID_TAKEN, message)]


def source_condition(missing: Sequence[SourceProblem]) -> DiscoveryCondition:
    """Return whether all objects could be used that a configuration names."""
    if not missing:
        return condition(IN_SYNC, True, "ResourcesSynced")
    words = "; ".join(
        f"{one.kind} {one.name} {one.problem} ({one.path})" for one in missing[:_MOST]
    )
    more = f"; and {len(missing) - _MOST} more" if len(missing) > _MOST else ""
    message = f"{words}{more}. Envoys keep what they had of it"
    return condition(IN_SYNC, False, "SecretUnusable", message)


def refusal(problems: Sequence[FieldProblem]) -> str:
    """Return why a configuration was refused."""
    more = f"; and {len(problems) - _MOST} more" if len(problems) > _MOST else ""
    return "; ".join(map(str, problems[:_MOST])) + more


def rejection(reports: Iterable[ReplicaReport]) -> str:
    """Return why Envoys rejected a version: what the first of them said."""
    found = [one for report in reports for one in report.rejections]
    first = min(found, key=lambda one: str(one.at))
    return f"every Envoy rejected it; {first.envoy} rejected {first.type}: {first.message}"
