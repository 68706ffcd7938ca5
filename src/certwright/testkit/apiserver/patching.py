"""PATCH in its four dialects: JSON patch, merge patch, strategic merge, apply."""

from typing import Any, Final

from certwright.client.transport import Response
from certwright.kube.errors import ApiError, BadRequest, Invalid, UnsupportedMediaType
from certwright.kube.objects import JsonObject
from certwright.kube.patches import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    apply_json_patch,
    apply_merge_patch,
)
from certwright.testkit.apiserver import fieldmanager
from certwright.testkit.apiserver.answers import object_response
from certwright.testkit.apiserver.backend import Backend
from certwright.testkit.apiserver.bodies import duplicate_fields, parse_json, parse_yaml
from certwright.testkit.apiserver.calls import Call
from certwright.testkit.apiserver.causes import invalid_value
from certwright.testkit.apiserver.media import body_media_type
from certwright.testkit.apiserver.metadata import check_name, dedup_owners, settle_namespace
from certwright.testkit.apiserver.options import WriteOptions, write_options
from certwright.testkit.apiserver.refusals import conflict, not_found
from certwright.testkit.apiserver.shape import decode, fill_defaults
from certwright.testkit.apiserver.storage import Record
from certwright.testkit.apiserver.strategic import strategic_merge
from certwright.testkit.apiserver.versions import view, view_copy
from certwright.testkit.apiserver.writes import Writes, restrict

_OPERATIONS_LIMIT: Final = 10_000
_DIALECTS: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)


class Patches:
    """Carries out PATCH requests."""

    def __init__(self, backend: Backend, writes: Writes) -> None:
        self._backend = backend
        self._writes = writes

    def patch(self, call: Call) -> Response:
        """Change an object, or with apply create it."""
        dialect = _dialect(call)
        options = write_options(call, "PatchOptions", applies=dialect == APPLY_PATCH)
        if dialect == APPLY_PATCH:
            return self._apply(call, options)
        record = self._backend.get(call.kind, call.namespace, call.name)
        patched = _patched(call, dialect, view_copy(record, call.kind))
        patched.setdefault("metadata", {})
        call.warnings += _decoded(call, patched, options)
        _check_identity(call, patched)
        stored = self._writes.update(call.kind, record, patched, options, call.subresource)
        return object_response(call, stored)

    def _apply(self, call: Call, options: WriteOptions) -> Response:
        applied = parse_yaml(call.request.body or b"")
        if not isinstance(applied, dict):
            raise BadRequest(
                "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot "
                "unmarshal into Go value of type map[string]interface {}"
            )
        record = self._backend.find(call.kind, call.namespace, call.name)
        if record is None and call.subresource:
            raise not_found(call.kind.resource, call.name)
        merged = fieldmanager.apply(
            view_copy(record, call.kind) if record is not None else None,
            applied,
            kind=call.kind,
            manager=options.field_manager,
            force=bool(options.force),
            time=self._backend.now(),
            subresource=call.subresource,
        )
        call.warnings += _duplicates(call, options)
        merged.setdefault("metadata", {})
        _check_identity(call, merged)
        if record is None:
            return object_response(call, self._create_applied(call, merged, options), 201)
        return object_response(call, self._replace_applied(call, record, merged, options))

    def _create_applied(self, call: Call, obj: JsonObject, options: WriteOptions) -> Record:
        uid = obj["metadata"].get("uid")
        if uid:
            why = (
                f"uid mismatch: the provided object specified uid {uid}, "
                "and no existing object was found"
            )
            raise conflict(call.kind.resource, call.name, why)
        call.kind.decode(obj)
        if "status" in call.kind.subresources:
            obj.pop("status", None)
        fill_defaults(obj, call.kind)
        dedup_owners(obj["metadata"], call.warnings)
        return self._writes.insert(call.kind, obj, options)

    def _replace_applied(
        self, call: Call, record: Record, obj: JsonObject, options: WriteOptions
    ) -> Record:
        self._writes.check_current(call.kind, record, obj)
        call.kind.decode(obj)
        restrict(call.kind, obj, view(record, call.kind), call.subresource)
        fill_defaults(obj, call.kind)
        dedup_owners(obj["metadata"], call.warnings)
        return self._writes.replace(call.kind, record, obj, options)


def _dialect(call: Call) -> str:
    dialect = body_media_type(call.headers.get("content-type", ""))
    supported = [each for each in _DIALECTS if not (call.kind.custom and "strategic" in each)]
    if dialect not in supported:
        raise UnsupportedMediaType(
            "the body of the request was in an unknown format - accepted media types include: "
            + ", ".join(supported)
        )
    return dialect


def _patched(call: Call, dialect: str, current: JsonObject) -> JsonObject:
    patch = parse_json(call.request.body or b"")
    if dialect == JSON_PATCH:
        patched = _json_patched(current, patch)
    elif not isinstance(patch, dict):
        raise BadRequest("error decoding patch: a merge patch must be an object")
    elif dialect == MERGE_PATCH:
        patched = apply_merge_patch(current, patch)
    else:
        patched = strategic_merge(current, patch, call.kind.schema)
    if not isinstance(patched, dict):
        raise BadRequest("the patched object is not an object")
    return patched


def _json_patched(current: JsonObject, patch: Any) -> Any:
    if not isinstance(patch, list):
        raise BadRequest("error decoding patch: a JSON patch must be a list of operations")
    if len(patch) > _OPERATIONS_LIMIT:
        raise ApiError(
            f"The allowed maximum operations in a JSON patch is {_OPERATIONS_LIMIT}, "
            f"got {len(patch)}",
            code=413,
            reason="RequestEntityTooLarge",
        )
    try:
        return apply_json_patch(current, patch)
    except ValueError:
        raise Invalid("the server rejected our request due to an error in our request") from None


def _decoded(call: Call, patched: JsonObject, options: WriteOptions) -> list[str]:
    resource = call.kind.resource
    try:
        if (patched.get("apiVersion"), patched.get("kind")) != (
            resource.api_version,
            resource.kind,
        ):
            raise BadRequest(
                f"the API version in the data ({patched.get('apiVersion')}) does not match the "
                f"expected API version ({resource.api_version})"
            )
        return decode(patched, call.kind, call.request.body, options)
    except BadRequest as error:
        cause = invalid_value("patch", patched, error.message)
        raise Invalid(f' "" is invalid: patch: {cause.message}', causes=[cause]) from None


def _check_identity(call: Call, obj: JsonObject) -> None:
    settle_namespace(obj["metadata"], call.namespace)
    check_name(obj["metadata"], call.name)


def _duplicates(call: Call, options: WriteOptions) -> list[str]:
    if options.validation == "Ignore" or not call.request.body:
        return []
    strays = [f'duplicate field "{path}"' for path in duplicate_fields(call.request.body)]
    if strays and options.validation == "Strict":
        raise BadRequest(f"error strict decoding YAML: {', '.join(strays)}")
    return strays
