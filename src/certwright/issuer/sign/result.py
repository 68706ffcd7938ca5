"""How an attempt to sign or a check ended, and what an exception means for it. Pure.

Precedence where verbs are nested: `IssuerUnavailable`, then `Pending`, then `Permanent`, then
the retry window. `WithCondition` adds its condition, unless the issuer is at fault.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias, TypeVar

from certwright import pki
from certwright.issuer.request import Bundle
from certwright.issuer.sign.httperrors import HttpVerb, http_verb
from certwright.issuer.verbs import (
    IssuerUnavailable,
    Pending,
    Permanent,
    Retry,
    SignOutcome,
    WithCondition,
)
from certwright.kube import Condition
from certwright.pki.errors import MalformedRequest, Refused
from certwright.runtime.serve.logs import redact_text

E = TypeVar("E", bound=BaseException)

Classifier: TypeAlias = Callable[[Exception], SignOutcome | None]

TEXT_LIMIT = 16_000
"""Characters of a message; the API accepts 32,768 bytes."""


class SignStatus(StrEnum):
    """How an attempt to sign ended; also the label of the metric."""

    ISSUED = "issued"
    PENDING = "pending"
    RETRY = "retry"
    FAILED = "failed"
    ISSUER_ERROR = "issuer_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignResult:
    """What came of one attempt to sign."""

    status: SignStatus
    text: str = ""
    after: timedelta = timedelta()
    """When to look again, of PENDING; when at the earliest, of RETRY."""
    state: dict[str, Any] | None = None
    condition: Condition | None = None
    """What `WithCondition` sets."""
    bundle: Bundle | None = field(default=None, repr=False)
    is_permanent: bool = False
    """Of ISSUER_ERROR: whether only a change of the issuer can help."""
    reason: str = "Failed"
    """Of FAILED: the reason of the condition, where the kind of request has a choice."""
    remark: str = ""
    """Of ISSUED: how its validity differs from what was requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRules:
    """How the exceptions of an author's code are understood and put into words."""

    translate: Classifier | None = None
    """Turns exceptions of others into verbs, before anything else does."""
    http: Mapping[int, HttpVerb] = field(default_factory=dict)
    """What statuses of HTTP mean to this author."""
    names_types: bool = True
    """Whether the text of an exception that is no verb begins with its type."""


PLAIN = ErrorRules()


class CheckFailure(NamedTuple):
    """Why an issuer is not ready, and whether only a change of the issuer can help."""

    text: str
    is_permanent: bool = False


def classify(
    error: BaseException,
    *,
    is_window_open: bool,
    forbidden_conditions: frozenset[str] = frozenset(),
    rules: ErrorRules = PLAIN,
) -> SignResult:
    """Return what an exception raised by ``sign`` means.

    A condition of a forbidden type is a mistake of the author: the message names it, and it is
    retried like any other error.
    """
    error = _translated(error, rules)
    text = text_of(error, names_types=rules.names_types)
    unavailable = find(error, IssuerUnavailable)
    if unavailable is not None:
        permanent = find(unavailable, Permanent) is not None
        reported = text_of(unavailable)
        return SignResult(status=SignStatus.ISSUER_ERROR, text=reported, is_permanent=permanent)
    asked = find(error, WithCondition)
    condition = None
    if asked is not None and asked.type in forbidden_conditions:
        text = f"WithCondition must not set the condition {asked.type}: {text}"
        return _retry_or_fail(text, error, None, is_window_open=is_window_open)
    if asked is not None:
        condition = Condition(
            type=asked.type, status=asked.status, reason=asked.reason, message=text_of(asked)
        )
    pending = find(error, Pending)
    if pending is not None:
        return SignResult(
            status=SignStatus.PENDING,
            text=text,
            after=pending.after,
            state=pending.state,
            condition=condition,
        )
    if find(error, Permanent) is not None:
        return SignResult(status=SignStatus.FAILED, text=text, condition=condition)
    return _retry_or_fail(text, error, condition, is_window_open=is_window_open)


def check_failure(error: BaseException, rules: ErrorRules = PLAIN) -> CheckFailure:
    """Return what an exception raised by ``check`` means.

    It is permanent only if the author says so: what a server answers may change without a
    change of the issuer, and an issuer that failed for good is not checked again.
    """
    translate = rules.translate
    if isinstance(error, Exception) and translate is not None and find(error, SignOutcome) is None:
        error = translate(error) or error
    text = text_of(error, names_types=rules.names_types)
    return CheckFailure(text, find(error, Permanent) is not None)


def find(error: BaseException, verb: type[E]) -> E | None:
    """Return the first exception of a type in a chain of causes, outermost first."""
    return next((one for one in chain(error) if isinstance(one, verb)), None)


def chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and what caused it: causes, members of groups, wrapped exceptions."""
    rest, known = [error], set[int]()
    while rest:
        one = rest.pop(0)
        if id(one) in known:
            continue
        known.add(id(one))
        yield one
        if one.__cause__ is not None:
            rest.append(one.__cause__)
        if isinstance(one, BaseExceptionGroup):
            rest.extend(one.exceptions)
        rest.extend(arg for arg in one.args if isinstance(arg, BaseException))


def text_of(error: BaseException, *, names_types: bool = True) -> str:
    """Return an exception as text for a status, without a traceback.

    The type comes first, except of verbs and of this library's own errors, whose texts are made
    for people. Secrets are replaced, unprintable characters too.
    """
    kind, words = type(error), str(error)
    if isinstance(error, BaseExceptionGroup):
        inner = (text_of(one, names_types=names_types) for one in error.exceptions[:8])
        said = f"{error.message}: " + "; ".join(inner)
    elif isinstance(error, pki.PkiError):
        said = named(error)
    elif not words:
        said = kind.__name__
    elif kind is KeyError or (names_types and _is_foreign(kind)):  # a KeyError is only its key
        said = f"{kind.__name__}: {words}"
    else:
        said = words
    clean = "".join(one if one.isprintable() or one == "\n" else "�" for one in redact_text(said))
    return clean if len(clean) <= TEXT_LIMIT else clean[: TEXT_LIMIT - 1] + "…"


def _is_foreign(kind: type[BaseException]) -> bool:
    """Return whether a type of exceptions is neither a verb nor from this library."""
    return not issubclass(kind, SignOutcome) and not kind.__module__.startswith("certwright.")


def named(error: pki.PkiError) -> str:
    """Return a refusal with its name, which the documentation lists."""
    if isinstance(error, Refused):
        return "; ".join(map(str, error.violations))
    return f"{type(error).__name__}: {error}"


def _translated(error: BaseException, rules: ErrorRules) -> BaseException:
    if not isinstance(error, Exception) or find(error, SignOutcome) is not None:
        return error
    verb = rules.translate(error) if rules.translate is not None else None
    said = text_of(error, names_types=rules.names_types) if str(error) else ""
    verb = verb or http_verb(error, said, rules.http)
    if verb is None and isinstance(error, pki.RequestRefused | MalformedRequest | pki.UnknownUsage):
        verb = Permanent(named(error))  # the request is at fault itself: repeating cannot help
    if verb is None:
        return error
    verb.__cause__ = error
    return verb


def _retry_or_fail(
    text: str, error: BaseException, condition: Condition | None, *, is_window_open: bool
) -> SignResult:
    if not is_window_open:
        return SignResult(status=SignStatus.FAILED, text=text, condition=condition)
    retry = find(error, Retry)
    after = retry.after if retry is not None else timedelta()
    return SignResult(status=SignStatus.RETRY, text=text, after=after, condition=condition)
