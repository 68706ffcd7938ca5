"""What is to be done with a request, judging by the request alone. Pure."""

from collections.abc import Sequence
from enum import StrEnum

from certwright.api.certificates import SigningCondition
from certwright.issuer.conditions import APPROVED, DENIED, FAILED, INVALID_REQUEST, READY
from certwright.issuer.requests.outcomes import Compat
from certwright.kube import Condition, find_condition, is_true


class Gate(StrEnum):
    """What a request is ready for."""

    LEAVE = "leave"
    """It is settled, broken or going away: not ours to touch."""
    UNAPPROVED = "unapproved"
    """Nobody has decided yet."""
    DENY = "deny"
    """Somebody decided against it, and it does not say so yet."""
    INITIALIZE = "initialize"
    """Upstream says first that it has seen the request."""
    PROCEED = "proceed"


def gate_request(
    conditions: Sequence[Condition], *, is_deleting: bool = False, compat: Compat = "v1"
) -> Gate:
    """Judge a CertificateRequest."""
    ready = find_condition(conditions, READY)
    if compat == "upstream":
        return _upstream_gate(conditions, ready)
    if is_deleting or is_settled(ready) or is_true(conditions, INVALID_REQUEST):
        return Gate.LEAVE
    if is_true(conditions, DENIED):
        return Gate.DENY
    return Gate.PROCEED if is_true(conditions, APPROVED) else Gate.UNAPPROVED


def gate_signing_request(
    conditions: Sequence[SigningCondition], *, has_certificate: bool, is_deleting: bool = False
) -> Gate:
    """Judge a Kubernetes signing request: for these a condition counts by being there."""
    types = {condition.type for condition in conditions}
    if has_certificate or is_deleting or types & {FAILED, DENIED}:
        return Gate.LEAVE
    return Gate.PROCEED if APPROVED in types else Gate.UNAPPROVED


def is_settled(ready: Condition | None) -> bool:
    """Whether a Ready condition is the last word about a CertificateRequest."""
    if ready is None:
        return False
    return ready.status == "True" or (
        ready.status == "False" and ready.reason in {"Failed", "Denied"}
    )


def _upstream_gate(conditions: Sequence[Condition], ready: Condition | None) -> Gate:
    """Judge as upstream does, whose own mark is what it takes for a denial at first."""
    marked = ready is not None and ready.status == "False" and ready.reason == "Denied"
    if not is_true(conditions, APPROVED) and not marked:
        return Gate.UNAPPROVED
    if is_settled(ready):
        return Gate.LEAVE
    if is_true(conditions, DENIED):
        return Gate.DENY
    return Gate.INITIALIZE if ready is None else Gate.PROCEED
