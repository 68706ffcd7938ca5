"""The loop over requests: look, decide, sign, write once.

Decisions are made by the pure modules; here they are put in order and carried out.
`certwright.issuer.requests.judgement` is the list of what must hold before anything is signed.
"""

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from certwright.api.certmanager import GROUP
from certwright.client import TransportError
from certwright.issuer.check.reader import IssuerRecord, read_issuer
from certwright.issuer.check.status import Trouble
from certwright.issuer.conditions import READY
from certwright.issuer.requests.access import may_reference
from certwright.issuer.requests.desk import Asked, Desk
from certwright.issuer.requests.judgement import before_signing
from certwright.issuer.requests.match import IssuerAt, NotOurs
from certwright.issuer.requests.outcomes import Change, Next, Notice, outdated
from certwright.issuer.requests.phase import Gate
from certwright.issuer.run.memory import Attempts, Memory
from certwright.issuer.settings import APPROVAL_PATIENCE
from certwright.issuer.sign.calls import call
from certwright.issuer.sign.sign import ReadFailed, Signer
from certwright.issuer.sign.verdicts import Result, Verdict, issued, text_of
from certwright.kube import ApiError, Key, NotFound, find_condition
from certwright.kube.durations import format_duration
from certwright.runtime import DONE, WAIT, Backoff, Context, Outcome, again

PATIENCE_SECONDS = 3.0
"""How long ``sign`` may take before the request says that somebody is at work on it."""
BEHIND = timedelta(seconds=1)
"""How long to wait for a view that turned out to be old."""


@dataclass(frozen=True, slots=True)
class Case:
    """One look at one request."""

    asked: Asked
    at: IssuerAt
    gate: Gate
    record: IssuerRecord | None
    attempts: Attempts


