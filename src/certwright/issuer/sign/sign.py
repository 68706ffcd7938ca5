"""One attempt to sign: the request is checked, the author's code called, its answer checked."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from certwright import pki
from certwright.client import TransportError
from certwright.issuer.author import Author
from certwright.issuer.check.reader import IssuerReader, IssuerRecord, SecretMissing
from certwright.issuer.issuer import Issuer
from certwright.issuer.kinds import IssuerKey
from certwright.issuer.request import Bundle, Offload, Request
from certwright.issuer.requests.kind import RequestKind, StoredRequest, TermsError
from certwright.issuer.run.metrics import IssuerMetrics
from certwright.issuer.settings import IssuerSettings
from certwright.issuer.sign.faults import FaultLog, fault_of
from certwright.issuer.sign.redaction import redact_result
from certwright.issuer.sign.result import (
    ErrorRules,
    SignResult,
    SignStatus,
    classify,
    named,
    text_of,
)
from certwright.issuer.sign.threads import StrayExit
from certwright.issuer.sign.window import is_window_open, max_retry_of, window_start
from certwright.issuer.spec import SpecError
from certwright.issuer.status import INVALID_REQUEST
from certwright.issuer.verbs import Permanent
from certwright.kube import ApiError, Condition, Key
from certwright.kube.durations import format_duration
from certwright.pki.matches import delivered_violations
from certwright.runtime import Context

S = TypeVar("S")
R = TypeVar("R")

LARGE = 8192
"""Bytes from which a signing request is read in a thread."""

_UNACCEPTABLE = frozenset({"KeyMismatch", "Expired", "CaMismatch"})
"""What makes a certificate useless or dangerous. The rest is between requester and authority."""


class ReadFailed(Exception):
    """The API server did not deliver what the issuer refers to."""


class TimedOut(TimeoutError):
    """The author's code did not return in time."""


class BadBundle(ValueError):
    """What ``sign`` returned is not a certificate for this request."""


@dataclass(frozen=True, slots=True)
class Signer(Generic[S]):
    """Signs requests with an author's code."""

    author: Author[S]
    reader: IssuerReader[S]
    settings: IssuerSettings
    metrics: IssuerMetrics
    threads: Offload
    faults: FaultLog

    def request(
        self, ctx: Context, kind: RequestKind, stored: StoredRequest, at: IssuerKey, attempt: int
    ) -> Request:
        """Return a request as authors see it."""
        namespace = stored.metadata.namespace or self.reader.cluster_resource_namespace
        return kind.for_author(
            stored,
            at,
            attempt=attempt,
            now=ctx.clock.now(),
            read_secret=lambda name: self.reader.read_other_secret(ctx, Key(namespace, name)),
            offload=ctx.cpu,
        )

    async def prepare(
        self, ctx: Context, request: Request, at: IssuerKey, record: IssuerRecord
    ) -> Issuer[S] | SignResult:
        """Check the request; return the issuer to sign it with, or why it must not be signed."""
        if self.settings.compatibility.validates:
            large = len(request.csr_pem) > LARGE
            refused = await ctx.cpu(request_refusal, request) if large else request_refusal(request)
            if refused is not None:
                return self._marked(request, refused)
        try:
            return await self.reader.read(ctx, at, record)
        except SpecError as error:
            return SignResult(
                status=SignStatus.ISSUER_ERROR, text=text_of(error), is_permanent=True
            )
        except SecretMissing as error:
            return SignResult(status=SignStatus.ISSUER_ERROR, text=text_of(error))
        except (ApiError, TransportError) as error:
            raise ReadFailed(text_of(error)) from error

    def _marked(self, request: Request, refused: SignResult) -> SignResult:
        """Add the condition by which cert-manager knows that repeating cannot help."""
        if not self.settings.mark_invalid or request.kind != "CertificateRequest":
            return refused
        condition = Condition(
            type=INVALID_REQUEST, status="True", reason="RequestRefused", message=refused.text
        )
        return replace(refused, condition=condition)

    async def sign(
        self,
        ctx: Context,
        kind: RequestKind,
        request: Request,
        issuer: Issuer[S],
        record: IssuerRecord,
    ) -> SignResult:
        """Call the author's ``sign`` and return what came of it."""
        assert self.author.sign is not None
        started, limit = ctx.clock.monotonic(), self.settings.sign_timeout
        try:
            bundle = await call(
                self.author.sign, request, issuer, limit=limit, threads=self.threads
            )
            if not isinstance(bundle, Bundle):
                raise TypeError(f"sign returned {not_a_bundle(bundle)}")
            remark = ""
            if self.settings.compatibility.validates:
                bundle, remark = accepted(bundle, request, ctx.clock.now())
            result = SignResult(status=SignStatus.ISSUED, bundle=bundle, remark=remark)
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - the author's code
            result = self._classified(ctx, kind, request, error, record)
            result = redact_result(result, issuer.spec)
            if result.status is SignStatus.PENDING:
                ctx.log.debug("sign is pending", note=result.text, attempt=request.attempt)
            else:
                log_fault(ctx, self.faults, "sign", issuer, self.author.sign, error)
        self.metrics.signed(issuer.kind, result.status, ctx.clock.monotonic() - started)
        return result

    def _classified(
        self,
        ctx: Context,
        kind: RequestKind,
        request: Request,
        error: BaseException,
        record: IssuerRecord,
    ) -> SignResult:
        if isinstance(error, BadBundle) and self.settings.on_mismatch == "fail":
            error = Permanent(error)
        start, max_retry = request.created, self.settings.max_retry
        if self.settings.compatibility.extends_window:
            start = window_start(start, request.conditions, record.ready)
            max_retry = max_retry_of(max_retry, record.metadata.annotations, request.annotations)
        return classify(
            error,
            is_window_open=is_window_open(start, max_retry, ctx.clock.now()),
            forbidden_conditions=kind.forbidden_conditions,
            rules=error_rules(self.author, self.settings),
        )


