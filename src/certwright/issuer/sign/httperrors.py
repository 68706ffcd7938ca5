"""The exceptions of HTTP libraries as verbs.

Recognised by shape, because the library depends on none of them: httpx and requests put a
``response`` with a ``status_code`` on the exception, aiohttp a ``status``.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from certwright.issuer.verbs import Permanent, Retry, SignOutcome

_COME_BACK = frozenset({408, 409, 421, 423, 425, 429})
"""Refusals that are not about the request."""
_LONGEST_WAIT_SECONDS = 3600.0


def http_verb(error: Exception) -> SignOutcome | None:
    """Return what an HTTP error means: 4xx is permanent, the rest is tried again.

    ``Retry-After`` in seconds is honoured, up to an hour. None for anything else.
    """
    status, headers = _answer(error)
    if status is None or status < 400:
        return None
    text = str(error) or f"the server answered {status}"
    if status < 500 and status not in _COME_BACK:
        return Permanent(text)
    return Retry(text, after=timedelta(seconds=_retry_after(headers)))


def _answer(error: Exception) -> tuple[int | None, Mapping[str, Any]]:
    response = getattr(error, "response", None)
    holder = error if response is None else response
    for name in ("status_code", "status"):
        status = getattr(holder, name, None)
        if isinstance(status, int) and not isinstance(status, bool):
            headers = getattr(holder, "headers", None)
            return status, headers if isinstance(headers, Mapping) else {}
    return None, {}


def _retry_after(headers: Mapping[str, Any]) -> float:
    for name, value in headers.items():
        if str(name).lower() == "retry-after" and str(value).strip().isdecimal():
            return min(float(value), _LONGEST_WAIT_SECONDS)
    return 0.0