@dataclass(frozen=True, slots=True)
class RequestLoop:
    """Answers the requests of one kind."""

    desk: Desk
    signer: Signer[Any]
    memory: Memory
    backoff: Backoff

    async def reconcile(self, ctx: Context, key: Key) -> Outcome:
        """Look at one request and bring it a step further."""
        await self.memory.started.wait()
        entry = ctx.store(self.desk.resource).get(key)
        if entry is None:
            return self._forget(key)
        asked = self.desk.read(entry)
        try:
            at = self.desk.match(asked)
        except NotOurs:
            return DONE
        gate = self.desk.gate(asked)
        attempts = self.memory.attempts(self.desk.resource, key, asked.metadata.uid)
        case = Case(asked, at, gate, self._issuer(ctx, at), attempts)
        if gate is Gate.LEAVE:
            return self._leave(ctx, case)
        if gate is Gate.UNAPPROVED and (patience := self._patience(ctx, case)) is not None:
            return patience
        if gate is not Gate.UNAPPROVED:
            self.memory.link(self.desk.resource, key, at)
        try:
            if await self._is_ignored(ctx, case):
                return DONE
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - somebody else's code
            ctx.log.warning("failed to check if Request should be ignored", error=text_of(error))
            return self._next(Change(next=Next.BACKOFF), attempts)
        if gate is Gate.UNAPPROVED:
            return self._tell_unapproved(ctx, case)
        early = attempts.not_before - ctx.clock.monotonic()
        if gate is Gate.PROCEED and early > 0:
            return again(early)
        case, change = await self._decide(ctx, case)
        return await self._carry_out(ctx, case, change)

    # Deciding

    async def _decide(self, ctx: Context, case: Case) -> tuple[Case, Change]:
        """Return what to do; the case with it, because it may have been written to meanwhile."""
        desk, signed = self.desk, case.attempts.signed
        said = before_signing(desk, case.asked, case.at, case.record, signed, ctx.clock.now())
        if said is not None:
            return case, said
        assert case.record is not None
        try:
            if await self._is_behind(ctx, case):
                return case, Change(next=Next.POLL, after=BEHIND)
            case, verdict = await self._sign(ctx, case, case.record)
        except ReadFailed as error:
            ctx.log.warning("unexpected get error", error=str(error))
            kind = desk.resource.kind
            note = f"Got an unexpected error while processing the {kind}"
            notice = Notice("Warning", "UnexpectedError", "SyncFailed", note)
            return case, Change(notice=notice, next=Next.BACKOFF)
        if verdict.result is Result.ISSUER_ERROR:
            self.memory.report(case.at, Trouble(verdict.text, verdict.is_permanent))
            return case, desk.wait(case.asked, outdated(), ctx.clock.now())
        return case, desk.settle(case.asked, verdict, ctx.clock.now())

    async def _sign(self, ctx: Context, case: Case, record: IssuerRecord) -> tuple[Case, Verdict]:
        """Sign, and say meanwhile that somebody is at work if it takes long."""
        case.attempts.count += 1
        denied = await may_reference(ctx.client, case.asked, case.at)
        if denied is not None:
            return case, denied
        request = self.signer.request(ctx, self.desk, case.asked, case.at, case.attempts.count)
        issuer = await self.signer.prepare(ctx, request, case.at, record)
        if isinstance(issuer, Verdict):
            return case, issuer
        async with asyncio.TaskGroup() as group:
            signing = group.create_task(self.signer.sign(ctx, self.desk, request, issuer, record))
            done, _ = await asyncio.wait([signing], timeout=PATIENCE_SECONDS)
            if not done and find_condition(case.asked.conditions, READY) is None:
                case = await self._say_started(ctx, case)
        verdict = signing.result()
        if verdict.result is Result.ISSUED:
            case.attempts.signed = verdict.bundle
            self.memory.health(case.at).flaps = 0
            if verdict.remark:
                ctx.event(case.asked.typed, "Warning", "DurationMismatch", verdict.remark, "Synced")
        return case, verdict

    async def _say_started(self, ctx: Context, case: Case) -> Case:
        status = self.desk.initialize(case.asked, ctx.clock.now()).status
        if status is None:
            return case
        try:
            await ctx.apply_status(case.asked.typed, status)
        except (ApiError, TransportError) as error:
            ctx.log.info("could not say that signing has started", error=str(error))
            return case
        entry = ctx.store(self.desk.resource).get(case.asked.key)
        return replace(case, asked=self.desk.read(entry)) if entry is not None else case

    async def _is_ignored(self, ctx: Context, case: Case) -> bool:
        """Ask the author, about the issuer before anything is written (upstream: after)."""
        author, limit = self.signer.author, self.signer.settings.check_timeout
        threads = self.signer.threads
        if author.ignore_request is not None:
            request = self.signer.request(ctx, self.desk, case.asked, case.at, 0)
            if await call(author.ignore_request, request, limit=limit, threads=threads):
                return True
        if self.signer.settings.compat == "upstream" and case.gate is not Gate.PROCEED:
            return False
        if author.ignore_issuer is None or case.record is None:
            return False
        metadata = case.record.metadata
        return bool(await call(author.ignore_issuer, metadata, limit=limit, threads=threads))

    async def _is_behind(self, ctx: Context, case: Case) -> bool:
        """Whether our view of a request is old. Costs a call for what is older than we are."""
        version = case.asked.metadata.resource_version
        if self.signer.settings.compat == "upstream" or version == case.attempts.verified:
            return False
        if self.memory.is_surely_current(version):
            return False
        try:
            fresh = await ctx.client.get(self.desk.resource, case.asked.key)
        except NotFound:
            return True
        if fresh["metadata"]["resourceVersion"] != version:
            return True
        case.attempts.verified = version
        return False

    def _issuer(self, ctx: Context, at: IssuerAt) -> IssuerRecord | None:
        entry = ctx.store(at.kind).get(at.key)
        return None if entry is None else read_issuer(at, entry)

    # Carrying out

    async def _carry_out(self, ctx: Context, case: Case, change: Change) -> Outcome:
        asked, is_upstream = case.asked, self.signer.settings.compat == "upstream"
        if is_upstream:
            self._tell(ctx, case, change)
        if change.status is not None:
            try:
                stored = await ctx.apply_status(asked.typed, change.status, any_version=is_upstream)
                version = stored["metadata"]["resourceVersion"]
                self.memory.wrote(version)
                if change.is_final:
                    self._drop(ctx, asked.key, version)
            except NotFound:
                return self._forget(asked.key)
        if not is_upstream:
            self._tell(ctx, case, change)
        if change.is_final:
            return self._forget(asked.key)
        self._slow_down(ctx, case.attempts, change)
        return self._next(change, case.attempts)

    def _slow_down(self, ctx: Context, attempts: Attempts, change: Change) -> None:
        """Let a condition of the author's wake its request at once, but not again and again."""
        attempts.moves = attempts.moves + 1 if change.next is Next.STOP else 0
        if attempts.moves < 2 or self.signer.settings.compat == "upstream":
            return
        delay = change.after.total_seconds() or self.backoff.delay(attempts.moves - 1)
        attempts.not_before = ctx.clock.monotonic() + delay

    def _tell(self, ctx: Context, case: Case, change: Change) -> None:
        notice = change.notice
        if notice is None:
            return
        if notice.reason in {"Issued", "PermanentError"}:
            ctx.log.info(
                "issued" if notice.reason == "Issued" else "failed",
                issuer=f"{case.at.kind.kind}/{case.at.key}",
                uid=case.asked.metadata.uid,
                attempt=case.attempts.count,
                note=notice.note,
            )
        if notice == case.attempts.told and self.signer.settings.compat == "v1":
            return
        case.attempts.told = notice
        ctx.event(case.asked.typed, notice.type, notice.reason, notice.note, notice.action)

    def _next(self, change: Change, attempts: Attempts) -> Outcome:
        match change.next:
            case Next.WAIT:
                attempts.failures = 0
                return WAIT
            case Next.POLL:
                attempts.failures = 0
                return again(change.after)
            case Next.BACKOFF:
                attempts.failures += 1
                delay = self.backoff.delay(attempts.failures)
                return again(max(delay, change.after.total_seconds(), 0.001))
        return DONE

    def _patience(self, ctx: Context, case: Case) -> Outcome | None:
        """Return how to wait for approval; None when that takes too long."""
        if self.signer.settings.compat == "upstream" or self.desk.resource.group != GROUP:
            return DONE
        waited = ctx.clock.now() - case.asked.created
        if waited < APPROVAL_PATIENCE:
            return again(min(APPROVAL_PATIENCE - waited, APPROVAL_PATIENCE))
        return None

    def _tell_unapproved(self, ctx: Context, case: Case) -> Outcome:
        """Tell once what is probably missing."""
        signers = f"{case.at.kind.qualified}/*"
        note = (
            f"Not approved for {format_duration(APPROVAL_PATIENCE)}. No approver may have the"
            f' permission: verb "approve" on "signers" named "{signers}" in the group'
            f' "{GROUP}". The command rbac prints the role for cert-manager.'
        )
        self._tell(
            ctx, case, Change(notice=Notice("Warning", "WaitingForApproval", "Synced", note))
        )
        return DONE

    def _leave(self, ctx: Context, case: Case) -> Outcome:
        """Leave a settled request. If we settled it without hearing so, tell that we did."""
        signed, now = case.attempts.signed, ctx.clock.now()
        if signed is not None and self.desk.is_issued(case.asked):
            said = self.desk.settle(case.asked, issued(signed), now)
            self._tell(ctx, case, Change(notice=said.notice))
        if self.desk.is_final(case.asked):
            self._drop(ctx, case.asked.key, case.asked.metadata.resource_version)
        return self._forget(case.asked.key)

    def _drop(self, ctx: Context, key: Key, version: str) -> None:
        """Keep nothing of a settled request but the version, lest old news revive it."""
        self.memory.settle(self.desk.resource, key, version)
        ctx.store(self.desk.resource).discard(key)

    def _forget(self, key: Key) -> Outcome:
        self.memory.forget(self.desk.resource, key)
        return DONE
