"""PATCH in its four dialects: JSON patch, merge patch, strategic merge, apply."""

import re
from dataclasses import replace
from typing import Any, Final

import orjson

from certwright.apiserver.access.rbac import Authorizer
from certwright.apiserver.backend import Backend
from certwright.apiserver.causes import invalid_value
from certwright.apiserver.fields import manager as fieldmanager
from certwright.apiserver.fields.managedfields import without_entries
from certwright.apiserver.gotext import json_type, plain
from certwright.apiserver.http.bodies import DEPTH_EXCEEDED, parse_json, parse_yaml
from certwright.apiserver.http.media import body_media_type
from certwright.apiserver.http.options import WriteParameters, write_options
from certwright.apiserver.http.request import Call
from certwright.apiserver.http.responses import object_response
from certwright.apiserver.http.strictness import duplicate_keys
from certwright.apiserver.kinds.kind import fill_defaults
from certwright.apiserver.patch.jsonpatch import apply_json_patch_leniently
from certwright.apiserver.patch.mismatch import type_mismatch
from certwright.apiserver.patch.strategic import strategic_merge
from certwright.apiserver.refusals import Failed, Rejected, UnknownPatch, conflict, not_found
from certwright.apiserver.storage.storage import StoredRecord
from certwright.apiserver.storage.versions import view, view_copy
from certwright.apiserver.writes.decode import check_type, decode
from certwright.apiserver.writes.metadata import check_name, dedup_owners, settle_namespace
from certwright.apiserver.writes.writes import ObjectWriter, restrict
from certwright.client.transport import Response
from certwright.kube.errors import ApiError, BadRequest, Invalid, UnsupportedMediaType
from certwright.kube.objects import JsonObject
from certwright.kube.patches import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    merge_into,
)

_OPERATIONS_LIMIT: Final = 10_000
_DIALECTS: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)


class Patches:
    """Carries out PATCH requests."""

    def __init__(self, backend: Backend, writes: ObjectWriter, authorizer: Authorizer) -> None:
        self._backend = backend
        self._writes = writes
        self._authorizer = authorizer

    def patch(self, call: Call) -> Response:
        """Change an object, or with apply create it."""
        dialect = _dialect(call)
        options = write_options(call, "PatchOptions", applies=dialect == APPLY_PATCH)
        if dialect == APPLY_PATCH:
            return self._apply(call, options)
        record = self._backend.get(call.kind, call.namespace, call.name)
        patched = patched_document(call, view_copy(record, call.kind))
        patched.setdefault("metadata", {})
        call.warnings += _decoded(call, patched, options)
        _check_identity(call, patched)
        stored = self._writes.update(call.kind, record, patched, options, call.subresource)
        return object_response(call, stored)

    def _apply(self, call: Call, options: WriteParameters) -> Response:
        applied = parse_yaml(call.request.body or b"")
        if not isinstance(applied, dict):
            raise BadRequest(
                "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot "
                f"unmarshal {json_type(applied)} into Go value of type map[string]interface {{}}"
            )
        record = self._backend.read(call.kind, call.namespace, call.name)
        if record is None and call.subresource:
            raise not_found(call.kind.resource, call.name)
        live = view_copy(record, call.kind) if record is not None else None
        merged = fieldmanager.apply(
            live,
            applied,
            kind=call.kind,
            manager=options.field_manager,
            force=bool(options.force),
            time=self._backend.now(),
            subresource=call.subresource,
            others=self._backend.other_versions(call.kind),
        )
        call.warnings += _duplicates(call, applied, options)
        merged.setdefault("metadata", {})
        _decode_merged(call, merged)
        _check_identity(call, merged)
        if record is None:
            return object_response(call, self._create_applied(call, merged, options), 201)
        if options.admission is not None:
            merged = self._writes.updated(call.kind, record, merged, options, call.subresource)
        else:
            self._writes.check_current(call.kind, record, merged)
            restrict(call.kind, merged, view(record, call.kind), call.subresource)
            if not _is_settled(call, merged, live):
                fill_defaults(merged, call.kind)
            dedup_owners(merged["metadata"], call.warnings)
        stored = self._writes.replace(call.kind, record, merged, options, call.subresource)
        return object_response(call, stored)

    def _create_applied(
        self, call: Call, obj: JsonObject, options: WriteParameters
    ) -> StoredRecord:
        uid = obj["metadata"].get("uid")
        if uid:
            why = (
                f"uid mismatch: the provided object specified uid {uid}, "
                "and no existing object was found"
            )
            raise conflict(call.kind.resource, call.name, why)
        # The right to patch does not include the right to create.
        self._authorizer.check(call.user, replace(call.attributes, verb="create"))
        if "status" in call.kind.subresources:
            obj.pop("status", None)
        fill_defaults(obj, call.kind)
        dedup_owners(obj["metadata"], call.warnings)
        if options.admission is not None:
            obj = self._writes.mutated(call.kind, obj, options)
        obj["metadata"].pop("resourceVersion", None)
        return self._writes.insert(call.kind, obj, options)


