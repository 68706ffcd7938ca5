"""What all reviews have in common: a document with a version, a kind, and a request in it."""

from typing import Protocol, TypeVar

import msgspec
from msgspec import Struct

from certwright.kube.errors import BadRequest
from certwright.kube.rawjson import MAX_DEPTH, is_deep


class ReviewRequest(Protocol):
    """What is asked; the answer repeats its uid."""

    @property
    def uid(self) -> str:
        """Which request it is."""
        ...


T = TypeVar("T", bound=ReviewRequest)


class ReviewHead(Struct, rename="camel"):
    """Which review it is; what is asked stays bytes until that is known."""

    api_version: str = ""
    kind: str = ""
    request: msgspec.Raw = msgspec.Raw(b"null")


_HEAD = msgspec.json.Decoder(ReviewHead)


def read_request(body: bytes, api_version: str, kind: str, request: msgspec.json.Decoder[T]) -> T:
    """Return the request in a review of a version and kind; `BadRequest` if it is another one."""
    if is_deep(body):
        raise BadRequest(f"{kind}: nested more than {MAX_DEPTH} levels deep, so it is not read")
    try:
        head = _HEAD.decode(body)
        if head.kind != kind:
            raise BadRequest(f"the body is of kind {head.kind[:100]!r}; {kind} is served here")
        if head.api_version != api_version:
            raise BadRequest(
                f"{kind} of version {head.api_version[:100]!r}; name only {api_version} "
                "in the review versions of the configuration"
            )
        if bytes(head.request) == b"null":
            raise BadRequest(f"{kind} without a request")
        found = request.decode(head.request)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(f"{kind} cannot be read: {_shown(error)}") from None
    if not found.uid:
        raise BadRequest(f"{kind}: the request has no uid")
    return found


def _shown(error: Exception) -> str:
    """Return where a document is wrong; decoders quote field names and types, never values."""
    return str(error) if isinstance(error, msgspec.MsgspecError) else "not valid UTF-8"
