"""The answers of cert-manager's webhook to reviews. Pure."""

import base64
from collections.abc import Callable, Mapping
from typing import Final

import orjson

from certwright.kube import JsonObject
from certwright.testkit.actors.certmanager.validation import refusal


def validated(review: JsonObject) -> JsonObject:
    """Answer whether an object is accepted."""
    request = review["request"]
    why = refusal(request.get("object") or {}) if request.get("operation") != "DELETE" else ""
    if not why:
        return _answered(review, {"allowed": True})
    status = {"code": 403, "reason": "Forbidden", "message": why}
    return _answered(review, {"allowed": False, "status": status})


def mutated(review: JsonObject) -> JsonObject:
    """Answer with who asks, for new CertificateRequests; others stay as they are."""
    request = review["request"]
    kind, user = request["kind"]["kind"], request.get("userInfo") or {}
    if kind != "CertificateRequest" or request.get("operation") != "CREATE":
        return _answered(review, {"allowed": True})
    known = {name: user[name] for name in ("username", "uid", "groups", "extra") if user.get(name)}
    patch = [{"op": "add", "path": f"/spec/{name}", "value": known[name]} for name in known]
    encoded = base64.b64encode(orjson.dumps(patch)).decode()
    return _answered(review, {"allowed": True, "patchType": "JSONPatch", "patch": encoded})


def converted(review: JsonObject) -> JsonObject:
    """Answer with the objects in the version wanted, all other fields as they are."""
    request = review["request"]
    version = request["desiredAPIVersion"]
    objects = [{**obj, "apiVersion": version} for obj in request["objects"]]
    result = {"status": "Success"}
    return _answered(review, {"convertedObjects": objects, "result": result})


def _answered(review: JsonObject, response: JsonObject) -> JsonObject:
    named = {name: review[name] for name in ("apiVersion", "kind")}
    return {**named, "response": {"uid": review["request"]["uid"], **response}}


ANSWERS: Final[Mapping[str, Callable[[JsonObject], JsonObject]]] = {
    "/validate": validated,
    "/mutate": mutated,
    "/convert": converted,
}
"""By the path of the webhook."""
