"""The controller of one kind of issuers: read, check, write whether it is ready."""

from dataclasses import dataclass
from typing import Any

from msgspec import to_builtins

from certwright.issuer.author import Author
from certwright.issuer.check.reader import IssuerReader, IssuerRecord, SecretMissing, read_issuer
from certwright.issuer.check.status import IssuerStatusWriter, IssuerStep, issuer_step
from certwright.issuer.kinds import IssuerKey
from certwright.issuer.request import Offload
from certwright.issuer.run.memory import AppMemory, IssuerMemory
from certwright.issuer.run.metrics import IssuerMetrics
from certwright.issuer.settings import IssuerSettings
from certwright.issuer.sign.faults import FaultLog
from certwright.issuer.sign.redaction import redact_spec
from certwright.issuer.sign.result import CheckFailure, check_failure, text_of
from certwright.issuer.sign.sign import call, error_rules, log_fault
from certwright.issuer.spec import SpecError
from certwright.issuer.status import Requeue, StatusUpdate
from certwright.kube import JsonObject, Key, NotFound, Resource
from certwright.runtime import DONE, Backoff, Context, Outcome, again
from certwright.runtime.queue.backoff import Rng

_JITTER = 0.1
"""By how much of its interval a repeated check may come early, so that checks spread out."""


