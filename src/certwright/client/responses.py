"""Read responses: objects from bodies, exceptions from refusals, warnings from headers."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar, overload

import msgspec
import orjson

from certwright.client.errors import BadResponse, WrongShape
from certwright.client.retry import retry_after
from certwright.client.transport import Request, Response
from certwright.kube import ApiError, JsonObject, Object, Resource, key_of, rawjson
from certwright.kube.kinds import Secret
from certwright.kube.rawjson import (
    MAX_DEPTH,
    elements,
    identity,
    is_deep,
    members,
    without_managed_fields,
)
from certwright.kube.redaction import without_values_of

T = TypeVar("T", bound=Object)
Body: TypeAlias = bytes | msgspec.Raw

TEXT_LIMIT = 256
"""How many bytes of a body that is not a ``Status`` a message may show."""
TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep, so it is not read; correct or delete it"


class ListMeta(msgspec.Struct, rename="camel"):
    """The metadata of a list."""

    resource_version: str = ""
    continue_token: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class Page(msgspec.Struct):
    """One page of a list; items stay bytes until they are decoded.

    Each item is a view into the body of the page: ``bytes(item)`` copies it out.
    """

    metadata: ListMeta
    items: list[msgspec.Raw]


class _RawList(msgspec.Struct):
    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[msgspec.Raw] | None = None


_PAGE = msgspec.json.Decoder(_RawList)


def to_error(response: Response, request: Request | None = None) -> ApiError:
    """Return the exception for a refusal; bodies that are not a ``Status`` are cut short.

    If the *request* wrote a Secret, its values are masked: servers quote what they refuse.
    """
    status: Any = None
    try:
        status = orjson.loads(response.body)
    except orjson.JSONDecodeError:
        status = {"message": _excerpt(response)}
    if not isinstance(status, Mapping):
        status = {"message": _excerpt(response)}
    if request is not None and request.body and request.resource == Secret:
        status = _without_values(status, _written(request.body))
    error = ApiError.from_status(response.status, status)
    if error.retry_after is None and (wait := retry_after(response)) is not None:
        error.retry_after = wait.total_seconds()
    return error


def without_values(text: str, request: Request) -> str:
    """Return what a server says about a request, without the values of a Secret that it wrote."""
    if not request.body or request.resource != Secret:
        return text
    return without_values_of(text, _written(request.body))


def _written(body: bytes) -> Any:
    try:
        written = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    # A patch does not say what it changes.
    return (
        {**written, "apiVersion": "v1", "kind": "Secret"} if isinstance(written, dict) else written
    )


def _without_values(part: Any, written: Any) -> Any:
    """Mask the values of a Secret in all texts of a ``Status``."""
    if isinstance(part, str):
        return without_values_of(part, written)
    if isinstance(part, Mapping):
        return {name: _without_values(inner, written) for name, inner in part.items()}
    return [_without_values(inner, written) for inner in part] if isinstance(part, list) else part


def shallow(request: Request, response: Response) -> Response:
    """Return a response whose body can be decoded: not deep, if need be without managedFields.

    Lists stay as they are: what they hold is taken apart item by item, see `shallow_item`.

    Raises:
        BadResponse: the object is nested too deeply to be read.
    """
    body = response.body
    if request.verb == "list" or not is_deep(body):
        return response
    try:
        body = without_managed_fields(body)
    except ValueError:
        raise _unreadable(request, body) from None
    if is_deep(body):
        raise BadResponse(f"{_name(request)}: the object is {TOO_DEEP}")
    return replace(response, body=body)


def to_event(line: bytes) -> JsonObject:
    """Return a line of a watch as a dict; its object without managedFields if they are deep.

    Raises:
        BadResponse: the line is not JSON, or the object is nested too deeply to be read.
    """
    try:
        if is_deep(line):
            parts = {name: line[start:end] for name, start, end in members(line)}
            shorn = without_managed_fields(parts["object"])
            if is_deep(shorn):
                raise BadResponse(f"a watch event: {_key_of_deep(shorn)} is {TOO_DEEP}")
            line = b'{"type":' + parts["type"] + b',"object":' + shorn + b"}"
        event: JsonObject = orjson.loads(line)
    except (ValueError, KeyError):
        raise BadResponse("a watch event is not complete JSON; a proxy cut it short") from None
    return event


def shallow_item(request: Request, item: msgspec.Raw) -> bytes:
    """Return an item of a list that can be decoded, if need be without managedFields.

    Raises:
        BadResponse: it is nested too deeply to be read; the message names it.
    """
    raw = rawjson.shallow(bytes(item))
    if is_deep(raw):
        raise BadResponse(f"{_name(request)}: {_key_of_deep(raw)} is {TOO_DEEP}")
    return raw


def _key_of_deep(raw: bytes) -> str:
    return str(key_of(orjson.loads(identity(raw))))


_UNREADABLE = object()


def to_dict(request: Request, body: bytes | memoryview) -> JsonObject:
    """Return the object in a body as a dict."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        value = _UNREADABLE
    if value is _UNREADABLE:  # raised out here: the decoder's exception holds the whole body
        raise _unreadable(request, body)
    if not isinstance(value, dict):
        raise BadResponse(
            f"{_name(request)}: the response is a JSON {type(value).__name__}, not an object"
        )
    return value


