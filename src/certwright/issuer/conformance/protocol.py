"""Checks the versions of a request against the rules of the protocol. Pure.

``SpecTouched``, ``MetadataTouched``, ``VerdictTouched``, ``AnswerChanged``,
``CertificateWithoutReady``, ``FailureTimeWithoutReady``, ``FailureTimeMissing``, ``UnknownReason``.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from certwright.issuer.conformance.violations import certificate_of, is_issued, is_refused
from certwright.kube import JsonObject
from certwright.pki import Violation

_REASONS = {"Pending", "Failed", "Issued", "Denied", "Initializing"}
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
    if ready is not None and ready.get("reason") not in _REASONS:
        said = f"cert-manager does not know the reason {ready.get('reason')!r}"
        found.append(Violation("UnknownReason", said))
    return found


def _step_violations(before: JsonObject, after: JsonObject) -> list[Violation]:
    found = []
    if before["spec"] != after["spec"]:
        found.append(Violation("SpecTouched", "the spec of the request was changed"))
    if _own_metadata(before) != _own_metadata(after):
        said = "labels, owners or cert-manager's annotations of the request were changed"
        found.append(Violation("MetadataTouched", said))
    held, holds = _conditions(before), _conditions(after)
    if any(held[name] != holds.get(name) for name in _VERDICTS if name in held):
        said = "the condition Approved or Denied of the request was changed"
        found.append(Violation("VerdictTouched", said))
    if (is_issued(before) or is_refused(before)) and _answer(before) != _answer(after):
        found.append(Violation("AnswerChanged", _change(held, holds)))
    return found


def _change(held: dict[str, Any], holds: dict[str, Any]) -> str:
    before, after = held.get("Ready"), holds.get("Ready")
    if before and after and before["status"] != after["status"]:
        return f"Ready went from {before['status']} to {after['status']} after the answer"
    return "an answered request was answered again"


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
    annotations = metadata.get("annotations") or {}
    kept = {name: text for name, text in annotations.items() if "cert-manager.io/" in name}
    return (metadata.get("labels"), metadata.get("ownerReferences"), kept)
