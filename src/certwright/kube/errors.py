"""Refusals of an API server, as exceptions.

::

    ApiError                     any refusal: code, reason, message, causes
    ├── BadRequest        400    ├── Gone                  410   (reason Gone or Expired)
    ├── Unauthorized      401    ├── RequestTooLarge       413
    ├── Forbidden         403    ├── UnsupportedMediaType  415
    ├── NotFound          404    ├── Invalid               422   (causes name the fields)
    ├── MethodNotAllowed  405    ├── TooManyRequests       429   (retry_after)
    ├── NotAcceptable     406    ├── InternalError         500
    ├── AlreadyExists     409    ├── ServiceUnavailable    503
    └── Conflict          409    └── ServerTimeout         504

The client raises them from the server's ``Status``; the embedded server raises the same
classes and renders them as ``Status``, so both sides share one vocabulary. Failures to
reach a server at all are not here: they are the client's `TransportError`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from msgspec import Struct

MESSAGE_LIMIT = 4096
"""Servers may send megabytes; messages end up in conditions and logs."""

CAUSES_LIMIT = 100

_A_DAY = 86_400


class Cause(Struct, frozen=True, omit_defaults=True):
    """One reason for a refusal: usually one field of an invalid object."""

    reason: str = ""
    message: str = ""
    field: str = ""


class ApiError(Exception):
    """The API server refused a request."""

    code: ClassVar[int] = 0
    reason: ClassVar[str] = ""

    def __init__(
        self,
        message: str,
        *,
        causes: Iterable[Cause] = (),
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
        code: int | None = None,
        reason: str | None = None,
    ) -> None:
        super().__init__(message[:MESSAGE_LIMIT])
        self.message = message[:MESSAGE_LIMIT]
        self.causes = tuple(causes)
        self.details = dict(details or {})
        self.retry_after = retry_after
        self.status_code = self.code if code is None else code
        self.status_reason = self.reason if reason is None else reason

    @staticmethod
    def from_status(code: int, status: object) -> "ApiError":
        """Build the exception that fits a ``Status`` object; *code* is the HTTP status.

        *status* comes from the network. Whatever is not of the type it should be is treated
        as absent, texts and numbers of causes are cut: this never raises.
        """
        body = status if isinstance(status, Mapping) else {}
        reason = _text(body, "reason")
        details = body.get("details")
        if not isinstance(details, Mapping):
            details = {}
        causes = details.get("causes")
        cls = _BY_REASON.get(reason) or _BY_CODE.get(code) or ApiError
        return cls(
            _text(body, "message") or f"the server answered {code} {reason}".rstrip(),
            causes=[
                Cause(_text(cause, "reason"), _text(cause, "message"), _text(cause, "field"))
                for cause in (causes[:CAUSES_LIMIT] if isinstance(causes, list) else ())
                if isinstance(cause, Mapping)
            ],
            details={
                name: text
                for name in ("name", "group", "kind", "uid")
                if (text := _text(details, name))
            },
            retry_after=_seconds(details.get("retryAfterSeconds")),
            code=code,
            reason=reason,
        )

    def to_status(self) -> dict[str, Any]:
        """Render the refusal as a server would: a ``Status`` object."""
        details: dict[str, Any] = dict(self.details)
        if self.causes:
            details["causes"] = [
                {"reason": c.reason, "message": c.message, "field": c.field} for c in self.causes
            ]
        if self.retry_after is not None:
            details["retryAfterSeconds"] = int(self.retry_after)
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.status_reason,
            "details": details,
            "code": self.status_code,
        }
        if not details:
            del status["details"]
        return status


class BadRequest(ApiError):
    """The server cannot make sense of the request."""

    code, reason = 400, "BadRequest"


class Unauthorized(ApiError):
    """The credentials are missing, wrong or expired."""

    code, reason = 401, "Unauthorized"


class Forbidden(ApiError):
    """The user is known and may not do this."""

    code, reason = 403, "Forbidden"


class NotFound(ApiError):
    """The object, or the kind itself, does not exist."""

    code, reason = 404, "NotFound"


class MethodNotAllowed(ApiError):
    """The kind exists and does not support this verb."""

    code, reason = 405, "MethodNotAllowed"


class NotAcceptable(ApiError):
    """The server cannot respond in the requested media type."""

    code, reason = 406, "NotAcceptable"


class AlreadyExists(ApiError):
    """The name of an object to create is taken."""

    code, reason = 409, "AlreadyExists"


class Conflict(ApiError):
    """The object changed meanwhile, a precondition failed, or another manager owns a field."""

    code, reason = 409, "Conflict"


class Gone(ApiError):
    """The resourceVersion or continue token is older than what the server remembers."""

    code, reason = 410, "Expired"


class RequestTooLarge(ApiError):
    """The body exceeds what the server accepts."""

    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaType(ApiError):
    """The server does not know this kind of body or patch."""

    code, reason = 415, "UnsupportedMediaType"


class Invalid(ApiError):
    """The object breaks validation; the causes name the fields."""

    code, reason = 422, "Invalid"


class TooManyRequests(ApiError):
    """The server sheds load; `retry_after` says how long to wait."""

    code, reason = 429, "TooManyRequests"


class InternalError(ApiError):
    """The server failed."""

    code, reason = 500, "InternalError"


class ServiceUnavailable(ApiError):
    """The server, or one it delegates to, is not ready."""

    code, reason = 503, "ServiceUnavailable"


class ServerTimeout(ApiError):
    """The server gave up waiting; whether the request took effect is unknown."""

    code, reason = 504, "Timeout"


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value[:MESSAGE_LIMIT] if isinstance(value, str) else ""


def _seconds(value: object) -> float | None:
    """Return how long to wait, if the server said something sensible about it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value <= _A_DAY else None


_CLASSES: tuple[type[ApiError], ...] = (
    BadRequest, Unauthorized, Forbidden, NotFound, MethodNotAllowed, NotAcceptable,
    Conflict, AlreadyExists, Gone, RequestTooLarge, UnsupportedMediaType, Invalid,
    TooManyRequests, InternalError, ServiceUnavailable, ServerTimeout,
)  # fmt: skip
_BY_REASON = {cls.reason: cls for cls in _CLASSES} | {"Gone": Gone, "ServerTimeout": ServerTimeout}
_BY_CODE = {cls.code: cls for cls in reversed(_CLASSES)}
