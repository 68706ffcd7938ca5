"""What a webhook sent back, read as kube-apiserver's client reads it. Pure."""

from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from certwright.apiserver.gotext import json_type, quoted
from certwright.apiserver.http.bodies import parse_yaml
from certwright.kube.errors import ApiError
from certwright.kube.objects import JsonObject
from certwright.kube.rawjson import is_deep

RESPONSE_LIMIT: Final = 16 * 2**20
"""Bytes of a response; kube-apiserver itself has no limit."""

_SHOWN_BYTES: Final = 2048
_NO_KIND: Final = "couldn't get version/kind; json parse error"
_GO_TYPE: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)
_MESSAGES: Final = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: (
        "the server was unable to return a response in the time allotted, but may still be "
        "processing the request"
    ),
}


class CallFailed(Exception):
    """A webhook could not be called, or its response not be understood."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class WebhookResponse:
    """An HTTP response of a webhook."""

    status: int
    body: bytes = field(repr=False)
    content_type: str = "application/json"


def unexpected_content(response: WebhookResponse) -> str:
    """Return why a response cannot hold a review; empty if it can."""
    if 200 <= response.status <= 206:
        if response.body:
            return ""
        return (
            f"0-length response with status code: {response.status} and content type: "
            f"{response.content_type}"
        )
    return _status_message(response.body) or _code_message(response)


def parse_review(body: bytes) -> JsonObject:
    """Read the document in a response; `CallFailed` if it is no object."""
    if is_deep(body):
        raise CallFailed(f"{_NO_KIND}: exceeded max depth")
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        value = _yaml(body)  # HTML is a text to it
    if not isinstance(value, dict):
        raise CallFailed(
            f"{_NO_KIND}: json: cannot unmarshal {json_type(value)} into Go value of type "
            f"{_GO_TYPE}"
        )
    return value


def _yaml(body: bytes) -> Any:
    try:
        return parse_yaml(body)
    except ApiError as error:
        raise CallFailed(f"{_NO_KIND}: {error.message}") from None


def _status_message(body: bytes) -> str:
    """Return the message of a Status that tells of a failure; empty if it is none."""
    try:
        status = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    is_status = isinstance(status, dict) and status.get("kind") == "Status"
    return str(status.get("message", "")) if is_status and status.get("status") else ""


def _code_message(response: WebhookResponse) -> str:
    code, media = response.status, response.content_type
    is_text = not media or media.startswith("text/")
    shown = response.body[:_SHOWN_BYTES].decode("utf-8", "replace").strip()
    said = shown if is_text else "unknown"
    if code in _MESSAGES:
        return _MESSAGES[code]
    if code in {403, 415}:
        return said
    if code == 406:
        default = "the server was unable to respond with a content type that the client supports"
        return default if said in {"", "unknown"} else said
    if code >= 500:
        return f"an error on the server ({quoted(said)}) has prevented the request from succeeding"
    return f"the server responded with the status code {code} but did not return more information"
