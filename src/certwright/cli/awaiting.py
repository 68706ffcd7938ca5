"""``--wait``: until objects do what they should, or are gone. The server tells; nobody polls."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from typing import Final

from certwright.apply import Action, ChangeSet, Entry, Live, ObjectRef, follow
from certwright.apply.health import Verdict, check_health, check_progress, missing
from certwright.cli.errors import UsageError
from certwright.cli.progress import Progress
from certwright.client import Client, Selection
from certwright.kube import JsonObject, Key

AGAIN_SECONDS: Final = 5.0
"""How often a deletion is tried again though nothing has gone: not all that holds is an object."""
_NAMED: Final = 10


async def until_healthy(
    client: Client,
    states: Mapping[ObjectRef, Live | None],
    seconds: float,
    progress: Progress,
    *,
    look_with: str,
) -> None:
    """Return when all objects are healthy and rolled out; *states* is how they are now.

    *look_with* is the command that shows more.

    Raises:
        UsageError: they are not within so many seconds; says which, and why.
    """
    verdicts = {ref: _judge(ref, live.obj if live else None) for ref, live in states.items()}
    waiting = {ref: verdict for ref, verdict in verdicts.items() if not verdict}
    healthy = asyncio.Event()

    def look(refs: Collection[ObjectRef], objects: Mapping[Key, JsonObject]) -> None:
        for ref in refs:
            verdict = _judge(ref, objects.get(ref.key))
            if verdict:
                waiting.pop(ref, None)
            else:
                waiting[ref] = verdict
        if not waiting:
            healthy.set()
            return
        first = next(iter(waiting.values()))
        progress.say(f"waiting for {len(waiting)} of {len(states)}: {first.message}")

    if waiting and not await _told(client, [*waiting], look, healthy, seconds):
        told = "; ".join(verdict.message for verdict in [*waiting.values()][:_NAMED])
        more = f"; and {len(waiting) - _NAMED} more" if len(waiting) > _NAMED else ""
        raise UsageError(
            f"not healthy after {seconds:g} s: {told}{more}; look closer with: {look_with}"
        )


async def until_gone(
    client: Client, delete: Callable[[], Awaitable[ChangeSet]], seconds: float, progress: Progress
) -> ChangeSet:
    """Delete, and again when something has gone, until nothing waits; return what became of all.

    Raises:
        UsageError: it takes longer than so many seconds; says what is still there, and why.
    """
    now = asyncio.get_running_loop().time
    end = now() + seconds
    done = await delete()
    while not done.complete:
        unfinished = [str(e) for e in done.with_action(Action.BLOCKED, Action.FAILED)]
        progress.say(f"waiting for {len(unfinished)}: {unfinished[0]}")
        rest = end - now()
        if rest <= 0:
            raise UsageError(f"not gone after {seconds:g} s: {'; '.join(unfinished[:_NAMED])}")
        await _one_gone(client, done, min(rest, AGAIN_SECONDS))
        done = _together(done, await delete())
    return done


def _together(before: ChangeSet, now: ChangeSet) -> ChangeSet:
    """Return what became of objects in two rounds: what went in between was deleted as well."""
    last = {entry.ref: entry for entry in before.entries}
    for entry in now.entries:
        known = last.get(entry.ref, entry)
        went = entry.action is Action.UNCHANGED and known.action is not Action.UNCHANGED
        last[entry.ref] = Entry(entry.ref, Action.DELETED) if went else entry
    return ChangeSet.of(last.values())


async def _one_gone(client: Client, done: ChangeSet, seconds: float) -> None:
    """Return when something that was in the way is gone, after so many seconds at the latest."""
    gone = asyncio.Event()

    def look(refs: Collection[ObjectRef], objects: Mapping[Key, JsonObject]) -> None:
        if any(ref.key not in objects for ref in refs):
            gone.set()

    blocked = [entry.ref for entry in done.with_action(Action.BLOCKED)]
    await _told(client, blocked, look, gone, seconds)


async def _told(
    client: Client,
    refs: Sequence[ObjectRef],
    look: Callable[[Collection[ObjectRef], Mapping[Key, JsonObject]], None],
    enough: asyncio.Event,
    seconds: float,
) -> bool:
    """Let *look* see objects, and again after each change; say whether it was *enough* in time."""

    async def watch(some: Sequence[ObjectRef]) -> None:
        resource = await client.discovery.resource_for(some[0].gvk)
        alone = f"metadata.name={some[0].name}" if len(some) == 1 else ""
        selection = Selection(some[0].namespace, fields=alone)
        async with aclosing(follow(client, resource, selection)) as changes:
            async for objects in changes:
                look(some, objects)

    together: dict[tuple[object, str], list[ObjectRef]] = {}
    for ref in refs:
        together.setdefault((ref.gvk, ref.namespace), []).append(ref)
    try:
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            watches = [group.create_task(watch(some)) for some in together.values()]
            await enough.wait()
            for one in watches:
                one.cancel()
    except TimeoutError:
        return False
    return True


def _judge(ref: ObjectRef, obj: JsonObject | None) -> Verdict:
    if obj is None:
        return missing(ref)
    health = check_health(obj)
    return health if not health else check_progress(obj)
