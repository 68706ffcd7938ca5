"""The scale subresource: how many replicas, without knowing the kind."""

from functools import partial
from typing import Final

import orjson

from certwright.apiserver.backend import Backend
from certwright.apiserver.causes import invalid_value
from certwright.apiserver.gotext import json_type
from certwright.apiserver.http.options import write_options
from certwright.apiserver.http.request import Call
from certwright.apiserver.http.responses import document_response
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.kinds.scalepaths import assign_at, value_at
from certwright.apiserver.refusals import conflict, invalid
from certwright.apiserver.storage.storage import StoredRecord
from certwright.apiserver.storage.versions import view, view_copy
from certwright.apiserver.verbs.patches import patched_document
from certwright.apiserver.writes.metadata import check_name
from certwright.apiserver.writes.writes import ObjectWriter
from certwright.client.transport import Response
from certwright.kube.errors import BadRequest, Cause, InternalError, Invalid
from certwright.kube.objects import JsonObject
from certwright.kube.patches import copy
from certwright.kube.selectors import LabelSelector

_EMPTY: Final[JsonObject] = {
    "kind": "Scale", "apiVersion": "autoscaling/v1", "spec": {}, "status": {"replicas": 0},
}  # fmt: skip


class Scales:
    """Reads and writes Scale objects of kinds that have one."""

    def __init__(self, backend: Backend, writes: ObjectWriter) -> None:
        self._backend = backend
        self._writes = writes

    def answer(self, call: Call) -> Response:
        """Answer a request to the scale subresource."""
        record = self._backend.get(call.kind, call.namespace, call.name)
        scale = scale_of(record, call)
        if call.verb == "get":
            path = call.kind.scale_paths[0]
            if call.kind.custom and value_at(view(record, call.kind), path) is None:
                why = f'the spec replicas field ".{path}" does not exist'
                raise InternalError(f"Internal error occurred: {why}", causes=[Cause(message=why)])
            return document_response(call, scale)
        if call.verb == "update":
            wanted = call.document("Scale")
            _check_identity(call, wanted)
        else:
            wanted = patched_document(call, copy(scale))
        return document_response(call, self._store(call, record, scale, wanted))

    def _store(
        self, call: Call, record: StoredRecord, scale: JsonObject, wanted: JsonObject
    ) -> JsonObject:
        options_kind = "UpdateOptions" if call.verb == "update" else "PatchOptions"
        options = write_options(call, options_kind)
        if options.admission is not None:
            metadata = {"namespace": call.namespace, **(wanted.get("metadata") or {})}
            shown = {**_EMPTY, **wanted, "metadata": metadata}
            if not (wanted.get("spec") or {}).get("replicas"):
                shown["spec"] = {}
            wanted = options.admission.mutate(shown, scale, record.revision)
            options.admission.shown = partial(_scale, kind=call.kind)
        version = (wanted.get("metadata") or {}).get("resourceVersion")
        if version and version != scale["metadata"]["resourceVersion"]:
            raise conflict(call.kind.resource, call.name)
        replicas = (wanted.get("spec") or {}).get("replicas") or 0
        if not isinstance(replicas, int):
            why = (
                f"json: cannot unmarshal {json_type(replicas)} into Go struct field "
                "ScaleSpec.spec.replicas of type int32"
            )
            if call.verb == "update":
                raise BadRequest(f'Scale in version "v1" cannot be handled as a Scale: {why}')
            cause = invalid_value("patch", orjson.dumps(wanted).decode(), why)
            raise Invalid(f' "" is invalid: patch: {cause.message}', causes=[cause])
        if replicas < 0 and not call.kind.custom:
            why = "must be greater than or equal to 0"
            cause = invalid_value("spec.replicas", replicas, why)
            raise invalid("Scale", "autoscaling", call.name, [cause])
        obj = view_copy(record, call.kind)
        assign_at(obj, call.kind.scale_paths[0], replicas)
        stored = self._writes.update(call.kind, record, obj, options, "scale")
        return scale_of(stored, call)


def _check_identity(call: Call, wanted: JsonObject) -> None:
    kind = wanted.get("kind") or "Scale"
    if kind != "Scale":
        version = str(wanted.get("apiVersion")).rpartition("/")[2]
        raise BadRequest(
            f'{kind} in version "{version}" cannot be handled as a Scale: converting '
            f"({version}.{kind}) to (autoscaling.Scale): unknown conversion"
        )
    check_name(wanted.get("metadata") or {}, call.name)


def scale_of(record: StoredRecord, call: Call) -> JsonObject:
    """Return the Scale of an object."""
    return _scale(view(record, call.kind), call.kind)


def _scale(obj: JsonObject, kind: ServedKind) -> JsonObject:
    metadata = obj["metadata"]
    wanted, actual, selector = kind.scale_paths
    named = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: JsonObject = {"replicas": value_at(obj, actual) or 0}
    found = value_at(obj, selector)
    if found:
        status["selector"] = (
            found if isinstance(found, str) else str(LabelSelector.from_spec(found))
        )
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {field: metadata[field] for field in named if field in metadata},
        "spec": {"replicas": value_at(obj, wanted)} if value_at(obj, wanted) else {},
        "status": status,
    }
