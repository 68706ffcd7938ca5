"""The status of a certificate, from what a pass found; pure.

Times move only with what they are about, so the same findings give the same status.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from certwright.api.discoveryservices import DEGRADED, NEEDS_RENEWAL, READY
from certwright.kube import Condition, JsonObject, format_time
from certwright.kube.conditions import conditions_of, merge_conditions
from certwright.operators.discoveryservice.certificates import messages
from certwright.operators.discoveryservice.certificates.schedule import Schedule
from certwright.operators.discoveryservice.hashes import hash_of_certificate
from certwright.pki.certificates import Certificate, write_certificates
from certwright.pki.pairs import CertifiedKey
from certwright.pki.rotation import RotationStep

_AS_EXPECTED: Final = "AsExpected"
_MOST_NAMED: Final = 10


@dataclass(frozen=True, slots=True)
class Findings:
    """What a pass found out about a certificate."""

    pair: CertifiedKey | None = None
    ready: bool = False
    reason: str = messages.ISSUED
    message: str = ""
    needs_renewal: bool = False
    pending: bool = False
    """Whether a renewal that was asked for could not be made yet."""
    deprecated: tuple[str, ...] = ()
    rotation: RotationStep | None = None
    next: CertifiedKey | None = None
    emergency: str = ""


def requested(obj: JsonObject) -> bool:
    """Return whether the condition CertificateNeedsRenewal is True."""
    return any(c.type == NEEDS_RENEWAL and c.status == "True" for c in conditions_of(obj))


def recorded_serial(obj: JsonObject) -> str:
    """Return the serial number of the certificate that the status is about."""
    status = obj.get("status")
    serial = status.get("serialNumber") if isinstance(status, dict) else None
    return serial if isinstance(serial, str) else ""


def status_of(obj: JsonObject, found: Findings, now: datetime) -> JsonObject:
    """Return the whole status."""
    old = obj.get("status")
    old = old if isinstance(old, dict) else {}
    generation = obj["metadata"].get("generation", 0)
    told = [
        Condition(
            type=READY,
            status="True" if found.ready else "False",
            reason=found.reason,
            message=found.message,
            observed_generation=generation,
        )
    ]
    if found.needs_renewal and found.pair is not None:
        window = Schedule(found.pair.validity).window
        message = messages.about_to_expire(int(window.total_seconds()))
        told.append(_true(NEEDS_RENEWAL, messages.ABOUT_TO_EXPIRE, message, generation))
    if found.emergency:
        message = messages.authority_lost(found.emergency)
        told.append(_true(DEGRADED, messages.EMERGENCY, message, generation))
    kept = {one.type for one in told} | ({NEEDS_RENEWAL} if found.pending else set())
    ours = {READY, NEEDS_RENEWAL, DEGRADED}
    existing = [one for one in conditions_of(obj) if one.type in kept or one.type not in ours]
    status: dict[str, Any] = {
        **{name: value for name, value in old.items() if name not in _OWN},
        "ready": found.ready,
        "conditions": [_written(one) for one in merge_conditions(existing, told, now)],
        "observedGeneration": generation,
    }
    if found.pair is not None:
        status["notBefore"] = format_time(found.pair.validity.not_before)
        status["notAfter"] = format_time(found.pair.validity.not_after)
        status["serialNumber"] = found.pair.serial
        status["certificateHash"] = _hash(found.pair.certificate)
    if found.deprecated:
        status["deprecatedFields"] = list(found.deprecated)
    if found.rotation is not None:
        status["rotation"] = _rotation(old.get("rotation"), found, now)
    return status


_OWN: Final = frozenset(
    {
        "ready", "conditions", "observedGeneration", "notBefore", "notAfter", "serialNumber",
        "certificateHash", "deprecatedFields", "rotation",
    }
)  # fmt: skip


@lru_cache(maxsize=1024)  # each pass asks, and the hash takes milliseconds
def _hash(certificate: Certificate) -> str:
    return hash_of_certificate(write_certificates(certificate))


def _rotation(old: Any, found: Findings, now: datetime) -> JsonObject:
    assert found.rotation is not None
    step, old = found.rotation, old if isinstance(old, dict) else {}
    same = old.get("phase") == step.phase.value and old.get("since")
    rotation: JsonObject = {
        "phase": step.phase.value,
        "since": old["since"] if same else format_time(now),
        "signer": found.pair.serial if found.pair is not None else "",
    }
    if found.next is not None:
        rotation["next"] = found.next.serial
    if step.waiting_for:
        more = len(step.waiting_for) - _MOST_NAMED
        named = [*step.waiting_for[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
        rotation["waitingFor"] = named
    return rotation


def _true(type_: str, reason: str, message: str, generation: int) -> Condition:
    return Condition(
        type=type_, status="True", reason=reason, message=message, observed_generation=generation
    )


def _written(condition: Condition) -> JsonObject:
    assert condition.last_transition_time is not None
    written: JsonObject = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": format_time(condition.last_transition_time),
    }
    if condition.observed_generation:
        written["observedGeneration"] = condition.observed_generation
    return written
