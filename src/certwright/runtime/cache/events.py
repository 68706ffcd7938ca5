"""Lines of a watch: what happened to which object, and how far the server has told."""

from enum import StrEnum
from typing import NamedTuple

import msgspec
from msgspec import Struct, field

from certwright.kube.errors import ApiError
from certwright.kube.rawjson import members
from certwright.runtime.cache.decode import BrokenJson, EntryDecoder, FindEntry
from certwright.runtime.cache.entries import Entry

END_OF_LIST = "k8s.io/initial-events-end"
"""The annotation of the bookmark that ends a streaming list."""


class _EventType(StrEnum):
    """What a line reports."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


class ObjectEvent(NamedTuple):
    """An object appeared, changed or disappeared; of the last only key and version are read."""

    entry: Entry
    deleted: bool


class Bookmark(NamedTuple):
    """Everything up to a version has been delivered."""

    resource_version: str
    ends_list: bool


def read_event(
    line: bytes, decoder: EntryDecoder, held: FindEntry | None = None
) -> ObjectEvent | Bookmark | None:
    """Read one line of a watch; None for a type this version does not know.

    An object that is *held* in the very version is not read again.

    Raises:
        ApiError: the line is an ERROR event, this is its Status.
        BrokenJson: the line is no event.
        UnnamedObject: its object cannot be named.
    """
    usual = _USUAL.get(line[:_HEAD])
    if usual is not None and line.startswith(usual[0]) and line.endswith(b"}"):
        # API servers write these bytes; what stands between them needs one pass, not two.
        try:
            prefix, deleted = usual
            start, stop = len(prefix), len(line) - 1
            if deleted:
                return ObjectEvent(decoder.deleted(line, start, stop), deleted)
            return ObjectEvent(decoder.entry(line, start, stop, held=held), deleted)
        except BrokenJson:
            pass  # one more member after the object, or really broken: look closely
    try:
        event = _split(line)
        match event.type:
            case _EventType.ADDED | _EventType.MODIFIED:
                return ObjectEvent(decoder.entry(bytes(event.object)), deleted=False)
            case _EventType.DELETED:
                raw = bytes(event.object)
                return ObjectEvent(decoder.deleted(raw, 0, len(raw)), deleted=True)
            case _EventType.BOOKMARK:
                mark = _MARK.decode(event.object).metadata
                ends_list = mark.annotations.get(END_OF_LIST) == "true"
                return Bookmark(mark.resource_version, ends_list)
            case _EventType.ERROR:
                status = _STATUS.decode(event.object)
                code = status.get("code")
                raise ApiError.from_status(code if isinstance(code, int) else 500, status)
            case _:
                return None
    except (msgspec.DecodeError, RecursionError) as error:
        raise BrokenJson(
            f"a watch event of {decoder.resource.kind} cannot be read ({error}); "
            "the server or a proxy cut or garbled it"
        ) from error


def _split(line: bytes) -> "_Event":
    try:
        return _EVENT.decode(line)
    except RecursionError:
        pass
    try:
        parts = {name: line[start:stop] for name, start, stop in members(line)}
    except ValueError as error:
        raise BrokenJson(str(error)) from error
    event_type = msgspec.json.decode(parts.get("type", b""), type=str)
    return _Event(event_type, msgspec.Raw(parts.get("object", b"")))


def _prefix(event_type: _EventType) -> bytes:
    return b'{"type":"' + event_type.encode() + b'","object":'


_HEAD = len(b'{"type":"ADDED')
_USUAL = {
    _prefix(event_type)[:_HEAD]: (_prefix(event_type), event_type == _EventType.DELETED)
    for event_type in (_EventType.ADDED, _EventType.MODIFIED, _EventType.DELETED)
}


class _Event(Struct):
    type: str
    object: msgspec.Raw


class _Mark(Struct, rename="camel"):
    resource_version: str
    annotations: dict[str, str] = field(default_factory=dict)


class _Marked(Struct):
    metadata: _Mark


_EVENT = msgspec.json.Decoder(_Event)
_MARK = msgspec.json.Decoder(_Marked)
_STATUS = msgspec.json.Decoder(dict)