@dataclass(frozen=True, slots=True)
class IssuerController:
    """Keeps the Ready condition of the issuers of one kind true."""

    kind: Resource
    author: Author[Any]
    reader: IssuerReader[Any]
    settings: IssuerSettings
    memory: AppMemory
    metrics: IssuerMetrics
    threads: Offload
    faults: FaultLog
    backoff: Backoff
    rng: Rng

    async def reconcile(self, ctx: Context, key: Key) -> Outcome:
        """Check one issuer if it needs it, and write the result."""
        await self.memory.started.wait()
        at = IssuerKey(self.kind, key)
        reported = self.memory.reported(at)
        entry = ctx.store(self.kind).get(key)
        if entry is None:
            return self._forget(at)
        record = read_issuer(at, entry)
        is_deleting = record.metadata.deletion_timestamp is not None
        if is_deleting and self.settings.compatibility.leaves_deleted:
            return DONE
        memory = self.memory.issuer(at)
        try:
            if await self._is_ignored(record):
                self.memory.clear_report(at, reported)
                return DONE
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - the author's code
            ctx.log.warning("failed to check if issuer should be ignored", error=text_of(error))
            return self._requeue(ctx, memory, StatusUpdate(requeue=Requeue.BACKOFF))
        step = issuer_step(
            record.conditions,
            record.metadata.generation,
            is_reported=reported is not None,
            is_changed=memory.is_changed,
        )
        early = memory.not_before - ctx.clock.monotonic()
        if step is IssuerStep.LEAVE:
            self.reader.watch(at, record)  # a Secret that is corrected gives it another chance
            outcome = DONE
        elif step is IssuerStep.CHECK and early > 0 and not memory.is_changed:
            outcome = again(early)  # it passes its checks and fails requests: slow down
        else:
            update = await self._step(ctx, at, record, step, reported)
            if not await self._write(ctx, at, record, update):
                outcome = self._forget(at)
            else:
                if step is IssuerStep.REPORT:
                    self._slow_down(ctx, memory)
                outcome = self._requeue(ctx, memory, update)
        self.memory.clear_report(at, reported)  # only once written: the request waits for that
        return outcome

    async def _is_ignored(self, record: IssuerRecord) -> bool:
        if self.author.ignore_issuer is None:
            return False
        limit = self.settings.check_timeout
        answer = await call(
            self.author.ignore_issuer, record.metadata, limit=limit, threads=self.threads
        )
        return bool(answer)

    # Check

    async def _step(
        self,
        ctx: Context,
        at: IssuerKey,
        record: IssuerRecord,
        step: IssuerStep,
        reported: CheckFailure | None,
    ) -> StatusUpdate:
        """Take a step, and return the status that shows its result."""
        writer = IssuerStatusWriter(self.settings)
        generation, conditions = record.metadata.generation, record.conditions
        if step is IssuerStep.INITIALIZE:
            return writer.initialize(conditions, generation, ctx.clock.now())
        failure = reported
        if step is IssuerStep.CHECK:
            self.memory.issuer(at).is_changed = False
            failure = await self._check(ctx, at, record)
        return writer.checked(conditions, generation, failure, ctx.clock.now())

    async def _check(
        self, ctx: Context, at: IssuerKey, record: IssuerRecord
    ) -> CheckFailure | None:
        """Call the author's check; return how it failed."""
        failure: CheckFailure | None = None
        try:
            issuer = await self.reader.read(ctx, at, record)
        except SpecError as error:
            failure = CheckFailure(text_of(error), is_permanent=True)
        except SecretMissing as error:
            failure = CheckFailure(text_of(error))
        else:
            check, limit = self.author.check or _pass, self.settings.check_timeout
            try:
                await call(check, issuer, limit=limit, threads=self.threads)
            except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - the author's code
                text, is_permanent = check_failure(error, error_rules(self.author, self.settings))
                failure = CheckFailure(redact_spec(text, issuer.spec), is_permanent)
                log_fault(ctx, self.faults, "check", issuer, check, error)
        result = "ok" if failure is None else "failed" if failure.is_permanent else "retry"
        self.metrics.checked(at.kind.kind, result)
        return failure

    # Write

    async def _write(
        self, ctx: Context, at: IssuerKey, record: IssuerRecord, update: StatusUpdate
    ) -> bool:
        """Write the status and the event; return whether the issuer still exists."""
        compatibility, obj = self.settings.compatibility, _identity(at, record)
        if not compatibility.writes_first:
            self._record(ctx, obj, update)
        if update.status is not None:
            try:
                stored = await ctx.apply_status(
                    obj, update.status, any_version=not compatibility.checks_version
                )
                self.memory.wrote(stored["metadata"]["resourceVersion"])
            except NotFound:
                return False
        if compatibility.writes_first:
            self._record(ctx, obj, update)
        if update.requeue is not Requeue.DONE or update.status is None or update.event is not None:
            is_ready = update.requeue is Requeue.DONE
            self.metrics.ready(at.kind.kind, at.key.namespace, at.key.name, is_ready=is_ready)
        return True

    def _record(self, ctx: Context, obj: JsonObject, update: StatusUpdate) -> None:
        event = update.event
        if event is None:
            return
        if update.requeue is Requeue.DONE:  # of a failure the runtime tells
            ctx.log.info("issuer became ready", note=event.note)
        ctx.event(obj, event.type, event.reason, event.note, event.action)

    def _requeue(self, ctx: Context, memory: IssuerMemory, update: StatusUpdate) -> Outcome:
        match update.requeue:
            case Requeue.BACKOFF:
                memory.failures += 1
                early = memory.not_before - ctx.clock.monotonic()
                delay = max(self.backoff.delay(memory.failures), early, 0.001)
                return again(delay).as_failure()
            case Requeue.STOP:
                return DONE.as_failure()
            case Requeue.DONE:
                memory.failures = 0
                is_initialized = update.status is not None and update.event is None
                every = self.author.every.total_seconds()
                if not is_initialized and every > 0 and self.settings.compatibility.rechecks:
                    return again(every * (1 - _JITTER * self.rng.random()))
        return DONE  # Ready=Unknown wakes the issuer by its own event

    def _slow_down(self, ctx: Context, memory: IssuerMemory) -> None:
        """Check an issuer that passes its checks and fails requests less and less often."""
        if not self.settings.compatibility.slows_down:
            return
        memory.flaps += 1
        memory.not_before = ctx.clock.monotonic() + self.backoff.delay(memory.flaps)

    def _forget(self, at: IssuerKey) -> Outcome:
        for orphan in self.memory.forget_issuer(at):
            self.reader.secrets.forget(orphan)
        self.metrics.gone(at.kind.kind, at.key.namespace, at.key.name)
        return DONE


async def _pass(_issuer: Any) -> None:
    """Find nothing wrong: the check of an author who registered none."""


def _identity(at: IssuerKey, record: IssuerRecord) -> JsonObject:
    """Return as much of an issuer as a write of its status needs."""
    metadata = record.metadata
    named = {"name": at.key.name, "namespace": at.key.namespace, "uid": metadata.uid}
    kept = {name: value for name, value in named.items() if value}
    return {
        "apiVersion": at.kind.api_version,
        "kind": at.kind.kind,
        "metadata": kept | {"resourceVersion": metadata.resource_version},
        "status": {"conditions": to_builtins(record.conditions)},
    }
