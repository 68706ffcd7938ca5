"""The controller of one kind of requests: read, decide, sign, write the status once."""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from certwright.api.certmanager import GROUP
from certwright.client import TransportError
from certwright.issuer.check.reader import IssuerRecord, read_issuer
from certwright.issuer.kinds import IssuerKey
from certwright.issuer.request import Bundle
from certwright.issuer.requests.kind import NotOurs, NotServed, RequestKind, StoredRequest
from certwright.issuer.run.memory import AppMemory, RequestMemory
from certwright.issuer.sign.result import CheckFailure, SignResult, SignStatus, text_of
from certwright.issuer.sign.sign import ReadFailed, Signer, call
from certwright.issuer.status import (
    READY,
    Phase,
    Requeue,
    StatusEvent,
    StatusUpdate,
    issuer_missing,
    issuer_not_ready,
    issuer_outdated,
    unserved,
)
from certwright.issuer.upstream import Compatibility
from certwright.kube import ApiError, Key, NotFound, Resource, find_condition
from certwright.kube.durations import format_duration
from certwright.runtime import DONE, WAIT, Backoff, Context, Entry, Outcome, again

PATIENCE_SECONDS = 3.0
"""How long ``sign`` may take before Ready=Unknown shows that work on the request has begun."""
APPROVAL_PATIENCE = timedelta(minutes=1)
"""How long a request may wait for approval before an event names the missing permission."""
STALE_DELAY = timedelta(seconds=1)
"""How long to wait for the watch when the store turned out to be behind."""


@dataclass(frozen=True, slots=True)
class _Inputs:
    """What one pass over a request is decided on."""

    request: StoredRequest
    phase: Phase
    issuer: IssuerKey
    record: IssuerRecord | None
    """The issuer; None if it does not exist."""
    memory: RequestMemory


