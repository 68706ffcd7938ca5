"""Objects, lists and watch events, encoded in the form the client asked for."""

from collections.abc import Sequence

import orjson

from certwright.apiserver.http.media import Form, wanted_kind
from certwright.apiserver.http.request import Call
from certwright.apiserver.http.tables import META, metadata_of, table_of
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.refusals import (
    KindNotServed,
    NothingAcceptable,
    PathForbidden,
    PathNotServed,
    Rejected,
    UnknownPatch,
    details_of,
)
from certwright.apiserver.storage.storage import ChangeType, ListPage, StoredRecord
from certwright.apiserver.storage.versions import render, view
from certwright.client.transport import Response
from certwright.kube.errors import ApiError, MethodNotAllowed, NotAcceptable
from certwright.kube.objects import JsonObject

_WITH_DETAILS = (
    KindNotServed, MethodNotAllowed, NothingAcceptable, PathForbidden, Rejected, UnknownPatch,
)  # fmt: skip


def json_response(
    status: int, body: bytes, warnings: Sequence[str] = (), headers: dict[str, str] | None = None
) -> Response:
    """Return a complete JSON answer; repeated warnings are sent once."""
    found = {
        "content-type": "application/json",
        "cache-control": "no-cache, private",
        **(headers or {}),
    }
    return Response(status, with_warnings(found, warnings), body)


def with_warnings(headers: dict[str, str], warnings: Sequence[str]) -> dict[str, str]:
    """Return headers that warn, besides. One field holds all: HTTP joins them with commas."""
    if not warnings:
        return headers
    unique = dict.fromkeys(warnings)
    return {**headers, "warning": ", ".join(f"299 - {_quoted(text)}" for text in unique)}


def text_response(status: int, body: bytes) -> Response:
    """Return a complete answer in plain text."""
    return json_response(status, body, headers={"content-type": "text/plain; charset=utf-8"})


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def refusal_response(error: ApiError, warnings: Sequence[str] = ()) -> Response:
    """Return a refusal as a client sees it."""
    if isinstance(error, PathNotServed):
        return text_response(404, b"404 page not found\n")
    headers = {}
    if error.retry_after is not None:
        headers["retry-after"] = str(int(error.retry_after))
    return json_response(error.status_code, orjson.dumps(status_of(error)), warnings, headers)


def status_of(error: ApiError) -> JsonObject:
    """Return a refusal as kube-apiserver writes it: empty texts left out, some details not."""
    status = error.to_status()
    if not status["reason"]:
        del status["reason"]
    if isinstance(error, _WITH_DETAILS):
        status.setdefault("details", {})
    for cause in status.get("details", {}).get("causes", ()):
        for part in [part for part, text in cause.items() if not text]:
            del cause[part]
    return status


def object_response(call: Call, record: StoredRecord, status: int = 200) -> Response:
    """Answer with one object."""
    form = call.form
    if form is Form.OBJECT:
        body = render(record, call.kind)
    elif form is Form.METADATA:
        _check_plurality(call, is_list=False)
        body = orjson.dumps(metadata_of(view(record, call.kind)))
    else:
        include = call.query.get("includeObject", "")
        table = table_of(call.kind, [view(record, call.kind)], include, call.clock.now())
        table["metadata"] = {"resourceVersion": record.metadata.get("resourceVersion", "")}
        body = orjson.dumps(table)
    return json_response(status, body, call.warnings)


def document_response(call: Call, document: JsonObject, status: int = 200) -> Response:
    """Answer with an object that is not stored, such as a Scale or a review."""
    return json_response(status, orjson.dumps(document), call.warnings)


def deleted_response(call: Call, record: StoredRecord) -> Response:
    """Answer that an object is gone."""
    details = {**details_of(call.kind.resource, record.name), "uid": record.uid}
    document = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }
    return document_response(call, document)


def list_response(call: Call, page: ListPage) -> Response:
    """Answer with a page of a list."""
    metadata: JsonObject = {"resourceVersion": str(page.revision)}
    if page.continue_token or (call.kind.custom and call.form is Form.OBJECT):
        metadata["continue"] = page.continue_token
    if page.remaining is not None:
        metadata["remainingItemCount"] = page.remaining
    kind = call.kind
    form = call.form
    if form is Form.TABLE:
        objects = [view(record, kind) for record in page.records]
        table = table_of(kind, objects, call.query.get("includeObject", ""), call.clock.now())
        return json_response(200, orjson.dumps({**table, "metadata": metadata}), call.warnings)
    if form is Form.METADATA:
        _check_plurality(call, is_list=True)
        head = {"kind": "PartialObjectMetadataList", "apiVersion": META, "metadata": metadata}
        items = [orjson.dumps(metadata_of(view(record, kind))) for record in page.records]
        if not items and not kind.custom:
            return json_response(200, orjson.dumps({**head, "items": None}), call.warnings)
    else:
        resource = kind.resource
        head = {"kind": kind.list_kind, "apiVersion": resource.api_version, "metadata": metadata}
        items = [_item(record, kind) for record in page.records]
    body = orjson.dumps(head)[:-1] + b',"items":[' + b",".join(items) + b"]}"
    return json_response(200, body, call.warnings)


def _item(record: StoredRecord, kind: ServedKind) -> bytes:
    """Return an object as lists hold it: built-in kinds leave out what the list says."""
    encoded = render(record, kind)
    if kind.custom:
        return encoded
    resource = kind.resource
    prefix = f'{{"kind":"{resource.kind}","apiVersion":"{resource.api_version}",'
    assert encoded.startswith(prefix.encode())
    return b"{" + encoded[len(prefix) :]


def _check_plurality(call: Call, *, is_list: bool) -> None:
    """Refuse the metadata of one when many were asked for, and the other way round."""
    asked = wanted_kind(call.headers.get("accept", ""))
    if asked.endswith("List") is is_list:
        return
    resource = call.kind.resource
    package = "unstructured" if call.kind.custom else resource.group.partition(".")[0] or "core"
    name = "Unstructured" if call.kind.custom else resource.kind
    found = f"a list (*{package}.{name}List)" if is_list else f"not a list (*{package}.{name})"
    raise NotAcceptable(f"you requested {asked}, but the requested object is {found}")


class EventEncoder:
    """Turns changes into the lines of one watch."""

    def __init__(self, call: Call) -> None:
        self._clock = call.clock
        self._kind = call.kind
        self._form = call.form
        self._include = call.query.get("includeObject", "")
        self._with_columns = True

    def __call__(self, type_: ChangeType, record: StoredRecord) -> bytes:
        """Return the line of a change."""
        if self._form is Form.OBJECT:
            encoded = render(record, self._kind)
        else:
            encoded = orjson.dumps(self._transformed(view(record, self._kind)))
        return b'{"type":"%s","object":%s}\n' % (type_.encode(), encoded)

    def bookmark(self, obj: JsonObject) -> bytes:
        """Return the line of a bookmark."""
        if self._form is Form.METADATA:
            obj = metadata_of(obj)
        elif self._form is Form.TABLE:
            obj = self._transformed(obj)
        return b'{"type":"BOOKMARK","object":%s}\n' % orjson.dumps(obj)

    def _transformed(self, obj: JsonObject) -> JsonObject:
        if self._form is Form.METADATA:
            return metadata_of(obj)
        table = table_of(self._kind, [obj], self._include, self._clock.now())
        table["metadata"] = {"resourceVersion": obj["metadata"]["resourceVersion"]}
        if not self._with_columns:
            table["columnDefinitions"] = None  # only the first event carries them
        self._with_columns = False
        return table
