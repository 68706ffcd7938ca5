"""How calls end: codes of gRPC, and the exception that carries one."""

from enum import IntEnum
from urllib.parse import quote


class StatusCode(IntEnum):
    """The codes that a server of ours uses."""

    OK = 0
    INVALID_ARGUMENT = 3
    NOT_FOUND = 5
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    UNAUTHENTICATED = 16


class CallRefused(Exception):
    """A call that ends with a status other than OK; *reason* is one word for metrics."""

    def __init__(self, code: StatusCode, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


def status_headers(code: StatusCode, message: str) -> list[tuple[str, str]]:
    """Return the trailers that end a call."""
    headers = [("grpc-status", str(int(code)))]
    if message:
        headers.append(("grpc-message", quote(message, safe=" !#$&'()*+,/:;=?@[]~")))
    return headers