def error_rules(author: Author[Any], settings: IssuerSettings) -> ErrorRules:
    """Return how the exceptions of an app are understood."""
    return ErrorRules(
        translate=author.classify_error,
        http=settings.http_errors,
        names_types=settings.compatibility.names_types,
    )


def log_fault(
    ctx: Context,
    faults: FaultLog,
    name: str,
    issuer: Issuer[Any],
    function: Callable[..., Any],
    error: BaseException,
) -> None:
    """Log what a function of the author raised, once for each cause."""
    fault = fault_of(error, function, issuer.spec)
    where = f"{issuer.kind}/{Key(issuer.namespace, issuer.name)}"
    held = faults.repeats(name, where, fault, ctx.clock.monotonic())
    log = ctx.log.bind(function=name, issuer=where, type=fault.type, error=fault.message)
    if held is None:
        log.debug("the issuer's code raised the same again")
        return
    details = {"causes": list(fault.causes), "lines": list(fault.lines), "repeats": held}
    log.warning(
        "the issuer's code raised", **{key: value for key, value in details.items() if value}
    )


def request_refusal(request: Request) -> SignResult | None:
    """Return why a request must not be signed at all; None if nothing is wrong with it.

    Reading a large one takes long enough to belong in a thread.
    """
    try:
        request.template()
    except TermsError as error:
        return SignResult(status=SignStatus.FAILED, text=str(error), reason=error.reason)
    except pki.PkiError as error:
        return SignResult(status=SignStatus.FAILED, text=named(error))
    return None


def not_a_bundle(value: object) -> str:
    """Return what ``sign`` returned in the place of a bundle, and what to write."""
    if inspect.iscoroutine(value):
        value.close()  # else Python warns about it, at a line of this library
        return f"the coroutine {value.__qualname__}: write return await …"
    kind = "None" if value is None else type(value).__name__
    advice = "Bundle.from_pem(…)" if isinstance(value, str | bytes) else "Bundle(chain, ca)"
    return f"{kind}; it must return a Bundle: write return {advice}"


def accepted(bundle: Bundle, request: Request, now: datetime) -> tuple[Bundle, str]:
    """Return a bundle in its normal form, and a remark if its validity is not the requested one.

    Leaf first, no root, no repeats; the root becomes the authority where the bundle has none. What
    had to be repaired for that is noted in the bundle. What ``request.sign_with`` made for this
    very request is taken as it is. Raises `BadBundle` if it cannot be read, is no chain, or its
    leaf does not fit the request.
    """
    if bundle.made_for and bundle.made_for == request.uid:
        return bundle, bundle.remark
    try:
        chain = pki.read_chain(bundle.chain)
        ca = pki.write_certificates(*pki.read_bundle(bundle.ca)) if bundle.ca else b""
        violations = pki.certificate_violations(chain.leaf, request.csr, request.terms, now)
    except pki.PkiError as error:
        raise BadBundle(named(error)) from error
    wrong = [one for one in violations if one.name in _UNACCEPTABLE]
    if wrong:
        raise BadBundle("; ".join(f"{one.name}: {one.message}" for one in wrong))
    remark = next((one.message for one in violations if one.name == "DurationMismatch"), "")
    normal = Bundle.of_chain(chain)
    repaired = () if normal.chain == bundle.chain else tuple(delivered_violations(bundle.chain))
    return Bundle(normal.chain, ca or normal.ca, repaired=repaired), remark


async def call(
    function: Callable[..., Awaitable[R] | R], *arguments: Any, limit: timedelta, threads: Offload
) -> R:
    """Call a function of the author's, in a thread unless it is async.

    Raises `TimedOut` after *limit*, and `StrayExit` if it ends with ``sys.exit()`` or is cancelled
    from inside: neither may end more than the call.
    """
    try:
        async with asyncio.timeout(limit.total_seconds()) as scope:
            if inspect.iscoroutinefunction(function):
                answer: Awaitable[R] | R = function(*arguments)
            else:
                answer = await threads(function, *arguments)
            return await answer if inspect.isawaitable(answer) else answer
    except TimeoutError as error:
        if not scope.expired():
            raise
        raise TimedOut(f"timed out after {format_duration(limit)}") from error
    except SystemExit as error:
        raise StrayExit.of(error) from error
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise StrayExit("something that it awaited was cancelled") from error
