"""Subresources that do something: issue a token, evict a pod, bind it to a node."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from certwright.apiserver.access.tokens import AUDIENCE, Tokens
from certwright.apiserver.access.users import service_account
from certwright.apiserver.admission.webhooks import shown_kind
from certwright.apiserver.backend import Backend
from certwright.apiserver.causes import invalid_value
from certwright.apiserver.http.options import (
    WriteParameters,
    delete_options_from,
    write_options,
)
from certwright.apiserver.http.request import Call
from certwright.apiserver.http.responses import document_response
from certwright.apiserver.refusals import invalid
from certwright.apiserver.storage.storage import StoredRecord
from certwright.apiserver.writes.deletion import (
    ObjectDeleter,
    check_preconditions,
    set_condition,
)
from certwright.client.transport import Response
from certwright.kube.errors import BadRequest, Cause, Conflict, TooManyRequests
from certwright.kube.objects import JsonObject
from certwright.kube.selectors import LabelSelector
from certwright.kube.timestamps import format_time

_SUCCESS: Final = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
_EVICTED: Final = ("EvictionByEvictionAPI", "Eviction API: evicting")
_BINDABLE: Final = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}
_CLAIMS: Final = "authentication.kubernetes.io"
_HOUR_SECONDS: Final = 3600
_SHORTEST_SECONDS: Final = 600
_LONGEST_SECONDS: Final = 1 << 32


class Actions:
    """Carries out requests that create something under an object without storing it."""

    def __init__(self, backend: Backend, deletion: ObjectDeleter, tokens: Tokens) -> None:
        self._backend = backend
        self._deletion = deletion
        self._tokens = tokens

    def answer(self, call: Call) -> Response:
        """Answer a POST to a subresource."""
        body = call.document()
        name = (body.get("metadata") or {}).get("name")
        if call.subresource == "eviction" and name != call.name:
            raise BadRequest("name in URL does not match name in Eviction object")
        body = self._admitted(call, body)
        record = self._backend.get(call.kind, call.namespace, call.name)
        match call.subresource:
            case "token":
                return document_response(call, self._token(call, record, body), 201)
            case "eviction":
                return document_response(call, self._evict(record, body), 201)
            case "binding":
                return document_response(call, self._bind(record, body), 201)
        raise BadRequest(f"{call.subresource} cannot be created")

    def _admitted(self, call: Call, body: JsonObject) -> JsonObject:
        """Return what was posted as webhooks want it."""
        if call.webhooks is None:
            return body
        options = write_options(call, "CreateOptions")
        admission = options.admission
        if admission is None:
            return body
        kind = shown_kind(call.kind, call.subresource)
        version = f"{kind.group}/{kind.version}" if kind.group else kind.version
        metadata = {"namespace": call.namespace, **(body.get("metadata") or {})}
        if call.subresource != "eviction":
            given: JsonObject = {
                f"f:{name}": {} for name in body.keys() - {"kind", "apiVersion", "metadata"}
            }
            metadata["managedFields"] = [self._owner(options, call.subresource, version, given)]
        shown = {"kind": kind.kind, "apiVersion": version, **body, "metadata": metadata}
        body = admission.mutate(shown, None)
        admission.validate(body, None)
        return body

    def _token(self, call: Call, record: StoredRecord, body: JsonObject) -> JsonObject:
        options = write_options(call, "CreateOptions")
        spec = {"audiences": [AUDIENCE], "expirationSeconds": _HOUR_SECONDS} | {
            field: value for field, value in (body.get("spec") or {}).items() if value
        }
        _check_token_request(record, body, spec["expirationSeconds"])
        lifetime = timedelta(seconds=spec["expirationSeconds"])
        user = service_account(record.namespace, record.name, record.uid)
        bound = self._bound(record, spec.get("boundObjectRef") or {})
        user = replace(user, extra=bound_claims(bound)) if bound is not None else user
        given = {*(body.get("spec") or {}), "expirationSeconds"}
        named: JsonObject = {f"f:{field}": {} for field in sorted(given)}
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {
                "name": record.name,
                "namespace": record.namespace,
                "uid": record.uid,
                "creationTimestamp": self._backend.now(),
                "managedFields": [
                    self._owner(options, "token", "authentication.k8s.io/v1", {"f:spec": named})
                ],
            },
            "spec": {"boundObjectRef": None, **spec},
            "status": {
                "token": self._tokens.issue(
                    user, lifetime, spec["audiences"], bound.uid if bound is not None else ""
                ),
                "expirationTimestamp": format_time(self._backend.clock.now() + lifetime),
            },
        }

    def _bound(self, account: StoredRecord, reference: JsonObject) -> StoredRecord | None:
        """Return the object that a token is bound to; None if to none but its ServiceAccount."""
        if not reference:
            return None
        kind, name = reference.get("kind") or "", reference.get("name") or ""
        version = reference.get("apiVersion") or ""
        plural = _BINDABLE.get(kind) if version == "v1" else None
        if plural is None:
            shown = f"{version}, Kind={kind}" if "/" in version else f"/{version}, Kind={kind}"
            raise BadRequest(f"cannot bind token to object of type {shown}")
        namespace = "" if kind == "Node" else account.namespace
        served = self._backend.registry.find("", "v1", plural)
        assert served is not None, f"{plural} are built in"
        record = self._backend.get(served, namespace, name)
        if kind == "Pod" and (record.obj["spec"].get("serviceAccountName") or "") != account.name:
            raise BadRequest(
                f'cannot bind token for serviceaccount "{account.name}" to pod running with '
                "different serviceaccount name."
            )
        uid = reference.get("uid")
        if uid and uid != record.uid:
            raise Conflict(
                f'Operation cannot be fulfilled on {kind} "{name}": the UID in the bound object '
                f"reference ({uid}) does not match the UID in record. The object might have been "
                "deleted and then recreated",
                details={"name": name, "kind": kind},
            )
        return record

    def _owner(
        self, options: WriteParameters, subresource: str, version: str, fields: JsonObject
    ) -> JsonObject:
        return {
            "manager": options.field_manager,
            "operation": "Update",
            "apiVersion": version,
            "time": self._backend.now(),
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
            "subresource": subresource,
        }

    def _evict(self, record: StoredRecord, body: JsonObject) -> JsonObject:
        phase = (record.obj.get("status") or {}).get("phase")
        if phase == "Running" and not record.metadata.get("deletionTimestamp"):
            self._check_budgets(record)
        options = delete_options_from(body.get("deleteOptions") or {})
        check_preconditions(record.kind, record, options)
        if not options.dry_run:
            obj = record.copy()
            set_condition(obj, "DisruptionTarget", "True", _EVICTED, self._backend.now())
            obj["status"]["conditions"][-1].setdefault("lastProbeTime", None)
            collection = self._backend.registry.collection_of(record)
            record = self._backend.storage.put(collection, record.key, record.kind, obj)
        self._deletion.delete(record, replace(options, resource_version=None))
        return {**_SUCCESS, "code": 201}

    def _check_budgets(self, record: StoredRecord) -> None:
        for budget in self._backend.storage.collection("policy", "poddisruptionbudgets").records(
            f"{record.namespace}/"
        ):
            selector = LabelSelector.from_spec((budget.obj.get("spec") or {}).get("selector"))
            allowed = (budget.obj.get("status") or {}).get("disruptionsAllowed", 0)
            if selector.matches(record.metadata.get("labels") or {}) and not allowed:
                why = f"The disruption budget {budget.name} needs more healthy pods"
                raise TooManyRequests(
                    "Cannot evict pod as it would violate the pod's disruption budget.",
                    causes=[Cause("DisruptionBudget", why)],
                )

    def _bind(self, record: StoredRecord, body: JsonObject) -> JsonObject:
        node = (body.get("target") or {}).get("name") or ""
        obj = record.copy()
        spec, status = obj.setdefault("spec", {}), obj.setdefault("status", {})
        if spec.get("nodeName"):
            why = f'pod {record.name} is already assigned to node "{spec["nodeName"]}"'
            raise Conflict(
                f'Operation cannot be fulfilled on pods/binding "{record.name}": {why}',
                details={"name": record.name, "kind": "pods/binding"},
            )
        spec["nodeName"] = node
        conditions = [
            each for each in status.get("conditions") or () if each["type"] != "PodScheduled"
        ]
        scheduled = {
            "type": "PodScheduled", "status": "True", "lastProbeTime": None,
            "lastTransitionTime": self._backend.now(),
        }  # fmt: skip
        status["conditions"] = [*conditions, scheduled]
        collection = self._backend.registry.collection_of(record)
        self._backend.storage.put(collection, record.key, record.kind, obj)
        return {**_SUCCESS, "code": 201}


def bound_claims(bound: StoredRecord) -> dict[str, tuple[str, ...]]:
    """Return what a token tells of the object it is bound to."""
    prefix = f"{_CLAIMS}/{bound.obj['kind'].lower()}"
    if bound.obj["kind"] == "Secret":
        return {}
    claims = {f"{prefix}-name": (bound.name,), f"{prefix}-uid": (bound.uid,)}
    node = (bound.obj.get("spec") or {}).get("nodeName")
    return claims | ({f"{_CLAIMS}/node-name": (node,)} if node else {})


def _check_token_request(record: StoredRecord, body: JsonObject, seconds: Any) -> None:
    kind = ("TokenRequest", "authentication.k8s.io")
    name = (body.get("metadata") or {}).get("name") or record.name
    if name != record.name:
        why = "must match the service account name if specified"
        raise invalid(*kind, record.name, [invalid_value("metadata.name", name, why)])
    why = ""
    if not isinstance(seconds, int) or seconds < _SHORTEST_SECONDS:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > _LONGEST_SECONDS:
        why = "may not specify a duration larger than 2^32 seconds"
    if why:
        raise invalid(*kind, "", [invalid_value("spec.expirationSeconds", seconds, why)])
