"""Lists: selectors, pages, and which moment in history they show."""

import base64
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import orjson

from certwright.apiserver.backend import Backend
from certwright.apiserver.causes import forbidden_value, unsupported_value
from certwright.apiserver.http.request import Call
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.refusals import invalid, too_large_resource_version
from certwright.apiserver.storage.storage import Collection, ListPage, StoredRecord
from certwright.apiserver.storage.versions import view
from certwright.kube.errors import ApiError, BadRequest, Cause, Gone
from certwright.kube.objects import JsonObject
from certwright.kube.selectors import FieldSelector, LabelSelector

_EXPIRED: Final = "The resourceVersion for the provided list is too old."
_CONTINUE_EXPIRED: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue parameter, or use the continue token in this response "
    "to retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)
_ALIASES: Final = {
    # selectable under another name than the field has
    "source": "source.component",
    "status.successful": "status.succeeded",
}
_CONTINUE_VERSION: Final = "meta.k8s.io/v1"
_EXACT: Final = "Exact"
_NOT_OLDER: Final = "NotOlderThan"


@dataclass(frozen=True, slots=True)
class ListSelector:
    """Which objects of a kind a list or watch is about."""

    kind: ServedKind
    namespace: str
    labels: LabelSelector
    fields: FieldSelector

    @property
    def prefix(self) -> str:
        """What the keys of the selected objects begin with."""
        return f"{self.namespace}/" if self.namespace else ""

    @property
    def is_everything(self) -> bool:
        """Whether all objects in the namespace are selected."""
        return not self.labels.requirements and not self.fields.requirements

    def matches(self, record: StoredRecord) -> bool:
        """Return whether an object is selected, apart from its namespace."""
        if self.is_everything:
            return True
        obj = view(record, self.kind)
        return self.labels.matches(obj["metadata"].get("labels") or {}) and self.fields.matches(
            lambda path: field_value(obj, path)
        )


def selection_of(call: Call) -> ListSelector:
    """Read the selectors of a request; `BadRequest` as for `selection`."""
    labels = call.query.get("labelSelector", "")
    fields = f"metadata.name={call.name}" if call.name else call.query.get("fieldSelector", "")
    return selection(call.kind, call.namespace, labels, fields)


def selection(kind: ServedKind, namespace: str, labels: str, fields: str) -> ListSelector:
    """Return which objects a namespace and two selectors select; empty ones select all.

    Raises:
        BadRequest: a selector is malformed, or names a field this kind cannot be selected by.
    """
    try:
        chosen = ListSelector(kind, namespace, _read_labels(labels), _read_fields(fields))
    except ValueError as error:
        raise BadRequest(str(error)) from None
    for requirement in chosen.fields.requirements:
        known = {"metadata.name", "metadata.namespace", *kind.selectable_fields}
        if requirement.field not in known:
            raise BadRequest(_unknown_field(kind, requirement.field))
    return chosen


# Clients ask with the same few selectors again and again
_read_labels = lru_cache(maxsize=128)(LabelSelector.parse)
_read_fields = lru_cache(maxsize=128)(FieldSelector.parse)


def _unknown_field(kind: ServedKind, field: str) -> str:
    if kind.custom or kind.selectable_fields:
        return f"field label not supported: {field}"
    return f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"'


def field_value(obj: JsonObject, path: str) -> str:
    """Return the value at a dotted path as a field selector compares it."""
    value: Any = obj
    for part in _ALIASES.get(path, path).removeprefix(".").split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def check_list_options(call: Call) -> None:
    """Refuse combinations of resourceVersion, match and continue that make no sense."""
    query, causes = call.query, list[Cause]()
    match, version = query.get("resourceVersionMatch", ""), query.get("resourceVersion", "")
    path = "resourceVersionMatch"
    if match:
        if not version:
            why = f"{path} is forbidden unless resourceVersion is provided"
            causes.append(forbidden_value(path, why))
        if query.get("continue"):
            causes.append(forbidden_value(path, f"{path} is forbidden when continue is provided"))
        if match not in {_EXACT, _NOT_OLDER}:
            causes.append(unsupported_value(path, match, [_EXACT, _NOT_OLDER, ""]))
        if match == _EXACT and version == "0":
            why = f'{path} "exact" is forbidden for resourceVersion "0"'
            causes.append(forbidden_value(path, why))
    if "sendInitialEvents" in query:
        why = "sendInitialEvents is forbidden for list"
        causes.append(forbidden_value("sendInitialEvents", why))
    if causes:
        raise invalid("ListOptions", "meta.k8s.io", "", causes)


