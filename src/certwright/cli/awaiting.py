"""``--wait``: until objects do what they should, or are gone."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from certwright.apply import ChangeSet, Direct, ObjectRef, UnknownKind
from certwright.apply.health import Verdict, check_health, check_progress, missing
from certwright.cli.errors import UsageError
from certwright.cli.progress import Progress

PAUSES: Final = (0.2, 0.5, 1.0, 2.0)
"""Between two looks; the last one repeats."""
_NAMED: Final = 10


async def until_healthy(
    cluster: Direct, refs: Sequence[ObjectRef], seconds: float, progress: Progress
) -> None:
    """Return when all objects are healthy and rolled out.

    Raises:
        UsageError: they are not within so many seconds; says which, and why.
    """
    waiting: list[Verdict] = []

    async def look() -> bool:
        judged = [await _judge(cluster, ref) for ref in refs]
        waiting[:] = [verdict for verdict in judged if not verdict]
        if waiting:
            progress.say(f"waiting for {len(waiting)} of {len(refs)}: {waiting[0].message}")
        return not waiting

    if not await _eventually(look, seconds):
        told = "; ".join(verdict.message for verdict in waiting[:_NAMED])
        more = f"; and {len(waiting) - _NAMED} more" if len(waiting) > _NAMED else ""
        raise UsageError(f"not healthy after {seconds:g} s: {told}{more}")


async def until_gone(
    delete: Callable[[], Awaitable[ChangeSet]], seconds: float, progress: Progress
) -> ChangeSet:
    """Delete again and again until nothing waits any more; return all that happened at last."""
    done: list[ChangeSet] = []

    async def look() -> bool:
        done[:] = [await delete()]
        if not done[0].complete:
            progress.say(f"waiting: {next(iter(_unfinished(done[0])), '')}")
        return done[0].complete

    if not await _eventually(look, seconds):
        told = "; ".join(_unfinished(done[0])[:_NAMED])
        raise UsageError(f"not gone after {seconds:g} s: {told}")
    return done[0]


async def _eventually(look: Callable[[], Awaitable[bool]], seconds: float) -> bool:
    """Look again and again; say whether the answer was yes in time. Looks once at least."""
    waited, attempt = 0.0, 0
    while not await look():
        pause = PAUSES[min(attempt, len(PAUSES) - 1)]
        if waited + pause > seconds:
            return False
        await asyncio.sleep(pause)
        waited, attempt = waited + pause, attempt + 1
    return True


async def _judge(cluster: Direct, ref: ObjectRef) -> Verdict:
    try:
        live = await cluster.read(await cluster.resource(ref.gvk), ref.key)
    except UnknownKind as error:
        return missing(ref, str(error))
    if live is None:
        return missing(ref)
    health = check_health(live.obj)
    return health if not health else check_progress(live.obj)


def _unfinished(changes: ChangeSet) -> list[str]:
    return [str(entry) for entry in changes.entries if entry.action in {"blocked", "failed"}]
