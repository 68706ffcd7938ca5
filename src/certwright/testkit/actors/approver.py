"""Approves every CertificateRequest, as cert-manager does by default."""

from certwright.api.certmanager import CertificateRequest
from certwright.kube import Key, find_condition, format_time
from certwright.runtime import DONE, Context, Controller, Outcome, PolicyRule, select

_DECIDED = ("Approved", "Denied")


def approver(namespace: str = "") -> Controller:
    """Return the controller that approves requests, of one namespace or all."""
    watched = select(CertificateRequest, namespace=namespace)
    # cert-manager's webhook asks whether who approves may do so.
    may = PolicyRule("cert-manager.io", "signers", ("approve",))
    return Controller(watched, _approve, name="approve-certificaterequests", rbac=[may])


async def _approve(ctx: Context, key: Key) -> Outcome:
    request = ctx.get(CertificateRequest, key)
    if request is None:
        return DONE
    if any(find_condition(request.status.conditions, decision) for decision in _DECIDED):
        return DONE
    condition = {
        "type": "Approved",
        "status": "True",
        "reason": "approved.certwright.dev",
        "message": "Everything is approved here",
        "lastTransitionTime": format_time(ctx.clock.now()),
    }
    await ctx.apply_status(request, {"conditions": [condition]})
    return DONE
