"""The garbage collector as a controller with a single key: the Lease that remembers its passes."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Final

from certwright.client import Client, TransportError
from certwright.kube import ApiError, JsonObject, Key, kinds
from certwright.operators.resources.garbage.collecting import (
    InUse,
    Pass,
    collect,
    nothing_else,
)
from certwright.operators.resources.garbage.judging import Verdict
from certwright.operators.resources.garbage.schedule import (
    RETRY,
    ROLE,
    ROLE_LABEL,
    due_in,
    lease_of,
)
from certwright.operators.resources.garbage.settings import Settings
from certwright.operators.resources.garbage.snapshot import COLLECTED, USERS
from certwright.runtime import (
    DONE,
    Context,
    Controller,
    Outcome,
    PolicyRule,
    again,
    allow,
    select,
)

NAME: Final = "garbage-collector"
DEADLINE: Final = timedelta(minutes=10)
"""How long a pass may take."""
_SHOWN: Final = 10
"""How many objects an event names."""


def garbage_collector(
    settings: Settings, target: Client | None = None, in_use: InUse = nothing_else
) -> Controller:
    """Return the controller that collects in the cluster of *target*, or else in its manager's.

    Its Lease is in the manager's cluster. *in_use* names objects to keep that the target does
    not show to be in use: the inventories of ManagedResources in another cluster.
    """

    async def start(_ctx: Context) -> AsyncIterator[Key]:
        yield settings.home

    async def reconcile(ctx: Context, key: Key) -> Outcome:
        if key != settings.home:
            return DONE  # of another instance
        wait = due_in(ctx.get(kinds.Lease, key), ctx.clock.now(), settings.period)
        if not wait:
            await ctx.apply(lease_of(key, ctx.clock.now(), settings.period))
            await _pass(ctx, settings, target or ctx.client, in_use)
            wait = settings.period
        return again(wait)

    return Controller(
        select(kinds.Lease, namespace=settings.home.namespace, labels=f"{ROLE_LABEL}={ROLE}"),
        reconcile,
        name=NAME,
        sources=[start],
        workers=1,
        deadline=DEADLINE,
        rbac=_rules(settings),
    )


def _rules(settings: Settings) -> list[PolicyRule]:
    return [
        allow(kinds.Lease, "create", "patch"),
        *(allow(kind, "list", "patch", "delete") for kind in COLLECTED),
        *(allow(kind, "list") for kind in (*USERS, *settings.further_kinds)),
    ]


async def _pass(ctx: Context, settings: Settings, target: Client, in_use: InUse) -> None:
    """Make one pass and say what came of it.

    What could not be deleted waits for the next pass. When nothing could be decided, that
    one comes sooner.
    """
    began = ctx.clock.now()
    try:
        done = await collect(target, settings, ctx.clock, in_use)
    except (ApiError, TransportError) as error:
        lease = lease_of(settings.home, began, min(RETRY, settings.period))
        ctx.event(lease, "Warning", "CollectionFailed", str(error))
        await ctx.apply(lease)
        raise
    _tell(ctx, settings, done)
    if done.failures:
        said = "; ".join(map(str, done.failures[:_SHOWN]))
        text = "Could not delete all unused resources"
        ctx.event(_lease(ctx, settings), "Warning", "CollectionFailed", f"{text}: {said}")
        raise ExceptionGroup(text, [failure.error for failure in done.failures])


def _tell(ctx: Context, settings: Settings, done: Pass) -> None:
    """Log the pass, and record an event when something goes, or would."""
    if settings.dry_run:
        going = [judgement.candidate for judgement in done.report.of(Verdict.COLLECTABLE)]
        reason, what = "WouldCollect", "would be deleted"
        for judgement in done.report.judgements:
            ctx.log.info("dry run", judgement=str(judgement))
    else:
        going = [*done.deleted]
        reason, what = "Collected", "deleted"
        for candidate in going:
            ctx.log.info("collected", object=str(candidate.place), uid=candidate.uid)
    ctx.log.info("pass done", deleted=len(done.deleted), found=str(done.report))
    if going:
        named = ", ".join(str(candidate.place) for candidate in going[:_SHOWN])
        more = f" and {len(going) - _SHOWN} more" if len(going) > _SHOWN else ""
        ctx.event(_lease(ctx, settings), "Normal", reason, f"{what}: {named}{more}")


def _lease(ctx: Context, settings: Settings) -> JsonObject:
    """Return what the events are about."""
    return lease_of(settings.home, ctx.clock.now(), settings.period)
