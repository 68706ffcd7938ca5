"""What only CertificateSigningRequests have: a requestor, and conditions of two writers."""

from typing import Final

from certwright.apiserver.access.users import UserInfo
from certwright.apiserver.kinds.kind import ServedKind
from certwright.kube.objects import JsonObject

_KIND: Final = "certificatesigningrequests.certificates.k8s.io"
_VERDICTS: Final = frozenset({"Approved", "Denied"})


def is_signing_request(kind: ServedKind) -> bool:
    """Return whether a kind is CertificateSigningRequest."""
    return kind.resource.qualified == _KIND


def stamp_requestor(obj: JsonObject, user: UserInfo) -> None:
    """Write into a new request who made it, whatever it says itself."""
    spec = obj.setdefault("spec", {})
    for field in ("username", "uid", "groups", "extra"):
        spec.pop(field, None)
    spec.update(user.info())


def restrict_request(new: JsonObject, old: JsonObject, subresource: str, now: str) -> None:
    """Restore what a write to a request may not change, and date its new conditions.

    The specification never changes. Verdicts are given through ``approval`` only, everything
    else in the status through ``status`` only.
    """
    new["spec"] = old["spec"]
    before, after = old.get("status") or {}, new.get("status") or {}
    conditions = after.get("conditions") or []
    if subresource == "approval":
        after = {**before, "conditions": conditions}
    elif subresource == "status":
        verdicts = [each for each in before.get("conditions") or () if each["type"] in _VERDICTS]
        others = [each for each in conditions if each["type"] not in _VERDICTS]
        after = {**after, "conditions": verdicts + others}
    else:
        after = before
    known = {(each["type"], each["status"]): each for each in before.get("conditions") or ()}
    for condition in after.get("conditions") or ():
        condition.setdefault("lastUpdateTime", now)
        same = known.get((condition["type"], condition.get("status", "")), {})
        condition.setdefault("lastTransitionTime", same.get("lastTransitionTime", now))
    if not after.get("conditions"):
        after = {field: value for field, value in after.items() if field != "conditions"}
    new["status"] = after
