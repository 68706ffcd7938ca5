"""``--wait``: until objects are healthy, or gone. It watches, and does not poll."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Final

from certwright.apply import Action, Change, ChangeSet, Live, ObjectRef, follow
from certwright.apply.engine.engine import OnEntry
from certwright.apply.health import Verdict, check_health, check_progress, missing
from certwright.cli.errors import UsageError
from certwright.cli.terminal.notice import QUIET_SECONDS
from certwright.cli.terminal.progress import ProgressLine
from certwright.client import Client, Selection
from certwright.kube import JsonObject, Key, NotFound

AGAIN_SECONDS: Final = 5.0
"""How often a deletion is repeated though no object has gone: other things block deletions, too."""
_NAMED: Final = 10
_NOTHING: Final = ChangeSet()
_LINGERING: Final = (Action.BLOCKED, Action.FAILED)
_SETTLED: Final = frozenset({Action.DELETED, Action.KEPT, Action.UNCHANGED})


def overall_health(ref: ObjectRef, obj: JsonObject | None) -> Verdict:
    """Return the worse of health and progress; *obj* is None if the object is missing."""
    if obj is None:
        return missing(ref)
    health = check_health(obj)
    return health if not health else check_progress(obj)


async def until_healthy(
    client: Client,
    states: Mapping[ObjectRef, Live | None],
    seconds: float,
    progress: ProgressLine,
    *,
    look_with: str,
) -> None:
    """Return when all objects are healthy and rolled out; *states* is how they are now.

    *look_with* is the command that shows more. Raises `UsageError` if they are not within so many
    seconds; the message names them, and why.
    """
    verdicts = {
        ref: overall_health(ref, live.obj if live else None) for ref, live in states.items()
    }
    waiting = {ref: verdict for ref, verdict in verdicts.items() if not verdict}
    healthy = asyncio.Event()

    def look(refs: Collection[ObjectRef], objects: Mapping[Key, JsonObject]) -> None:
        for ref in refs:
            verdict = overall_health(ref, objects.get(ref.key))
            if verdict:
                waiting.pop(ref, None)
            else:
                waiting[ref] = verdict
        if not waiting:
            healthy.set()
            return
        first = next(iter(waiting.values()))
        progress.show(f"waiting for {len(waiting)} of {len(states)}: {first.message}")

    if waiting and not await _watched(client, [*waiting], look, healthy, seconds):
        reasons = _some([verdict.message for verdict in waiting.values()])
        raise UsageError(
            f"not healthy after {seconds:g} s: {reasons}; to see more, run: {look_with}"
        )


async def until_gone(
    client: Client,
    delete: Callable[[OnEntry], Awaitable[ChangeSet]],
    seconds: float,
    progress: ProgressLine,
    *,
    begun: ChangeSet = _NOTHING,
) -> ChangeSet:
    """Delete, and repeat whenever an object has gone, until all have or the time is up.

    *begun* is what was deleted before. Returns what was done to each; objects that are left are
    blocked, or failed. What is waited for is shown after a moment of silence.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    known = {entry.ref: entry for entry in begun.entries}
    going: set[ObjectRef] = set()

    def note(entry: Change, live: Live | None) -> None:
        before = known.get(entry.ref)
        known[entry.ref] = entry = _since(before, entry)
        if entry.action is not Action.BLOCKED:
            going.discard(entry.ref)
            if entry != before:
                progress(entry, live)
        elif live is not None:  # else it waits for another object, and is not touched yet
            going.add(entry.ref)

    while True:
        done = await delete(note)
        changes = ChangeSet.of(known.values())
        waiting = _in_the_way(changes)
        rest = end - loop.time()
        if not waiting or rest <= 0:
            return changes
        text = f"waiting for {_objects(len(waiting))} to go: {waiting[0]}"
        topic = {entry.ref for entry in changes.with_action(*_LINGERING)}
        notice = loop.call_later(QUIET_SECONDS, partial(progress.show, text, topic))
        try:
            gone = await _one_gone(client, [*going], min(rest, AGAIN_SECONDS))
        finally:
            notice.cancel()
        for ref in gone.difference(entry.ref for entry in done.entries):
            note(Change(ref, Action.DELETED), None)  # the inventory is gone, with its namespace


def not_gone(changes: ChangeSet, seconds: float) -> str:
    """Return what is left after so many seconds, and why."""
    return f"not gone after {seconds:g} s: {_some(_in_the_way(changes))}"


def _since(before: Change | None, now: Change) -> Change:
    """Return the result for an object after another round: what went meanwhile was deleted."""
    if now.action is not Action.UNCHANGED or before is None:
        return now
    return before if before.action in _SETTLED else Change(now.ref, Action.DELETED)


def _in_the_way(changes: ChangeSet) -> list[str]:
    return [f"{entry.ref}: {entry.reason}" for entry in changes.with_action(*_LINGERING)]


def _some(texts: Sequence[str]) -> str:
    """Return the first of several texts, and how many more there are."""
    more = [f"and {len(texts) - _NAMED} more"] if len(texts) > _NAMED else []
    return "; ".join([*texts[:_NAMED], *more])


def _objects(number: int) -> str:
    return f"{number} object{'' if number == 1 else 's'}"


async def _one_gone(client: Client, refs: Sequence[ObjectRef], seconds: float) -> set[ObjectRef]:
    """Wait until one of the objects is gone, or for so many seconds; return those that are."""
    enough, gone = asyncio.Event(), set[ObjectRef]()

    def look(refs: Collection[ObjectRef], objects: Mapping[Key, JsonObject]) -> None:
        gone.update(ref for ref in refs if ref.key not in objects)
        if gone:
            enough.set()

    await _watched(client, refs, look, enough, seconds)
    return gone


async def _watched(
    client: Client,
    refs: Sequence[ObjectRef],
    look: Callable[[Collection[ObjectRef], Mapping[Key, JsonObject]], None],
    enough: asyncio.Event,
    seconds: float,
) -> bool:
    """Call *look* with objects after each change; return whether *enough* was set in time."""

    async def watch(some: Sequence[ObjectRef]) -> None:
        alone = f"metadata.name={some[0].name}" if len(some) == 1 else ""
        selection = Selection(some[0].namespace, fields=alone)
        try:
            resource = await client.discovery.resource_for(some[0].gvk)
            async with aclosing(follow(client, resource, selection)) as changes:
                async for objects in changes:
                    look(some, objects)
        except NotFound:  # the kind is gone, and its objects with it
            look(some, {})

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
