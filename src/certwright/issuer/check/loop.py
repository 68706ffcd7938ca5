"""The loop over issuers: is this one fit to sign, and does it say so."""

from dataclasses import dataclass
from typing import Any

from certwright.issuer.check.reader import IssuerReader, IssuerRecord, SecretMissing, read_issuer
from certwright.issuer.check.status import IssuerScribe, IssuerStep, Trouble, issuer_step
from certwright.issuer.request import Offload
from certwright.issuer.requests.match import IssuerAt
from certwright.issuer.requests.outcomes import Change, Next
from certwright.issuer.run.memory import Health, Memory
from certwright.issuer.run.metrics import IssuerMetrics
from certwright.issuer.settings import Settings
from certwright.issuer.sign.calls import Author, call
from certwright.issuer.sign.redaction import discreet
from certwright.issuer.sign.verdicts import check_failure, text_of
from certwright.issuer.spec import SpecError
from certwright.kube import JsonObject, Key, NotFound, Resource
from certwright.runtime import DONE, Backoff, Context, Outcome, again
from certwright.runtime.queue.backoff import Rng

_JITTER = 0.1
"""By how much of its interval a repeated check may come early: issuers are not checked as one."""


@dataclass(frozen=True, slots=True)
class IssuerLoop:
    """Keeps the Ready condition of the issuers of one kind true."""

    kind: Resource
    author: Author[Any]
    reader: IssuerReader[Any]
    settings: Settings
    memory: Memory
    metrics: IssuerMetrics
    threads: Offload
    backoff: Backoff
    rng: Rng

    async def reconcile(self, ctx: Context, key: Key) -> Outcome:
        """Look at one issuer, check it, and say what was found."""
        await self.memory.started.wait()
        at = IssuerAt(self.kind, key)
        reported = self.memory.reported(at)
        entry = ctx.store(self.kind).get(key)
        if entry is None:
            return self._forget(at)
        record = read_issuer(at, entry)
        is_upstream = self.settings.compat == "upstream"
        if record.metadata.deletion_timestamp is not None and not is_upstream:
            return DONE
        health = self.memory.health(at)
        try:
            if await self._is_ignored(record):
                self.memory.heard(at, reported)
                return DONE
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - somebody else's code
            ctx.log.warning("failed to check if issuer should be ignored", error=text_of(error))
            return self._later(Change(next=Next.BACKOFF), health, ctx)
        step = issuer_step(
            record.conditions,
            record.metadata.generation,
            is_reported=reported is not None,
            is_changed=health.is_changed,
        )
        if step is IssuerStep.LEAVE:
            self.reader.watch(at, record)  # a Secret that is corrected gives it another chance
            outcome = DONE
        else:
            outcome = await self._take(ctx, at, record, step, reported)
        self.memory.heard(at, reported)  # not before it is written: a request waits for that
        return outcome

    async def _take(
        self,
        ctx: Context,
        at: IssuerAt,
        record: IssuerRecord,
        step: IssuerStep,
        reported: Trouble | None,
    ) -> Outcome:
        health, scribe = self.memory.health(at), self._scribe()
        generation, conditions = record.metadata.generation, record.conditions
        if step is IssuerStep.INITIALIZE:
            change = scribe.initialize(conditions, generation, ctx.clock.now())
        elif step is IssuerStep.REPORT:
            change = scribe.checked(conditions, generation, reported, ctx.clock.now())
        else:
            early = health.not_before - ctx.clock.monotonic()
            if early > 0 and not health.is_changed:
                return again(early)  # it passes its checks and fails requests: not so fast
            health.is_changed = False
            trouble = await self._check(ctx, at, record)
            change = scribe.checked(conditions, generation, trouble, ctx.clock.now())
        if not await self._carry_out(ctx, at, record, change):
            return self._forget(at)
        if step is IssuerStep.REPORT:
            self._slow_down(health, ctx)
        return self._later(change, health, ctx)

    async def _check(self, ctx: Context, at: IssuerAt, record: IssuerRecord) -> Trouble | None:
        """Call the author's check; return what it complains about.

        Raises:
            ApiError, TransportError: a Secret could not be read for lack of an answer.
        """
        trouble: Trouble | None = None
        try:
            issuer = await self.reader.read(ctx, at, record)
        except SpecError as error:
            trouble = Trouble(text_of(error), is_permanent=True)
        except SecretMissing as error:
            trouble = Trouble(text_of(error))
        else:
            try:
                if self.author.check is not None:
                    limit = self.settings.check_timeout
                    await call(self.author.check, issuer, limit=limit, threads=self.threads)
            except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - somebody else's code
                text, is_permanent = check_failure(error, self.author.classify_error)
                trouble = Trouble(discreet(text, issuer.spec), is_permanent)
        result = "ok" if trouble is None else "failed" if trouble.is_permanent else "retry"
        self.metrics.checked(at.kind.kind, result)
        return trouble

    async def _is_ignored(self, record: IssuerRecord) -> bool:
        if self.author.ignore_issuer is None:
            return False
        limit = self.settings.check_timeout
        answer = await call(
            self.author.ignore_issuer, record.metadata, limit=limit, threads=self.threads
        )
        return bool(answer)

    async def _carry_out(
        self, ctx: Context, at: IssuerAt, record: IssuerRecord, change: Change
    ) -> bool:
        """Write and tell; return whether the issuer is still there."""
        is_upstream = self.settings.compat == "upstream"
        about = _about(at, record)
        if is_upstream:
            self._tell(ctx, about, change)
        if change.status is not None:
            try:
                stored = await ctx.apply_status(about, change.status, any_version=is_upstream)
                self.memory.wrote(stored["metadata"]["resourceVersion"])
            except NotFound:
                return False
        if not is_upstream:
            self._tell(ctx, about, change)
        if change.next is not Next.DONE or change.status is None or change.notice is not None:
            is_ready = change.next is Next.DONE
            self.metrics.ready(at.kind.kind, at.key.namespace, at.key.name, is_ready=is_ready)
        return True

    def _tell(self, ctx: Context, about: JsonObject, change: Change) -> None:
        notice = change.notice
        if notice is None:
            return
        ctx.log.info(
            "issuer became ready" if change.next is Next.DONE else "issuer is not ready",
            note=notice.note,
        )
        ctx.event(about, notice.type, notice.reason, notice.note, notice.action)

    def _later(self, change: Change, health: Health, ctx: Context) -> Outcome:
        match change.next:
            case Next.BACKOFF:
                health.failures += 1
                early = health.not_before - ctx.clock.monotonic()
                return again(max(self.backoff.delay(health.failures), early, 0.001))
            case Next.DONE:
                health.failures = 0
                started = change.status is not None and change.notice is None
                every = self.author.every.total_seconds()
                is_upstream = self.settings.compat == "upstream"  # which looks at changes only
                if not started and every > 0 and not is_upstream:
                    return again(every * (1 - _JITTER * self.rng.random()))
        return DONE  # what was just started is woken by its own change

    def _slow_down(self, health: Health, ctx: Context) -> None:
        """Check an issuer that passes and fails in turns less and less often."""
        if self.settings.compat == "upstream":
            return
        health.flaps += 1
        health.not_before = ctx.clock.monotonic() + self.backoff.delay(health.flaps)

    def _forget(self, at: IssuerAt) -> Outcome:
        for orphan in self.memory.forget_issuer(at):
            self.reader.secrets.forget(orphan)
        self.metrics.gone(at.kind.kind, at.key.namespace, at.key.name)
        return DONE

    def _scribe(self) -> IssuerScribe:
        return IssuerScribe(field_owner=self.settings.field_owner, compat=self.settings.compat)


def _about(at: IssuerAt, record: IssuerRecord) -> JsonObject:
    """Return as much of an issuer as writing to it takes."""
    metadata = record.metadata
    named = {"name": at.key.name, "namespace": at.key.namespace, "uid": metadata.uid}
    kept = {name: value for name, value in named.items() if value}
    return {
        "apiVersion": at.kind.api_version,
        "kind": at.kind.kind,
        "metadata": kept | {"resourceVersion": metadata.resource_version},
    }