def list_page(backend: Backend, call: Call) -> ListPage:
    """Return the page of a list that a request asks for.

    Raises:
        Gone: the moment asked for is older than the history kept.
        ServerTimeout: it lies in the future.
    """
    check_list_options(call)
    selection = selection_of(call)
    collection = backend.registry.collection(call.kind)
    limit = max(call.integer("limit"), 0)
    revision, start = backend.storage.revision, ""
    token = call.query.get("continue", "")
    call.integer("timeoutSeconds")  # of no use, but it has to be a number
    asked = parse_version(call.query.get("resourceVersion", ""))
    if token:
        if asked:
            raise BadRequest("specifying resource version is not allowed when using continue")
        start, revision = _continued(token, selection, collection, revision)
    else:
        if asked > revision:
            raise too_large_resource_version(asked, revision)
        match = call.query.get("resourceVersionMatch", "")
        if match == _EXACT or (asked and limit and not match):
            revision = asked
            if revision < collection.floor:
                raise Gone(_EXPIRED)
    if call.query.get("resourceVersion") == "0":
        limit = 0  # served from the watch cache, which does not page
    return _page(backend, selection, revision, start, limit)


def _page(
    backend: Backend, selection: ListSelector, revision: int, start: str, limit: int
) -> ListPage:
    collection = backend.registry.collection(selection.kind)
    records = collection.records_at(revision, selection.prefix, start)
    if not selection.is_everything:
        records = backend.shown(records, selection.kind)
    chosen: list[StoredRecord] = []
    left = 0
    for index, record in enumerate(records):
        if selection.matches(record):
            chosen.append(record)
            if len(chosen) == limit:
                # Whether the rest holds anything selected shows when it is asked for.
                left = len(records) - index - 1
                break
    chosen = backend.shown(chosen, selection.kind)
    if not left:
        return ListPage(chosen, revision)
    last = chosen[-1].key.removeprefix(selection.prefix)
    remaining = left if selection.is_everything else None
    return ListPage(chosen, revision, _token(revision, last + "\0"), remaining)


def parse_version(text: str) -> int:
    """Read a resourceVersion; empty is 0."""
    if not text:
        return 0
    if not text.isascii() or not text.isdigit():
        why = f'Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        raise BadRequest(f"invalid resource version: resourceVersion: {why}")
    return int(text)


def _token(revision: int, start: str) -> str:
    document = {"v": _CONTINUE_VERSION, "rv": revision, "start": start}
    return base64.urlsafe_b64encode(orjson.dumps(document)).rstrip(b"=").decode()


def _continued(
    token: str, selection: ListSelector, collection: Collection, current: int
) -> tuple[str, int]:
    try:
        document = orjson.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        if document.get("v") != _CONTINUE_VERSION:
            version = document.get("v", "")
            raise BadRequest(
                "invalid continue token: continue key is not valid: server does not recognize "
                f"this encoded version {version}"
            )
        revision, start = int(document["rv"]), str(document["start"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadRequest(f"invalid continue token: continue key is not valid: {error}") from None
    if not start or not revision:
        raise BadRequest(
            "invalid continue token: continue key is not valid: incorrect encoded start "
            "resourceVersion (version meta.k8s.io/v1)"
        )
    if revision < 0:
        revision = current
    if revision < collection.floor:
        raise ContinueExpired(_token(-1, start))
    return selection.prefix + start, revision


class ContinueExpired(Gone):
    """The history a page needs is gone; the answer offers to go on inconsistently."""

    def __init__(self, token: str) -> None:
        super().__init__(_CONTINUE_EXPIRED)
        self._token = token

    def to_status(self) -> JsonObject:
        """Render the refusal with the token to go on with."""
        return {**ApiError.to_status(self), "metadata": {"continue": self._token}}
