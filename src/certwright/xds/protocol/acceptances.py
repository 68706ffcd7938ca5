"""Requests that accept a response, known by their bytes.

A client that accepts says the same each time, but for the version and the nonce. The first request
of that kind is read; what the next one will be follows from it and from the response that was sent.
One that has these bytes need not be read, for what it says is known. All others are.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

from certwright.xds.messages import Undecodable
from certwright.xds.protocol.observation import StreamResponse
from certwright.xds.protocol.requests import read_delta_request, read_state_request
from certwright.xds.wire import text_field

_MOST: Final = 32
"""So many are expected at a time on one stream; if more were, all would be read."""
_SHARED: Final = 4096
"""So many are kept for all streams: those of one node are sent, and answer, the same."""


class RequestForm(NamedTuple):
    """How requests of one kind are read, and where they have their version and their nonce."""

    read: Callable[[bytes], Any]
    nonce_field: int
    version_field: int = 0
    """Zero if such requests have none."""


STATE: Final = RequestForm(read_state_request, nonce_field=5, version_field=1)
DELTA: Final = RequestForm(read_delta_request, nonce_field=6)


class RequestReader:
    """Reads the requests of one stream."""

    __slots__ = ("_expected", "_form", "_said")

    def __init__(self, form: RequestForm) -> None:
        self._form = form
        self._said: dict[str, bytes] = {}
        """By type, what an acceptance says besides version and nonce."""
        self._expected: dict[bytes, Any] = {}

    def read(self, message: bytes) -> Any:
        """Return the request that is encoded; `Undecodable` if none is."""
        known = self._expected.pop(message, None)
        if known is not None:
            return known
        request = self._form.read(message)
        said = _said(self._form, request, message)
        if said is not None:
            self._said[request.type_url] = said
        return request

    def sent(self, response: StreamResponse) -> None:
        """Take note of a response, so that its acceptance is known."""
        said = self._said.get(response.type_url)
        if said is None:
            return
        if len(self._expected) >= _MOST:
            self._expected.clear()
        message, request = _acceptance(self._form, said, response.version, response.nonce)
        self._expected[message] = request


def _said(form: RequestForm, request: Any, message: bytes) -> bytes | None:
    """Return what an acceptance says besides version and nonce; None if it is another request."""
    if request.error is not None or not request.nonce:
        return None
    before, after = _ends(form, getattr(request, "version", ""), request.nonce)
    said = message[len(before) : len(message) - len(after)]
    return _whole(form, said) if before + said + after == message else None


@lru_cache(_SHARED)
def _whole(form: RequestForm, said: bytes) -> bytes | None:
    """Return this part of an acceptance if it is a request by itself, with neither of both."""
    try:
        alone = form.read(said)
    except Undecodable:
        return None
    return None if alone.nonce or getattr(alone, "version", "") else said


@lru_cache(_SHARED)
def _acceptance(form: RequestForm, said: bytes, version: str, nonce: str) -> tuple[bytes, Any]:
    """Return an acceptance, and what would be read from it."""
    before, after = _ends(form, version, nonce)
    message = before + said + after
    return message, form.read(message)


def _ends(form: RequestForm, version: str, nonce: str) -> tuple[bytes, bytes]:
    before = text_field(form.version_field, version) if form.version_field else b""
    return before, text_field(form.nonce_field, nonce)
