"""The exceptions of HTTP libraries as verbs.

Recognised by shape, because the library depends on none of them: httpx and requests put a
``response`` with a ``status_code`` on the exception, aiohttp and urllib a ``status``.
"""

from collections.abc import Mapping
from datetime import timedelta
from email.message import Message
from types import MappingProxyType
from typing import Any, TypeAlias

from certwright.issuer.verbs import IssuerUnavailable, Permanent, Retry, SignOutcome

HttpVerb: TypeAlias = type[Permanent] | type[Retry] | type[IssuerUnavailable]
"""What the answer of an authority can mean."""

HTTP_VERBS: Mapping[int, HttpVerb] = MappingProxyType(
    {
        401: IssuerUnavailable,
        403: IssuerUnavailable,
        407: IssuerUnavailable,
        408: Retry,
        409: Retry,
        421: Retry,
        423: Retry,
        425: Retry,
        429: Retry,
    }
)
"""What a status means that is not what its class means: every other 4xx is about the request,
hence Permanent, and every 5xx passes, hence Retry. Credentials that are refused are the issuer's
trouble: a request that failed for them would have to be made anew."""
_LONGEST_WAIT_SECONDS = 3600.0


def http_verb(
    error: Exception, text: str = "", own: Mapping[int, HttpVerb] = MappingProxyType({})
) -> SignOutcome | None:
    """Return what an HTTP error means, by *own* rules first; None if it is none.

    *text* is what the verb says instead of the error's own words. ``Retry-After`` in seconds is
    honoured, up to an hour.
    """
    status, headers = _answer(error)
    if status is None or status < 400:
        return None
    verb = own.get(status) or HTTP_VERBS.get(status) or (Permanent if status < 500 else Retry)
    said = text or str(error) or f"the server answered {status}"
    if issubclass(verb, Retry):
        return verb(said, after=timedelta(seconds=_retry_after(headers)))
    return verb(said)


def http_rule_problem(rules: Mapping[Any, Any]) -> str:
    """Return what is wrong with an author's rules, and the line to write instead; or nothing."""
    for status, verb in rules.items():
        if not isinstance(status, int) or not 400 <= status <= 599:
            return f"{status!r} is no HTTP error: write http_errors={{403: Permanent}}"
        if not (isinstance(verb, type) and issubclass(verb, Permanent | Retry | IssuerUnavailable)):
            return (
                f"{status} is mapped to {verb!r}; it must be one of the classes Permanent, Retry"
                f" and IssuerUnavailable: write http_errors={{{status}: Permanent}}"
            )
    return ""


def _answer(error: Exception) -> tuple[int | None, Any]:
    """Return status and headers of the answer that an error carries, as its library has them."""
    response = getattr(error, "response", None)
    holder = error if response is None else response
    for name in ("status_code", "status"):
        status = getattr(holder, name, None)
        if isinstance(status, int) and not isinstance(status, bool):
            return status, getattr(holder, "headers", None)
    return None, None


def _retry_after(headers: Any) -> float:
    if not isinstance(headers, Mapping | Message):  # a Message, of urllib, is no Mapping
        return 0.0
    for name, value in headers.items():
        if str(name).lower() == "retry-after" and str(value).strip().isdecimal():
            return min(float(value), _LONGEST_WAIT_SECONDS)
    return 0.0