def _decode_merged(call: Call, obj: JsonObject) -> None:
    """Read the result of an apply, which the server does not expect to fail."""
    resource, metadata = call.kind.resource, obj["metadata"]
    try:
        call.kind.decode(obj)
    except BadRequest as error:
        where = f"/{metadata.get('name', '')}"
        target = f"{resource.group}/{resource.version}, Kind={resource.kind}"
        why = error.message.partition(f" cannot be handled as a {resource.kind}: ")[2]
        raise Failed(
            f"failed to convert new object ({where}; {target}) to proper version: unable to "
            f"convert unstructured object to {target}: error decoding from json: {why}"
        ) from None


def _dialect(call: Call) -> str:
    dialect = body_media_type(call.headers.get("content-type", ""))
    supported = [each for each in _DIALECTS if not (call.kind.custom and "strategic" in each)]
    if dialect not in supported:
        if call.kind.custom:
            raise UnsupportedMediaType(
                "the body of the request was in an unknown format - accepted media types "
                f"include: {', '.join(supported)}"
            )
        raise UnknownPatch
    return dialect


def patched_document(call: Call, current: JsonObject) -> JsonObject:
    """Return a document, the caller's own, with the patch applied; apply counts as merge."""
    dialect = _dialect(call)
    body = call.request.body or b""
    patch = parse_yaml(body) if dialect == APPLY_PATCH else parse_json(body, "error decoding patch")
    if dialect == JSON_PATCH:
        patched = _json_patched(current, patch)
    elif not isinstance(patch, dict):
        raise BadRequest(
            f"error decoding patch: json: cannot unmarshal {json_type(patch)} into Go value of "
            "type map[string]interface {}"
        )
    elif dialect != STRATEGIC_MERGE_PATCH:
        merge_into(current, patch)
        patched = current
    else:
        patched = strategic_merge(current, patch, call.kind.schema)
        if why := type_mismatch(patched, call.kind.schema):
            cause = invalid_value("patch", plain(patch), why)
            raise Invalid(f' "" is invalid: patch: {cause.message}', causes=[cause])
    if not isinstance(patched, dict):
        raise BadRequest("the patched object is not an object")
    return patched


def _json_patched(current: JsonObject, patch: Any) -> Any:
    if not isinstance(patch, list):
        raise BadRequest(
            f"error decoding patch: json: cannot unmarshal {json_type(patch)} into Go value of "
            "type []handlers.jsonPatchOp"
        )
    for operation in patch:
        if not isinstance(operation, dict):
            raise BadRequest(
                f"error decoding patch: json: cannot unmarshal {json_type(operation)} into Go "
                "value of type handlers.jsonPatchOp"
            )
    if len(patch) > _OPERATIONS_LIMIT:
        raise ApiError(
            f"The allowed maximum operations in a JSON patch is {_OPERATIONS_LIMIT}, "
            f"got {len(patch)}",
            code=413,
            reason="RequestEntityTooLarge",
        )
    try:
        return apply_json_patch_leniently(current, patch)
    except ValueError:
        raise Rejected from None


def _decoded(call: Call, patched: JsonObject, options: WriteParameters) -> list[str]:
    resource = call.kind.resource
    sorting = orjson.OPT_SORT_KEYS if call.kind.custom else 0
    try:
        shown = orjson.dumps(patched, option=sorting).decode()
    except orjson.JSONEncodeError:  # a copy inside itself grows with each patch
        raise BadRequest(f"error decoding patch: {DEPTH_EXCEEDED}") from None
    try:
        check_type(patched, call.kind)
        warnings = decode(patched, call.kind, call.request.body, options)
        if _dialect(call) == JSON_PATCH:
            return [re.sub("^duplicate", "json patch duplicate", text) for text in warnings]
        return warnings
    except BadRequest as error:
        prefix = f'{resource.kind} in version "{resource.version}" cannot be handled as a '
        why = error.message.removeprefix(prefix).removeprefix(f"{resource.kind}: ")
        cause = invalid_value("patch", shown, why)
        raise Invalid(f' "" is invalid: patch: {cause.message}', causes=[cause]) from None


def _is_settled(call: Call, merged: JsonObject, live: JsonObject | None) -> bool:
    """Return whether an apply changed no value: then it adds no defaults, either.

    Only an object that is stored in another version may lack any.
    """
    if live is None or len(call.kind.versions) < 2:
        return False
    return without_entries(merged) == without_entries(live)


def _check_identity(call: Call, obj: JsonObject) -> None:
    settle_namespace(obj["metadata"], call.namespace)
    check_name(obj["metadata"], call.name)


def _duplicates(call: Call, applied: JsonObject, options: WriteParameters) -> list[str]:
    if options.validation == "Ignore":
        return []
    strays = duplicate_keys(call.request.body or b"", applied)
    if strays and options.validation == "Strict":
        lines = "\n  ".join(["yaml: unmarshal errors:", *strays])
        raise BadRequest(f"error strict decoding YAML: error converting YAML to JSON: {lines}")
    return strays
