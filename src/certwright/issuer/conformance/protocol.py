"""Checks the versions of a request against the rules of the protocol. Pure.

``SpecTouched``, ``MetadataTouched``, ``AnnotationAdded``, ``VerdictTouched``, ``SelfApproved``,
``AnswerChanged``, ``CertificateWithoutReady``, ``ReadyWithoutCertificate``,
``FailureTimeWithoutReady``, ``FailureTimeMissing``, ``UnknownReason``, ``ReasonMismatch``,
``TransitionTimeMoved``.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from certwright.issuer.conformance.cases.objects import ANNOTATIONS, APPROVAL_REASON
from certwright.issuer.conformance.violations import certificate_of, is_issued, is_refused
from certwright.kube import JsonObject
from certwright.pki import Violation
from certwright.pki.errors import listed

_REASONS: Final = {
    "Issued": {"True"},
    "Pending": {"False", "Unknown"},
    "Initializing": {"False", "Unknown"},
    "Failed": {"False"},
    "Denied": {"False"},
}
"""Which status of Ready goes with a reason. cert-manager looks at the reason alone."""
_VERDICTS = ("Approved", "Denied")


def protocol_violations(versions: Sequence[JsonObject]) -> list[Violation]:
    """Return the rules that the *versions* of a request, oldest first, break; empty is good."""
    found = [one for version in versions for one in _version_violations(version)]
    for before, after in pairwise(versions):
        found += _step_violations(before, after)
    return list({one.name: one for one in found}.values())


def _version_violations(version: JsonObject) -> list[Violation]:
    if version["kind"] == "CertificateSigningRequest":
        return []  # the API server itself keeps its rules
    found = []
    ready = _conditions(version).get("Ready")
    failed_at = (version.get("status") or {}).get("failureTime")
    if certificate_of(version) and (ready is None or ready["status"] != "True"):
        said = "there is a certificate, but the request is not Ready"
        found.append(Violation("CertificateWithoutReady", said))
    if failed_at and not is_refused(version):
        said = "there is a failureTime, but Ready does not say Failed or Denied in the same write"
        found.append(Violation("FailureTimeWithoutReady", said))
    if is_refused(version) and not failed_at:
        said = "Ready says Failed or Denied, but there is no failureTime in the same write"
        found.append(Violation("FailureTimeMissing", said))
    if ready is not None:
        found += _ready_violations(ready, has_certificate=bool(certificate_of(version)))
    if _is_self_approved(version):
        said = "the issuer approved the request itself: approval belongs to an approver"
        found.append(Violation("SelfApproved", said))
    return found


def _ready_violations(ready: dict[str, Any], *, has_certificate: bool) -> list[Violation]:
    reason, status = ready.get("reason"), ready["status"]
    found = []
    if status == "True" and not has_certificate:
        said = "Ready is True, but there is no certificate in the same write"
        found.append(Violation("ReadyWithoutCertificate", said))
    if reason not in _REASONS:
        said = f"cert-manager does not know the reason {reason!r}"
        found.append(Violation("UnknownReason", said))
    elif status not in _REASONS[reason]:
        said = f"the reason of Ready is {reason}, but its status is {status}"
        found.append(Violation("ReasonMismatch", said))
    return found


def _step_violations(before: JsonObject, after: JsonObject) -> list[Violation]:
    found = []
    if before["spec"] != after["spec"]:
        found.append(Violation("SpecTouched", "the spec of the request was changed"))
    if _own_metadata(before) != _own_metadata(after):
        said = "labels, owners, finalizers or cert-manager's annotations were changed"
        found.append(Violation("MetadataTouched", said))
    if added := _changed_annotations(before, after):
        said = f"the request was annotated: {listed(added)}; only its status is the issuer's"
        found.append(Violation("AnnotationAdded", said))
    held, holds = _conditions(before), _conditions(after)
    if any(held[name] != holds.get(name) for name in _VERDICTS if name in held):
        said = "the condition Approved or Denied of the request was changed"
        found.append(Violation("VerdictTouched", said))
    if (is_issued(before) or is_refused(before)) and _answer(before) != _answer(after):
        found.append(Violation("AnswerChanged", _change(held, holds)))
    elif _moved(held.get("Ready"), holds.get("Ready")):
        said = "the lastTransitionTime of Ready was changed, its status was not"
        found.append(Violation("TransitionTimeMoved", said))
    return found


def _change(held: dict[str, Any], holds: dict[str, Any]) -> str:
    before, after = held.get("Ready"), holds.get("Ready")
    if before and after and before["status"] != after["status"]:
        return f"Ready went from {before['status']} to {after['status']} after the answer"
    return "an answered request was answered again"


def _moved(before: dict[str, Any] | None, after: dict[str, Any] | None) -> bool:
    if before is None or after is None or before["status"] != after["status"]:
        return False
    return before.get("lastTransitionTime") != after.get("lastTransitionTime")


def _is_self_approved(version: JsonObject) -> bool:
    """Return whether the field manager that wrote Ready also wrote an approval, not the kit's."""
    approved = _conditions(version).get("Approved")
    if approved is None or approved.get("reason") == APPROVAL_REASON:
        return False
    return bool(_writers(version, "Approved") & _writers(version, "Ready"))


def _writers(version: JsonObject, condition: str) -> set[str]:
    """Return the field managers of a condition."""
    found = set()
    for entry in version["metadata"].get("managedFields") or ():
        status = (entry.get("fieldsV1") or {}).get("f:status") or {}
        if f'k:{{"type":"{condition}"}}' in (status.get("f:conditions") or {}):
            found.add(entry.get("manager", ""))
    return found


def _answer(version: JsonObject) -> object:
    status = version.get("status") or {}
    ready = _conditions(version).get("Ready") or {}
    return (
        [status.get(name) for name in ("certificate", "ca", "failureTime")],
        [ready.get(name) for name in ("status", "reason", "lastTransitionTime")],
    )


def _conditions(version: JsonObject) -> dict[str, Any]:
    return {one["type"]: one for one in (version.get("status") or {}).get("conditions") or ()}


def _own_metadata(version: JsonObject) -> object:
    metadata = version["metadata"]
    kept = {name: text for name, text in _annotations(version).items() if _is_reserved(name)}
    owned = [metadata.get(name) for name in ("labels", "ownerReferences", "finalizers")]
    return (owned, kept)


def _changed_annotations(before: JsonObject, after: JsonObject) -> list[str]:
    """Return the annotations that are new or different, without cert-manager's and the kit's."""
    held = _annotations(before)
    return sorted(
        name
        for name, text in _annotations(after).items()
        if held.get(name) != text and not _is_reserved(name) and not name.startswith(ANNOTATIONS)
    )


def _annotations(version: JsonObject) -> dict[str, str]:
    return version["metadata"].get("annotations") or {}


def _is_reserved(annotation: str) -> bool:
    return "cert-manager.io/" in annotation
