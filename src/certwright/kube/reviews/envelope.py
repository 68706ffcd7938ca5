"""What all reviews have in common: a document with a version, a kind, and a request in it."""

from typing import Generic, Protocol, TypeVar

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


class WholeReview(Struct, Generic[T], rename="camel"):
    """A review that is as it should be, read at once."""

    api_version: str = ""
    kind: str = ""
    request: T | None = None


_HEAD = msgspec.json.Decoder(ReviewHead)
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class ReviewReader(Generic[T]):
    """Reads what reviews of one version and kind ask."""

    def __init__(self, api_version: str, kind: str, request: type[T]) -> None:
        self._expected = (api_version, kind)
        self._whole = msgspec.json.Decoder(WholeReview[request])  # type: ignore[valid-type]
        self._request = msgspec.json.Decoder(request)

    def read(self, body: bytes) -> T:
        """Return the request in a review; `BadRequest` if there is none, or of another kind."""
        api_version, kind = self._expected
        if is_deep(body):
            raise BadRequest(f"{kind}: nested more than {MAX_DEPTH} levels deep, so it is not read")
        try:
            review = self._whole.decode(body)
        except _UNREADABLE:
            return _read_apart(body, api_version, kind, self._request)
        found: T | None = review.request
        if found is None or not found.uid or (review.api_version, review.kind) != self._expected:
            return _read_apart(body, api_version, kind, self._request)
        return found


def _read_apart(body: bytes, api_version: str, kind: str, request: msgspec.json.Decoder[T]) -> T:
    """Read which review it is before what it asks, to say what is wrong with it."""
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
    except _UNREADABLE as error:
        raise BadRequest(f"{kind} cannot be read: {_shown(error)}") from None
    if not found.uid:
        raise BadRequest(f"{kind}: the request has no uid")
    return found


def _shown(error: Exception) -> str:
    """Return where a document is wrong; decoders quote field names and types, never values."""
    return str(error) if isinstance(error, msgspec.MsgspecError) else "not valid UTF-8"