@dataclass(frozen=True, slots=True)
class RequestController:
    """Answers the requests of one kind."""

    kind: RequestKind
    signer: Signer[Any]
    memory: AppMemory
    backoff: Backoff
    compatibility: Compatibility

    async def reconcile(self, ctx: Context, key: Key) -> Outcome:
        """Bring one request a step further."""
        await self.memory.started.wait()
        inputs = self._read(ctx, key)
        if inputs is None:
            return DONE
        if inputs.phase is Phase.CLOSED:
            return self._close(ctx, inputs)
        if (
            inputs.phase is Phase.UNAPPROVED
            and (wait := self._approval_wait(ctx, inputs)) is not None
        ):
            return wait
        if inputs.phase is not Phase.UNAPPROVED:
            self.memory.link(self.kind.resource, key, inputs.issuer)
        try:
            if await self._is_ignored(ctx, inputs):
                return DONE
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - the author's code
            ctx.log.warning("failed to check if Request should be ignored", error=text_of(error))
            return self._requeue(StatusUpdate(requeue=Requeue.BACKOFF), inputs.memory)
        if inputs.phase is Phase.UNAPPROVED:
            return self._report_unapproved(ctx, inputs)
        early = inputs.memory.not_before - ctx.clock.monotonic()
        if inputs.phase is Phase.APPROVED and early > 0:
            return again(early)
        update = before_signing(
            self.kind, inputs.request, inputs.phase, inputs.issuer, inputs.record,
            inputs.memory.signed, ctx.clock.now(),
        )  # fmt: skip
        if update is None:
            inputs, update = await self._sign(ctx, inputs)
        return await self._write(ctx, inputs, update)

    # Read

    def is_wanted(self, entry: Entry) -> bool:
        """Return whether the store should hold a request; of final ones, not even old versions."""
        version = entry.meta.resource_version
        return self.kind.is_wanted(entry) and not self.memory.is_final(
            self.kind.resource, entry.key, version
        )

    def _read(self, ctx: Context, key: Key) -> _Inputs | None:
        """Return what the stores hold; None if there is no such request, or it is not ours."""
        entry = ctx.store(self.kind.resource).get(key)
        if entry is None:
            self.memory.forget(self.kind.resource, key)
            return None
        request = self.kind.read(entry)
        try:
            issuer = self.kind.match(request)
        except NotServed as error:
            self._explain_unserved(ctx, request, error.kind)
            return None
        except NotOurs:
            return None
        held = ctx.store(issuer.kind).get(issuer.key)
        return _Inputs(
            request,
            self.kind.phase(request),
            issuer,
            None if held is None else read_issuer(issuer, held),
            self.memory.request(self.kind.resource, key, request.metadata.uid),
        )

    async def _is_ignored(self, ctx: Context, inputs: _Inputs) -> bool:
        """Return whether the author ignores the request or its issuer."""
        author, limit = self.signer.author, self.signer.settings.check_timeout
        threads = self.signer.threads
        if author.ignore_request is not None:
            request = self.signer.request(ctx, self.kind, inputs.request, inputs.issuer, 0)
            if await call(author.ignore_request, request, limit=limit, threads=threads):
                return True
        if not self.compatibility.ignores_early and inputs.phase is not Phase.APPROVED:
            return False
        if author.ignore_issuer is None or inputs.record is None:
            return False
        metadata = inputs.record.metadata
        return bool(await call(author.ignore_issuer, metadata, limit=limit, threads=threads))

    def _approval_wait(self, ctx: Context, inputs: _Inputs) -> Outcome | None:
        """Return how to wait for approval; None when that takes too long."""
        if not self.compatibility.reports_missing_approval or self.kind.resource.group != GROUP:
            return DONE
        waited = ctx.clock.now() - inputs.request.created
        if waited < APPROVAL_PATIENCE:
            return again(min(APPROVAL_PATIENCE - waited, APPROVAL_PATIENCE))
        return None

    # Sign

    async def _sign(self, ctx: Context, inputs: _Inputs) -> tuple[_Inputs, StatusUpdate]:
        """Sign, and return the update; with the inputs, as the request may have been written to."""
        kind, record = self.kind, inputs.record
        assert record is not None
        try:
            if await self._is_stale(ctx, inputs):
                return inputs, StatusUpdate(requeue=Requeue.POLL, after=STALE_DELAY)
            inputs, result = await self._attempt(ctx, inputs, record)
        except ReadFailed as error:
            ctx.log.warning("unexpected get error", error=str(error))
            note = f"Got an unexpected error while processing the {kind.resource.kind}"
            event = StatusEvent("Warning", "UnexpectedError", "SyncFailed", note)
            return inputs, StatusUpdate(event=event, requeue=Requeue.BACKOFF)
        if result.status is SignStatus.ISSUER_ERROR:
            self.memory.report(inputs.issuer, CheckFailure(result.text, result.is_permanent))
            return inputs, kind.wait(inputs.request, issuer_outdated(), ctx.clock.now())
        return inputs, kind.settle(inputs.request, result, ctx.clock.now())

    async def _is_stale(self, ctx: Context, inputs: _Inputs) -> bool:
        """Return whether the store is behind. Costs a call for requests older than the process."""
        version = inputs.request.metadata.resource_version
        if not self.compatibility.checks_version or version == inputs.memory.verified:
            return False
        if self.memory.is_surely_current(version):
            return False
        try:
            fresh = await ctx.client.get(self.kind.resource, inputs.request.key)
        except NotFound:
            return True
        if fresh["metadata"]["resourceVersion"] != version:
            return True
        inputs.memory.verified = version
        return False

    async def _attempt(
        self, ctx: Context, inputs: _Inputs, record: IssuerRecord
    ) -> tuple[_Inputs, SignResult]:
        """Call ``sign``; if it takes long, write meanwhile that work on the request has begun."""
        inputs.memory.attempts += 1
        denied = await self.kind.reference_refusal(ctx.client, inputs.request, inputs.issuer)
        if denied is not None:
            return inputs, denied
        request = self.signer.request(
            ctx, self.kind, inputs.request, inputs.issuer, inputs.memory.attempts
        )
        issuer = await self.signer.prepare(ctx, request, inputs.issuer, record)
        if isinstance(issuer, SignResult):
            return inputs, issuer
        started: list[asyncio.Task[_Inputs]] = []
        async with asyncio.TaskGroup() as group:
            # Not the other way round: in a task of its own, sign could block the loop unnoticed.
            timer = asyncio.get_running_loop().call_later(
                PATIENCE_SECONDS,
                lambda: started.append(group.create_task(self._write_started(ctx, inputs))),
            )
            try:
                result = await self.signer.sign(ctx, self.kind, request, issuer, record)
            finally:
                timer.cancel()
        if started:
            inputs = started[0].result()
        if result.status is SignStatus.ISSUED:
            inputs.memory.signed = result.bundle
            self.memory.issuer(inputs.issuer).flaps = 0
            typed = inputs.request.typed
            if result.remark:
                ctx.event(typed, "Warning", "DurationMismatch", result.remark, "Synced")
            for fault in result.bundle.repaired if result.bundle is not None else ():
                ctx.event(typed, "Normal", fault.name, f"Repaired: {fault.message}", "Synced")
        return inputs, result

    async def _write_started(self, ctx: Context, inputs: _Inputs) -> _Inputs:
        if find_condition(inputs.request.conditions, READY) is not None:
            return inputs
        status = self.kind.initialize(inputs.request, ctx.clock.now()).status
        if status is None:
            return inputs
        try:
            await ctx.apply_status(inputs.request.typed, status)
        except (ApiError, TransportError) as error:
            ctx.log.info("could not write that signing has started", error=str(error))
            return inputs
        entry = ctx.store(self.kind.resource).get(inputs.request.key)
        return replace(inputs, request=self.kind.read(entry)) if entry is not None else inputs

    # Write

    async def _write(self, ctx: Context, inputs: _Inputs, update: StatusUpdate) -> Outcome:
        """Write the status and the event, and return when to look again."""
        key, compatibility = inputs.request.key, self.compatibility
        if not compatibility.writes_first:
            self._record(ctx, inputs, update.event)
        if update.status is not None:
            try:
                stored = await ctx.apply_status(
                    inputs.request.typed,
                    update.status,
                    any_version=not compatibility.checks_version,
                )
            except NotFound:
                return self._forget(key)
            version = stored["metadata"]["resourceVersion"]
            self.memory.wrote(version)
            if update.is_final:
                self._drop(ctx, key, version)
        if compatibility.writes_first:
            self._record(ctx, inputs, update.event)
        if update.is_final:
            return self._forget(key)
        self._slow_down(ctx, inputs.memory, update)
        return self._requeue(update, inputs.memory)

    def _record(self, ctx: Context, inputs: _Inputs, event: StatusEvent | None) -> None:
        """Log how a request ended, and send its event unless it was the last one already."""
        if event is None:
            return
        if event.reason in {"Issued", "PermanentError"}:
            ctx.log.info(
                "issued" if event.reason == "Issued" else "failed",
                issuer=f"{inputs.issuer.kind.kind}/{inputs.issuer.key}",
                uid=inputs.request.metadata.uid,
                attempt=inputs.memory.attempts,
                note=event.note,
            )
        if event == inputs.memory.last_event and self.compatibility.skips_repeated:
            return
        inputs.memory.last_event = event
        ctx.event(inputs.request.typed, event.type, event.reason, event.note, event.action)

    def _report_unapproved(self, ctx: Context, inputs: _Inputs) -> Outcome:
        """Send an event that names the permission which is probably missing."""
        note = (
            f"Not approved for {format_duration(APPROVAL_PATIENCE)}. No approver may have the"
            f' permission: verb "approve" on "signers" named "{inputs.issuer.kind.qualified}/*" in'
            f' the group "{GROUP}". The command rbac prints the role for cert-manager.'
        )
        self._record(ctx, inputs, StatusEvent("Warning", "WaitingForApproval", "Synced", note))
        return DONE

    def _explain_unserved(self, ctx: Context, request: StoredRequest, kind: Resource) -> None:
        """Say on a request that it waits in vain; in the log, once for each kind."""
        is_open = self.kind.phase(request) is not Phase.CLOSED
        if not is_open or not self.compatibility.explains_unserved:
            return
        event = StatusEvent("Warning", "KindNotServed", "Synced", unserved(kind, self.kind.name))
        known = self.memory.request(self.kind.resource, request.key, request.metadata.uid)
        if event == known.last_event:
            return
        known.last_event = event
        ctx.event(request.typed, event.type, event.reason, event.note, event.action)
        if self.memory.is_first(kind):
            ctx.log.warning("a request names a kind that does not answer it", note=event.note)

    def _slow_down(self, ctx: Context, memory: RequestMemory, update: StatusUpdate) -> None:
        """Let a condition of the author's wake its request at once, but not again and again."""
        memory.moves = memory.moves + 1 if update.requeue is Requeue.STOP else 0
        if memory.moves < 2 or not self.compatibility.slows_down:
            return
        delay = update.after.total_seconds() or self.backoff.delay(memory.moves - 1)
        memory.not_before = ctx.clock.monotonic() + delay

    def _requeue(self, update: StatusUpdate, memory: RequestMemory) -> Outcome:
        match update.requeue:
            case Requeue.WAIT:
                memory.failures = 0
                return WAIT
            case Requeue.POLL:
                memory.failures = 0
                return again(update.after)
            case Requeue.BACKOFF:
                memory.failures += 1
                delay = self.backoff.delay(memory.failures)
                return again(max(delay, update.after.total_seconds(), 0.001)).as_failure()
        return DONE

    def _close(self, ctx: Context, inputs: _Inputs) -> Outcome:
        """Forget a closed request. If our write was stored without an answer, send its event."""
        request, signed = inputs.request, inputs.memory.signed
        if signed is not None and request.typed.status.certificate:
            result = SignResult(status=SignStatus.ISSUED, bundle=signed)
            self._record(ctx, inputs, self.kind.settle(request, result, ctx.clock.now()).event)
        if self.kind.is_final(request):
            self._drop(ctx, request.key, request.metadata.resource_version)
        return self._forget(request.key)

    def _drop(self, ctx: Context, key: Key, version: str) -> None:
        """Keep only the version of a final request, so that an older one is not signed."""
        self.memory.set_final(self.kind.resource, key, version)
        ctx.store(self.kind.resource).discard(key)

    def _forget(self, key: Key) -> Outcome:
        self.memory.forget(self.kind.resource, key)
        return DONE


def before_signing(
    kind: RequestKind,
    request: StoredRequest,
    phase: Phase,
    issuer: IssuerKey,
    record: IssuerRecord | None,
    signed: Bundle | None,
    now: datetime,
) -> StatusUpdate | None:
    """Return the update of a request that is not to be signed now; None if it is. Pure.

    *signed* is a certificate that could not be written: then ``sign`` is not called again.
    """
    if phase is Phase.DENIED:
        return kind.deny(request, now)
    if phase is Phase.NEW:
        return kind.initialize(request, now)
    if signed is not None:
        return kind.settle(request, SignResult(status=SignStatus.ISSUED, bundle=signed), now)
    if record is None:
        return kind.wait(request, issuer_missing(issuer), now)
    reason = issuer_not_ready(record.ready, record.metadata.generation)
    return None if reason is None else kind.wait(request, reason, now)
