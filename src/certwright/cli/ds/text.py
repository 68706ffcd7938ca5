"""A DiscoveryService and its certificates as facts and as text; pure."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec import UNSET

from certwright.api.discoveryservices import (
    READY,
    DiscoveryService,
    DiscoveryServiceCertificate,
)
from certwright.apply.engine.blockers import human_duration
from certwright.cli.terminal.output import table
from certwright.kube import JsonObject, format_time, parse_time

_HEADS = ("CERTIFICATE", "READY", "EXPIRES IN", "SERIAL", "MESSAGE")


def summary(
    service: DiscoveryService, certificates: Iterable[DiscoveryServiceCertificate]
) -> JsonObject:
    """Return what is known, for programs."""
    status = service.status
    rotation = status.rotation
    listed = [_certificate(one) for one in sorted(certificates, key=lambda one: one.key)]
    conditions = [
        {"type": one.type, "status": one.status, "reason": one.reason, "message": one.message}
        for one in status.conditions
    ]
    told = status.observed_generation == service.metadata.generation
    ready = any(one["type"] == READY and one["status"] == "True" for one in conditions)
    return {
        "name": service.metadata.name,
        "namespace": service.spec.discovery_service_namespace,
        "ready": told and ready and all(one["ready"] for one in listed),
        "conditions": conditions,
        "namespaces": [
            {"name": one.name, "reason": one.reason, "message": one.message}
            for one in status.namespaces
        ],
        "podsWithoutSidecar": _or(status.pods_without_sidecar, 0),
        "rotation": {
            "phase": _or(rotation.phase, "") if rotation is not UNSET else "",
            "waitingFor": list(rotation.waiting_for) if rotation is not UNSET else [],
        },
        "deprecatedFields": list(status.deprecated_fields),
        "certificates": listed,
    }


def status_text(facts: JsonObject, now: datetime) -> str:
    """Return the same for people."""
    return "\n".join(_lines(facts, now))


def _lines(facts: JsonObject, now: datetime) -> Iterator[str]:
    yield f"DiscoveryService {facts['name']} in namespace {facts['namespace']}"
    if not facts["conditions"]:
        yield "  no status yet; check that its operator is running"
    for one in facts["conditions"]:
        yield f"  {one['type']}: {one['status']} ({one['reason']}) {one['message']}".rstrip()
    for one in facts["namespaces"]:
        yield f"  namespace {one['name']} is not served ({one['reason']}): {one['message']}"
    if facts["podsWithoutSidecar"]:
        yield f"  {facts['podsWithoutSidecar']} labelled Pods have no sidecar"
    if facts["deprecatedFields"]:
        yield f"  deprecated: {', '.join(facts['deprecatedFields'])}"
    rotation = facts["rotation"]
    if rotation["phase"]:
        waits = f", waits for {', '.join(rotation['waitingFor'])}" if rotation["waitingFor"] else ""
        yield f"  authority: {rotation['phase']}{waits}"
    yield ""
    yield table(_HEADS, [_row(one, now) for one in facts["certificates"]])


def _row(certificate: JsonObject, now: datetime) -> tuple[str, ...]:
    expires = certificate["notAfter"]
    left = parse_time(expires) - now if expires else None
    shown = "" if left is None else human_duration(left) if left.total_seconds() > 0 else "expired"
    return (
        certificate["name"],
        "yes" if certificate["ready"] else "no",
        shown,
        certificate["serial"],
        certificate["message"],
    )


def _certificate(one: DiscoveryServiceCertificate) -> JsonObject:
    status = one.status
    expires = status.not_after
    message = next((c.message for c in status.conditions if c.type == READY), "")
    return {
        "name": str(one.key),
        "ready": status.ready is True,
        "notAfter": format_time(expires) if expires is not UNSET else "",
        "serial": status.serial_number,
        "message": "" if status.ready is True else message,
    }


def _or(value: object, other: object) -> object:
    return other if value is UNSET else value