class Decoders:
    """Decodes bodies into values of a class or into dicts; compiles a decoder once per class."""

    def __init__(self) -> None:
        self._compiled: dict[type[Object], msgspec.json.Decoder[Any]] = {}

    @overload
    def read(self, kind: type[T], request: Request, body: Body) -> T: ...
    @overload
    def read(self, kind: Resource, request: Request, body: Body) -> JsonObject: ...
    @overload
    def read(self, kind: type[T] | Resource, request: Request, body: Body) -> T | JsonObject: ...
    def read(self, kind: type[T] | Resource, request: Request, body: Body) -> T | JsonObject:
        """Return the object in a body, or in an item of a page.

        Raises:
            WrongShape: the object does not fit the class; the message names both.
            BadResponse: the body is not a JSON object.
        """
        if isinstance(kind, Resource):
            obj = to_dict(request, memoryview(body))
            # Servers leave these two out of the items of a list.
            obj.setdefault("apiVersion", kind.api_version)
            obj.setdefault("kind", kind.kind)
            return obj
        decoder = self._compiled.get(kind)
        if decoder is None:
            decoder = self._compiled[kind] = msgspec.json.Decoder(kind)
        try:
            typed: T = decoder.decode(body)
        except msgspec.ValidationError as error:
            key = key_of(to_dict(request, memoryview(body)))
            raise WrongShape(
                f"{kind.resource.kind} {key} does not fit {kind.__name__}: {error}; "
                "correct the object, or the class if the server's schema is newer"
            ) from error
        except msgspec.DecodeError as error:
            raise _unreadable(request, body) from error
        return typed


def to_page(request: Request, body: bytes) -> Page:
    """Return a page of a list without decoding its items."""
    try:
        found = _PAGE.decode(body)
    except RecursionError:
        found = _deep_page(request, body)
    except msgspec.ValidationError as error:
        raise WrongShape(f"{_name(request)}: the response is not a list: {error}") from error
    except msgspec.DecodeError as error:
        raise _unreadable(request, body) from error
    return Page(found.metadata, found.items or [])


def _deep_page(request: Request, body: bytes) -> _RawList:
    """Take a page apart that has items too deep for decoders."""
    try:
        spans = {name: (start, end) for name, start, end in members(body)}
        start, end = spans["metadata"]
        metadata = msgspec.json.decode(body[start:end], type=ListMeta)
        items = [msgspec.Raw(body[a:b]) for a, b in elements(body, spans["items"][0])]
    except (KeyError, ValueError, msgspec.DecodeError, RecursionError):
        raise _unreadable(request, body) from None
    return _RawList(metadata, items)


_WARNING = re.compile(r'299\s+\S+\s+"((?:[^"\\]|\\.)*)"')


def warnings(headers: Mapping[str, str]) -> list[str]:
    """Return the texts of the server's ``Warning`` headers."""
    header = headers.get("warning")
    if header is None:
        return []
    return [re.sub(r"\\(.)", r"\1", text) for text in _WARNING.findall(header)]


def _excerpt(response: Response) -> str:
    if "html" in response.headers.get("content-type", ""):
        return (
            f"the server answered {response.status} with a web page; it comes from a proxy or "
            "load balancer in front of it"
        )
    text = response.body[:TEXT_LIMIT].decode(errors="replace").strip()
    return f"the server answered {response.status}: {text}" if text else ""


def _unreadable(request: Request, body: Body | memoryview) -> BadResponse:
    size = memoryview(body).nbytes
    return BadResponse(
        f"{_name(request)}: the response ({size} bytes) is not complete JSON; "
        "the server or a proxy cut it short"
    )


def _name(request: Request) -> str:
    return f"{request.method} {request.path}"
