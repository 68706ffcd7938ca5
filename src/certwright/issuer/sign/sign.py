"""One attempt to sign: the request is checked, the author's code called, its answer checked."""

from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from certwright.client import TransportError
from certwright.issuer.bundle import Bundle
from certwright.issuer.check.reader import IssuerReader, IssuerRecord, SecretMissing, read_secret
from certwright.issuer.conditions import INVALID_REQUEST
from certwright.issuer.issuer import Issuer
from certwright.issuer.request import Offload, Request
from certwright.issuer.requests.desk import Asked, Circumstances, Desk, request_of
from certwright.issuer.requests.match import IssuerAt
from certwright.issuer.requests.window import is_window_open, max_retry_of, window_start
from certwright.issuer.run.metrics import IssuerMetrics
from certwright.issuer.settings import Settings
from certwright.issuer.sign.calls import Author, call, refuse_answer
from certwright.issuer.sign.redaction import discreet_verdict
from certwright.issuer.sign.validation import LARGE, BadBundle, accepted, request_refusal
from certwright.issuer.sign.verdicts import (
    CustomCondition,
    Result,
    Verdict,
    classify,
    issued,
    text_of,
)
from certwright.issuer.spec import SpecError
from certwright.issuer.verbs import Permanent
from certwright.kube import ApiError, Key
from certwright.runtime import Context

S = TypeVar("S")


class ReadFailed(Exception):
    """What the issuer refers to could not be read for lack of an answer."""


@dataclass(frozen=True, slots=True)
class Signer(Generic[S]):
    """Signs requests with an author's code."""

    author: Author[S]
    reader: IssuerReader[S]
    settings: Settings
    metrics: IssuerMetrics
    threads: Offload

    def request(
        self, ctx: Context, desk: Desk, asked: Asked, at: IssuerAt, attempt: int
    ) -> Request:
        """Return a request as authors see it."""
        namespace = asked.metadata.namespace or self.reader.cluster_resource_namespace
        around = Circumstances(
            now=ctx.clock.now(),
            attempt=attempt,
            read_secret=lambda name: read_secret(ctx, Key(namespace, name)),
            offload=ctx.cpu,
        )
        return request_of(desk, asked, at, around)

    async def prepare(
        self, ctx: Context, request: Request, at: IssuerAt, record: IssuerRecord
    ) -> Issuer[S] | Verdict:
        """Check the request and return the issuer to sign it with, or why it must not be signed.

        Raises:
            ReadFailed: the API server did not answer what the issuer refers to.
        """
        if self.settings.compat == "v1":
            large = len(request.csr_pem) > LARGE
            refused = await ctx.cpu(request_refusal, request) if large else request_refusal(request)
            if refused is not None:
                return self._marked(request, refused)
        try:
            return await self.reader.read(ctx, at, record)
        except SpecError as error:
            return Verdict(result=Result.ISSUER_ERROR, text=text_of(error), is_permanent=True)
        except SecretMissing as error:
            return Verdict(result=Result.ISSUER_ERROR, text=text_of(error))
        except (ApiError, TransportError) as error:
            raise ReadFailed(text_of(error)) from error

    def _marked(self, request: Request, refused: Verdict) -> Verdict:
        """Add the condition by which cert-manager knows that no repetition helps."""
        if not self.settings.mark_invalid or request.kind != "CertificateRequest":
            return refused
        condition = CustomCondition(INVALID_REQUEST, "True", "RequestRefused", refused.text)
        return replace(refused, condition=condition)

    async def sign(
        self, ctx: Context, desk: Desk, request: Request, issuer: Issuer[S], record: IssuerRecord
    ) -> Verdict:
        """Have the author sign, and say what became of it."""
        started = ctx.clock.monotonic()
        verdict = await self._signed(ctx, desk, request, issuer, record)
        self.metrics.signed(issuer.kind, verdict.result, ctx.clock.monotonic() - started)
        return verdict

    async def _signed(
        self, ctx: Context, desk: Desk, request: Request, issuer: Issuer[S], record: IssuerRecord
    ) -> Verdict:
        assert self.author.sign is not None
        limit = self.settings.sign_timeout
        try:
            bundle = await call(
                self.author.sign, request, issuer, limit=limit, threads=self.threads
            )
            if not isinstance(bundle, Bundle):
                raise refuse_answer("sign", "a Bundle", bundle)  # an author without a type checker
            if self.settings.compat == "upstream":
                return issued(bundle)
            normal, remark = accepted(bundle, request, ctx.clock.now())
            return replace(issued(normal), remark=remark)
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - somebody else's code
            verdict = self._classified(ctx, desk, request, error, record)
            verdict = discreet_verdict(verdict, issuer.spec)
            log = ctx.log.debug if verdict.result is Result.PENDING else ctx.log.info
            log("sign did not succeed", error=verdict.text, attempt=request.attempt)
            return verdict

    def _classified(
        self,
        ctx: Context,
        desk: Desk,
        request: Request,
        error: BaseException,
        record: IssuerRecord,
    ) -> Verdict:
        if isinstance(error, BadBundle) and self.settings.on_mismatch == "fail":
            error = Permanent(error)
        annotations = (record.metadata.annotations, request.annotations)
        start, max_retry = request.created, self.settings.max_retry
        if self.settings.compat == "v1":
            start = window_start(start, request.conditions, record.ready)
            max_retry = max_retry_of(max_retry, *annotations)
        return classify(
            error,
            is_window_open=is_window_open(start, max_retry, ctx.clock.now()),
            forbidden_conditions=desk.forbidden,
            translate=self.author.classify_error,
        )
