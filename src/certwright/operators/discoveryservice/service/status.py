"""What is reported about a control plane; pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from certwright.api.discoverydefaults import deprecated_service_fields
from certwright.api.discoveryservices import (
    CONFLICT,
    DEGRADED,
    READY,
    DiscoveryCondition,
    DiscoveryService,
    DiscoveryServiceCertificateStatus,
    DiscoveryServiceStatus,
    NamespaceStatus,
    RotationStatus,
)
from certwright.kube import Key
from certwright.kube.conditions import Condition, merge_conditions
from certwright.operators.discoveryservice.service import messages
from certwright.operators.discoveryservice.service.namespaces import Unserved
from certwright.operators.discoveryservice.service.observed import DeploymentState
from certwright.operators.discoveryservice.service.plane import DiscoveryPlane
from certwright.operators.discoveryservice.service.probe import UNTRIED, ProbeFinding
from certwright.runtime.writes.events import EventType

PROGRESS: Final = frozenset(
    {"CertificatePending", "DeploymentNotAvailable", "WebhookNotTried", "NotInjected"}
)
"""Reasons of what usually goes by itself within moments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaneReport:
    """What a pass found and did."""

    plane: DiscoveryPlane
    homeless: bool = False
    """Whether the namespace of the control plane does not exist."""
    certified: bool = False
    """Whether the certificate of the server can be used."""
    certificate: DiscoveryServiceCertificateStatus | None = None
    authority: DiscoveryServiceCertificateStatus | None = None
    deployment: DeploymentState | None = None
    probe: ProbeFinding = UNTRIED
    failed: tuple[str, ...] = ()
    """Objects of the control plane that could not be written, and why."""
    unserved: tuple[Unserved, ...] = ()
    bare_pods: tuple[Key, ...] = ()
    """Labelled Pods without a sidecar."""
    others: tuple[str, ...] = ()
    """Other DiscoveryServices."""
    first: str = ""
    """The one that counts."""
    removed: tuple[str, ...] | None = None
    """While it is removed, what is left."""
    inventory: list[str] = field(default_factory=list)


def ready_condition(report: PlaneReport, *, was_ready: bool) -> Condition:
    """Return whether the control plane serves, and if not, the first thing in the way.

    What served before serves as long as one pod is available; at first, all have to be.
    """
    plane, pods = report.plane, report.deployment
    available = pods.available if pods is not None else 0
    enough = available > 0 if was_ready else pods is not None and pods.rolled_out
    if report.removed is not None:
        return _not_ready("Deleting", messages.removal_message(report.removed))
    if report.first != plane.name:
        others = messages.conflict_message(report.others, first=report.first, own=plane.name)
        return _not_ready("Conflict", others)
    if report.homeless:
        return _not_ready("NamespaceNotFound", messages.missing_namespace_message(plane.namespace))
    if report.failed:
        return _not_ready("ApplyFailed", messages.failed_message(report.failed))
    if not report.certified:
        secret = Key(plane.namespace, plane.server_secret)
        said = _said(report.certificate)
        return _not_ready("CertificatePending", messages.certificate_message(secret, said))
    if not enough:
        counts = (plane.object_name, available, plane.replicas)
        return _not_ready("DeploymentNotAvailable", messages.deployment_message(*counts))
    if plane.enabled and len(report.unserved) < len(plane.enabled) and not report.probe.passed:
        return _not_ready(str(report.probe.result), messages.probe_message(report.probe))
    if report.unserved:
        text = messages.namespaces_message(report.unserved, len(plane.enabled))
        return _not_ready("NamespacesNotServed", text)
    return Condition(type=READY, status="True", reason="Serving", message=messages.SERVING)


def is_urgent(before: DiscoveryServiceStatus, after: DiscoveryServiceStatus) -> bool:
    """Return whether a status has to be told at once; counts and progress can wait a little."""
    if not before.conditions or before.observed_generation != after.observed_generation:
        return True
    if before.namespaces != after.namespaces:
        return True
    old, new = _reasons(before), _reasons(after)
    if set(old.pop(READY, ())) & PROGRESS and set(new.get(READY, ())) & PROGRESS:
        new.pop(READY, None)
        return old != new
    return _reasons(before) != new


