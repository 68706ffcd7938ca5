"""Questions to the server about access and identity. They are answered, never stored."""

from collections.abc import Callable

from certwright.apiserver.access.rbac import Attributes, Authorizer
from certwright.apiserver.access.tokens import AUDIENCE, Tokens
from certwright.apiserver.access.users import UserInfo
from certwright.apiserver.causes import invalid_value
from certwright.apiserver.fields.manager import update as record_owner
from certwright.apiserver.http.options import write_options
from certwright.apiserver.http.request import Call
from certwright.apiserver.http.responses import document_response
from certwright.apiserver.refusals import invalid
from certwright.apiserver.writes.decode import check_type, decode
from certwright.client.transport import Response
from certwright.kube.errors import BadRequest
from certwright.kube.objects import JsonObject
from certwright.kube.timestamps import format_time

_GROUPS = {"authorization.k8s.io", "authentication.k8s.io"}


class Reviews:
    """Answers the review kinds."""

    def __init__(self, authorizer: Authorizer, tokens: Tokens) -> None:
        self._authorizer = authorizer
        self._tokens = tokens
        self._answers: dict[str, Callable[[Call, JsonObject], JsonObject]] = {
            "SelfSubjectAccessReview": self._self_access,
            "SubjectAccessReview": self._access,
            "SelfSubjectRulesReview": self._rules,
            "SelfSubjectReview": self._identity,
            "TokenReview": self._token,
        }

    def is_review(self, call: Call) -> bool:
        """Return whether a call asks a question instead of storing an object."""
        return call.kind.resource.group in _GROUPS and call.kind.resource.kind in self._answers

    def answer(self, call: Call) -> Response:
        """Answer a review with itself and its status."""
        options = write_options(call, "CreateOptions")
        obj = call.document()
        check_type(obj, call.kind)
        call.warnings += decode(obj, call.kind, call.request.body, options)
        kind = call.kind.resource.kind
        obj.pop("status", None)
        now = format_time(call.clock.now())
        if kind == "SelfSubjectReview":
            obj["metadata"] = {"creationTimestamp": now}
        else:
            obj = record_owner(None, obj, kind=call.kind, manager=options.field_manager, time=now)
        if kind.endswith("AccessReview") and obj["metadata"].keys() - {"managedFields"}:
            cause = invalid_value("metadata", obj["metadata"], "must be empty")
            raise invalid("", call.kind.resource.group, "", [cause])
        status = self._answers[kind](call, obj.get("spec") or {})
        if kind == "SelfSubjectRulesReview":
            obj["spec"], obj["metadata"] = {}, {}  # the server does not repeat the question
        return document_response(call, {**obj, "status": status}, 201)

    def _self_access(self, call: Call, spec: JsonObject) -> JsonObject:
        return self._verdict(call, spec, call.user)

    def _access(self, call: Call, spec: JsonObject) -> JsonObject:
        if not spec.get("user") and not spec.get("groups"):
            why = "at least one of user or group must be specified"
            cause = invalid_value("spec.user", "", why)
            raise invalid("", call.kind.resource.group, "", [cause])
        user = UserInfo(spec.get("user") or "", tuple(spec.get("groups") or ()))
        return self._verdict(call, spec, user)

    def _verdict(self, call: Call, spec: JsonObject, user: UserInfo) -> JsonObject:
        verdict = self._authorizer.decide(user, _asked(call, spec))
        status: JsonObject = {"allowed": verdict.allowed}
        return {**status, "reason": verdict.reason} if verdict.reason else status

    def _rules(self, call: Call, spec: JsonObject) -> JsonObject:
        if not spec.get("namespace"):
            raise BadRequest("no namespace on request")
        resources, paths = [], []
        rules, _problems = self._authorizer.rules(call.user, spec["namespace"])
        for rule in rules:
            if rule.get("nonResourceURLs"):
                paths.append({"verbs": rule["verbs"], "nonResourceURLs": rule["nonResourceURLs"]})
            else:
                resources.append(rule)
        return {"resourceRules": resources, "nonResourceRules": paths, "incomplete": False}

    def _identity(self, call: Call, _spec: JsonObject) -> JsonObject:
        return {"userInfo": call.user.info()}

    def _token(self, _call: Call, spec: JsonObject) -> JsonObject:
        if not spec.get("token"):
            raise BadRequest("token is required for TokenReview in authentication")
        issued = self._tokens.find(spec["token"])
        asked = spec.get("audiences") or [AUDIENCE]
        audiences = [each for each in asked if issued is not None and each in issued.audiences]
        if issued is None or not audiences:
            return {"user": {}, "error": "invalid bearer token"}
        return {"authenticated": True, "user": issued.user.info(), "audiences": audiences}


def _asked(call: Call, spec: JsonObject) -> Attributes:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (resource is None) is (path is None):
        if path is None:
            why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
            cause = invalid_value("spec.resourceAttributes", None, why)
        else:
            shown = {"Path": path.get("path", ""), "Verb": path.get("verb", "")}
            why = "cannot be specified in combination with resourceAttributes"
            cause = invalid_value("spec.nonResourceAttributes", shown, why)
        raise invalid("", call.kind.resource.group, "", [cause])
    if path is not None:
        return Attributes(path.get("verb", ""), path=path.get("path", ""))
    assert resource is not None
    parts = ("verb", "group", "resource", "subresource", "namespace", "name")
    return Attributes(**{part: resource.get(part, "") for part in parts})