def ready_events(
    before: DiscoveryServiceStatus, after: DiscoveryServiceStatus
) -> Iterator[tuple[EventType, str, str]]:
    """Yield the event of a change of Ready; what goes by itself at the beginning is no news."""
    old, new = _reasons(before).get(READY), _reasons(after).get(READY)
    if old == new or new is None or (new[1] in PROGRESS and (old is None or old[0] != "True")):
        return
    kind: EventType = "Normal" if new[0] == "True" or new[1] == "Deleting" else "Warning"
    message = next(one.message for one in after.conditions if one.type == READY)
    yield kind, new[1], message


def _reasons(status: DiscoveryServiceStatus) -> dict[str, tuple[str, str]]:
    return {one.type: (one.status, one.reason) for one in status.conditions}


def conflict_condition(report: PlaneReport) -> Condition:
    """Return whether there is another DiscoveryService."""
    if not report.others:
        return _condition(CONFLICT, "False", "NoOther", messages.NO_CONFLICT)
    text = messages.conflict_message(report.others, first=report.first, own=report.plane.name)
    return _condition(CONFLICT, "True", "MoreThanOne", text)


def degraded_condition(report: PlaneReport) -> Condition:
    """Return whether it serves less well than it should."""
    degraded = _find(report.authority, DEGRADED)
    if degraded is not None and degraded.status == "True":
        return _condition(DEGRADED, "True", degraded.reason, degraded.message)
    if report.bare_pods:
        text = messages.without_sidecar_message(report.bare_pods)
        return _condition(DEGRADED, "True", "PodsWithoutSidecar", text)
    return _condition(DEGRADED, "False", "AsExpected", messages.NOT_DEGRADED)


def service_status(
    obj: DiscoveryService, report: PlaneReport, now: datetime
) -> DiscoveryServiceStatus:
    """Return the status that tells what a report says."""
    before = obj.status
    was_ready = any(one.type == READY and one.status == "True" for one in before.conditions)
    conditions = (
        ready_condition(report, was_ready=was_ready),
        conflict_condition(report),
        degraded_condition(report),
    )
    rotation: RotationStatus | UnsetType = UNSET
    if report.authority is not None:
        rotation = report.authority.rotation
    return DiscoveryServiceStatus(
        conditions=_merged(before.conditions, conditions, obj.metadata.generation, now),
        deployment_name=report.plane.object_name if report.deployment is not None else "",
        deployment_status=report.deployment.status if report.deployment is not None else UNSET,
        observed_generation=obj.metadata.generation,
        rotation=rotation,
        namespaces=[
            NamespaceStatus(
                name=one.name,
                reason=str(one.problem),
                message=messages.namespace_message(one),
            )
            for one in report.unserved
        ],
        pods_without_sidecar=len(report.bare_pods),
        deprecated_fields=deprecated_service_fields(obj.spec),
        inventory=report.inventory,
    )


def _merged(
    before: Iterable[DiscoveryCondition],
    conditions: Iterable[Condition],
    generation: int,
    now: datetime,
) -> list[DiscoveryCondition]:
    known = msgspec.convert(msgspec.to_builtins(list(before)), list[Condition])
    told = [msgspec.structs.replace(one, observed_generation=generation) for one in conditions]
    merged = merge_conditions(known, told, now)
    return msgspec.convert(msgspec.to_builtins(merged), list[DiscoveryCondition])


def _said(certificate: DiscoveryServiceCertificateStatus | None) -> str:
    found = _find(certificate, READY)
    return found.message if found is not None and found.status != "True" else ""


def _find(
    status: DiscoveryServiceCertificateStatus | None, type_: str
) -> DiscoveryCondition | None:
    if status is None:
        return None
    return next((one for one in status.conditions if one.type == type_), None)


def _not_ready(reason: str, message: str) -> Condition:
    return Condition(type=READY, status="False", reason=reason, message=message)


def _condition(type_: str, status: str, reason: str, message: str) -> Condition:
    return msgspec.convert(
        {"type": type_, "status": status, "reason": reason, "message": message}, Condition
    )
